"""What a report over conditions shows: one table of verdicts, one of single conditions, one figure, and trends."""

import csv
import io
import re
from dataclasses import replace

import made_over
import numpy as np
import pytest
from figures.looks import COLUMN, assert_readable, intervals, labels, settings, words
from made_evidence import claim, study
from markupsafe import Markup

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.metric import Metric
from ablate.core.over import Over
from ablate.report.export.paper import Wanted, for_paper
from ablate.report.export.paper_methods import methods
from ablate.report.few_figures import with_few_figures
from ablate.report.figures.conditions import LANES, MAX_VARIANTS, over_conditions, told_apart
from ablate.report.figures.theme import theme
from ablate.report.page import written
from ablate.report.section import Picture, ReportData, unfolded
from ablate.report.sections import pictures, shown
from ablate.report.sections.conditions import Trend, over_pictures, trend_points
from ablate.report.sections.verdicts import Verdicts, descriptions_of
from ablate.report.sentences.over_answer import answer_over_conditions
from ablate.report.summary import summary_picture
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.over_conditions import judged_tables
from ablate.report.tables.single_conditions import MAX_COLUMNS
from ablate.report.words import Table, rows_of

NAMES = [f"game{i}" for i in range(6)]
MANY = [f"game{i}" for i in range(8)]
"""More than have a line each, or a column."""
PATCHES = ["patches,patch_size=4", "patches,patch_size=2"]
SCALES = dict(zip(NAMES, (1.0, 1.0, 20.0, 1.0, 1.0, 1.0), strict=True))


@pytest.fixture(scope="module")
def games():
    """Three variants in 26 conditions, judged by their mean."""
    return made_over.report_data(made_over.evidence("mean"))


@pytest.fixture(scope="module")
def ladder():
    """Two variants at three widths, judged in every one, with a trend."""
    return made_over.report_data(made_over.ladder())


def tables(data):
    found = judged_tables(
        data.comparisons,
        data.evidence.facts,
        conditions=data.table("conditions"),
        trends=data.table("trends"),
        descriptions=descriptions_of(data),
    )
    return list(found)


def cells(table, key):
    return [row[key] for row in table.rows]


def columns(table):
    return [column.heading for column in table.columns]


def test_26_conditions_have_a_table_of_verdicts_and_one_of_single_conditions(games):
    over, single = tables(games)
    assert cells(over, "verdict") == ["better", "equivalent", "worse"]
    assert cells(over, "split")[0] == "17 better, 0 worse of 26"
    assert "the mean over 26 conditions" in over.caption
    assert [*cells(single, "name")] == [task.name for task in games.evidence.facts.tasks]
    assert columns(single) == ["Condition", "a", "b", "c"]
    assert single.rows[0]["c0"] == "+0.031 ± 0.012"
    assert single.caption.count("95 %") == single.caption.count("exploratory") == 1


def test_five_conditions_or_more_are_described(games, ladder):
    assert {"IQM", "P(better)"} <= {*columns(tables(games)[0])}
    assert not {"IQM", "P(better)"} & {*columns(tables(ladder)[0])}


def test_every_names_the_condition_that_decides(ladder):
    over, single, trends = tables(ladder)
    assert cells(over, "deciding") == ["w256", "w512"]
    assert "in every one of 3 conditions" in over.caption
    assert cells(single, "name") == ["w256", "w512", "w1024"]
    assert over.rows[0]["difference"] == "+0.016 [−0.007, 0.039]", "in the direction of the metric"
    assert "each doubling of w" in trends.caption
    assert cells(trends, "difference")[0] == "+0.030 [0.009, 0.051]"


def test_rates_of_every_condition_stand_under_the_heading_of_rates():
    solving = {"score": Metric("max", 0.01, 0.0, 1.0, solved=0.9)}
    tasks = {"x": solving, "y": solving}
    values = {"baseline": [1.0] * 8, "a": [*[0.1] * 7, 1.0]}
    made = study(values, metric="score", tasks=tasks, outcome="all_or_nothing")
    over, _ = tables(made_over.report_data(replace(made, facts=replace(made.facts, over=Over("every")))))
    assert cells(over, "difference") == ["1 of 8, baseline 8"]
    assert columns(over)[2] == "Seeds solved"


def test_varies_stands_beside_the_word_and_reasons_name_their_condition():
    data = made_over.report_data(made_over.evidence("mean", names=NAMES))
    about = data.table("conditions")
    about.loc[0, "varies"] = True
    about.loc[1, ["deciding", "heaviest"]] = ["game3", "game4"]
    data.comparisons.loc[1, ["verdict", "reason"]] = ["inconclusive", "ceiling n=5 failures=0.4"]
    over, _ = tables(data)
    assert cells(over, "verdict") == ["better (varies)", "inconclusive", "worse"]
    assert over.rows[1]["reason"].endswith("(in game3)")
    assert over.rows[1]["heaviest"] == "game4 has more than half of the variance"


def test_what_all_rows_were_planned_after_is_in_the_caption_alone():
    data = made_over.report_data(made_over.evidence("mean", names=NAMES))
    data.comparisons["plan"] = "added"
    over, _ = tables(data)
    assert over.caption.count("added after results") == 1
    assert "added after results" not in str(over.rows)


@pytest.mark.slow
def test_scales_are_said_once():
    data = made_over.report_data(made_over.evidence("mean", names=NAMES, over=Over("mean", scales=SCALES)))
    over, single = tables(data)
    assert over.caption.count("scale") == 1
    assert "game2 20" in over.caption
    assert "Scale" not in columns(single)
    scales = {name: 1.0 + place for place, name in enumerate(MANY)}
    data = made_over.report_data(made_over.evidence("mean", names=MANY, over=Over("mean", scales=scales)))
    over, single = tables(data)
    assert "divided by its scale" in over.caption
    assert "game2 3" not in over.caption
    assert columns(single)[-1] == "Scale"


@pytest.mark.slow
def test_more_variants_than_columns_take_the_rows_where_conditions_are_few():
    data = made_over.report_data(made_over.evidence("mean", names=NAMES, variants=9))
    assert columns(tables(data)[1]) == ["Variant", *NAMES]
    data = made_over.report_data(made_over.evidence("mean", names=MANY, variants=9))
    single = tables(data)[1]
    assert len(columns(single)) == 1 + MAX_COLUMNS
    assert f"of 9 variants the first {MAX_COLUMNS}" in single.caption


def test_a_table_reads_csv_as_it_reads_a_frame(ladder):
    def as_text(frame):
        return list(csv.DictReader(io.StringIO(frame.to_csv(index=False))))

    facts = ladder.evidence.facts
    about = {name: as_text(ladder.table(name)) for name in ("conditions", "trends")}
    made = judged_tables(as_text(ladder.comparisons), facts, **about)
    assert [table.rows for table in made] == [table.rows for table in tables(ladder)]


def test_the_guide_says_what_columns_mean(games, ladder):
    for data, terms in ((games, {"Varies", "IQM"}), (ladder, {"Decides"})):
        *found, guide = Verdicts().blocks(data)
        assert all(isinstance(block, Table) for block in found)
        assert terms <= {term for term, _ in guide.blocks[0].pairs}


# Figures


def drawn(picture, width=None):
    with theme(settings(width)):
        figure = picture.draw()
        assert_readable(figure)
    return figure


@pytest.mark.parametrize("width", [None, COLUMN], ids=["page", "paper"])
def test_one_figure_of_26_conditions_and_three_variants(games, width):
    (picture,) = over_pictures(games)
    figure = drawn(picture, width)
    (ax,) = figure.axes
    assert [*labels(ax).values()] == ["a", "b", "c"]
    shown = intervals(ax)
    planned = games.comparisons.head(3)
    assert [row.value for row in shown] == pytest.approx(list(planned["diff"]))
    assert [row.low for row in shown] == pytest.approx(list(planned["ci_low"]))
    dots = [
        line
        for line in ax.lines
        if line.get_marker() == "o" and line not in [c.lines[0] for c in ax.containers]
    ]
    assert len(dots) == 3 * 26
    single = games.comparisons[games.comparisons["exploratory"]]
    assert sorted(float(dot.get_xdata()[0]) for dot in dots) == pytest.approx(sorted(single["diff"]))
    assert figure.get_size_inches()[1] < 3


@pytest.mark.parametrize("width", [None, COLUMN], ids=["page", "paper"])
def test_few_conditions_have_named_lines_with_intervals(ladder, width):
    (picture,) = over_pictures(ladder)
    figure = drawn(picture, width)
    said = [text.get_text() for text, _ in words(figure)]
    assert said.count("w256") == said.count("w512") == said.count("w1024") == 2
    thin = figure.axes[0].collections[0]
    assert len(thin.get_segments()) == 3
    assert "in the order of the table" in picture.caption


def test_long_names_of_conditions_are_told_apart():
    assert told_apart(["w256", "w512"]) == ["w256", "w512"]
    digits = [f"digits(representation={how})" for how in ("rows,patch_size=null", *PATCHES)]
    assert told_apart(digits) == ["…rows,pat…ze=null)", "…patches,…_size=4)", "…patches,…_size=2)"]


@pytest.mark.slow
def test_the_condition_that_decides_of_many_is_named_at_its_dot():
    data = made_over.report_data(made_over.evidence("every", names=MANY))
    (picture,) = over_pictures(data)
    said = [text.get_text() for text, _ in words(drawn(picture))]
    assert {*data.table("conditions")["deciding"]} <= {*said}
    assert "the condition that decides" in picture.caption


def test_a_condition_far_from_the_others_is_an_arrow_at_the_edge(games):
    (picture,) = over_pictures(games)
    conditions = picture.options[0].copy()
    conditions.loc[0, ["value", "low", "high"]] = [9.0, 8.0, 10.0]
    with theme():
        figure = over_conditions(picture.data, conditions, *picture.options[1:])
    assert figure.axes[0].get_xlim()[1] < 1
    assert [line.get_marker() for line in figure.axes[0].lines].count(">") == 1


@pytest.mark.slow
@pytest.mark.parametrize("names", [NAMES, MANY], ids=["few", "many"])
def test_of_many_variants_a_dozen_are_drawn(names):
    data = made_over.report_data(made_over.evidence("mean", names=names, variants=13))
    (picture,) = over_pictures(data)
    assert len(picture.data) == MAX_VARIANTS
    assert "Of 13 rows, the 12 with the largest differences are shown." in picture.caption
    assert drawn(picture).get_size_inches()[1] < 0.1 * (LANES + 2) * MAX_VARIANTS + 1


@pytest.mark.parametrize("width", [None, COLUMN], ids=["page", "paper"])
def test_a_trend_has_a_panel_a_variant_with_its_line_and_its_band(ladder, width):
    picture, table = Trend().blocks(ladder)
    assert isinstance(picture, Picture)
    assert [row["variant"] for row in table.rows] == ["a", "b"]
    figure = drawn(picture, width)
    assert [ax.get_title("left") for ax in figure.axes] == ["a", "b"]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["256", "512", "1024"]
    assert "Per doubling: a +0.030 [0.009, 0.051]" in picture.caption
    assert figure.legends == []


def test_the_line_of_a_trend_rises_by_its_slope_with_each_doubling(ladder):
    rows = rows_of(ladder.table("trends"))
    points, lines = trend_points(ladder, rows)
    for row, label in zip(rows, ("a", "b"), strict=True):
        line = lines[lines["label"] == label]
        doublings = np.log2(line["size"])
        slope = (line["value"].iloc[-1] - line["value"].iloc[0]) / (doublings.iloc[-1] - doublings.iloc[0])
        assert slope == pytest.approx(-row["diff"]), "less is better, and figures have the metric's direction"
        mine = points[points["label"] == label]
        fitted = np.polyval(np.polyfit(np.log2(mine["size"]), mine["value"], 1), doublings)
        assert list(line["value"]) == pytest.approx(list(fitted))
    assert (lines["low"] < lines["value"]).all()


def test_a_study_without_trend_has_no_section(games):
    assert [*Trend().blocks(games)] == []


def test_words_are_whole(games, ladder):
    for data in (games, ladder):
        for table in tables(data):
            assert not re.search(r"\b(nan|None|undefined)\b", table.caption + str(table.rows))


# The whole report


def report(data):
    """The page as markdown, as `ablate report` writes it, and its figures."""
    over = data.evidence.facts.over.form != "each"
    sections = with_few_figures(shown(data), "made", one_a_kind=over)
    for block in unfolded(block for section in sections for block in section.blocks):
        assert not getattr(block, "fault", False), block
    found = pictures(sections)
    return written("report.md", data, sections, {picture.name: Markup() for picture in found}), found


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mean", "every", "sample"])
def test_a_report_of_26_conditions_is_that_of_one_and_a_table(form):
    """But for the sections whose tables list every run or comparison, which are folded."""
    effects = [0.05, 0.0, -0.03]
    alone = made_over.evidence("each", names=["game0"], effects=effects)
    one, figures_of_one = report(ReportData(alone, compare(alone), judge_claims(alone)))
    many, figures = report(made_over.report_data(made_over.evidence(form)))
    headings = [[line for line in text.splitlines() if line.startswith("#")] for text in (one, many)]
    assert len(headings[1]) <= len(headings[0]) + 1, headings
    assert len(figures) <= len(figures_of_one)
    paragraphs = [len(_seen(text)) for text in (one, many)]
    assert paragraphs[1] <= paragraphs[0] + 8, (
        "the caption of the table, and what the guide says of its columns"
    )


def _seen(text):
    """The lines of a report that are no table, before the sections that are folded."""
    seen = text.split("## What the verdicts rest on")[0].splitlines()
    return [line for line in seen if line and not line.startswith("|")]


def answer(data):
    (words,) = answer_over_conditions(data)
    return words


def test_the_answer_of_a_mean_says_that_conditions_may_differ(games):
    words = answer(games)
    assert words.startswith(
        "On 5 seeds, on average over 26 conditions, score fell by 0.028 with c (0 better, 7 "
    )
    assert "On average within 0.02 of the baseline: b." in words
    assert words.endswith("no proof that they are alike.")


@pytest.mark.slow
def test_only_a_sample_speaks_of_conditions_like_these(games):
    of_sample = report(made_over.report_data(made_over.evidence("sample")))[0]
    assert "conditions like these 26" in of_sample
    assert "conditions like these" not in report(games)[0]
    assert "The verdicts hold for these 26 conditions" in report(games)[0]


def test_the_answer_of_every_names_what_decides(ladder):
    assert answer(ladder).startswith(
        "No one verdict in every condition: a (0 better, 2 worse of 3; w256 decides)"
    )
    data = made_over.report_data(
        made_over.evidence("every", names=["x", "y", "z"], effects=[0.1, 0.0, -0.09])
    )
    assert "in every one of 3 conditions score fell with c (least clearly in x, by 0.03)" in answer(data)


def test_amounts_of_scaled_conditions_are_of_their_scale():
    data = made_over.report_data(made_over.evidence("mean", names=NAMES, over=Over("mean", scales=SCALES)))
    assert "by 0.027 of its scale with c" in answer(data)
    assert "each divided by the scale" in methods(data)


def test_methods_say_which_rule_judged(games, ladder):
    assert "Judged is the mean over the 26 conditions" in methods(games)
    assert "no proof that they are alike" in methods(games)
    assert "the largest p counts" in methods(ladder)
    assert "no proof" not in methods(ladder)
    assert "in each of 3 conditions" in methods(ladder)


def claimed(family):
    """Three claims, of which the second is open; rows have no verdict, as where claims alone are judged."""
    found = made_over.evidence("mean", names=NAMES)
    texts = ("a beats baseline on score", "b beats baseline on score", "c beats baseline on score")
    claims = [claim("beats", name, metric="score") for name in "abc"]
    assert tuple(one.text for one in claims) == texts
    data = made_over.report_data(replace(found, facts=replace(found.facts, claims=claims, family=family)))
    data.comparisons.loc[:2, ["verdict", "level"]] = ["", 0.95]
    verdicts = ["supported", "inconclusive", "inconclusive" if family == "ordered" else "refuted"]
    reasons = ["", "open", "not_tested" if family == "ordered" else ""]
    rows = data.claims.assign(verdict=verdicts, reason=reasons)
    return replace(data, claims=rows)


@pytest.mark.slow
def test_claims_alone_are_judged_and_rows_have_no_word():
    data = claimed("claims")
    over, _ = tables(data)
    assert "Verdict" not in columns(over)
    assert "claims alone are judged" in over.caption
    words = report(data)[0]
    assert "Supported: a beats baseline on score. Refuted: c beats baseline on score." in words
    assert "Claims alone are judged, each at 0.05/" in methods(data)
    (picture,) = over_pictures(data)
    assert {*picture.data["verdict"]} == {"exploratory"}
    drawn(picture)


@pytest.mark.slow
def test_claims_in_order_say_what_was_not_tested():
    data = claimed("ordered")
    words = report(data)[0]
    assert "Not tested: c beats baseline on score." in words
    table = claim_table(data.claims, data.evidence.facts, "95 %")
    assert [row["verdict"] for row in table.rows] == ["supported", "inconclusive", "not tested"]
    assert "Claims are judged in their order" in methods(data)


@pytest.mark.slow
def test_a_paper_has_the_tables_and_the_figure_of_all_conditions(games):
    warned = []
    files = for_paper(games, Wanted(COLUMN), warned.append)
    assert warned == []
    assert {"results.tex", "comparisons.tex", "comparisons-2.tex", "conditions.pdf", "summary.svg"} <= {
        *files
    }
    assert len([name for name in files if name.startswith("seeds")]) == 3, "of one condition: three files"
    assert files["results.tex"].count("game") == 26
    picture = summary_picture(games)
    assert list(picture.data["label"]) == ["c", "b", "a"]
    assert len(picture.options[0]) == 78
