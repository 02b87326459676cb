import re
import string
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_evidence import study as made_study
from matplotlib.text import Text
from scipy import stats
from synthetic import FACTORS, study
from tex import rows

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.base.errors import AblateError
from ablate.report.export.latex import latex, tabular
from ablate.report.export.paper import Wanted, for_paper
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import PAPER, theme
from ablate.report.section import ReportData
from ablate.report.sections import pictures, shown
from ablate.report.tables.verdicts import verdict_tables
from ablate.report.words import Column, Table

WIDTH = 3.25


def report_data(evidence):
    return ReportData(evidence, compare(evidence), judge_claims(evidence))


@pytest.fixture(scope="module")
def evidence():
    """Six variants with a diverged run, a failed run, a placebo and an ugly name."""
    return study(
        factors={path: FACTORS[path] for path in ("model.mixer.score", "model.position", "training.lr")}
    )


@pytest.fixture(scope="module")
def whole(evidence):
    return report_data(evidence)


@pytest.fixture(scope="module")
def made(whole):
    return for_paper(whole, Wanted(WIDTH), pytest.fail)


@pytest.fixture
def drawn(whole, request):
    return next(p for p in pictures(shown(whole)) if p.name == request.param)


def content(made, name):
    found = made[name]
    return found if isinstance(found, str) else found.decode("latin-1")


@pytest.mark.slow
def test_tables_and_every_figure_of_the_report(made):
    figures = ["forest", "seeds", "cost", "validation-accuracy", "train-loss"]
    ends = [f"{name}.{end}" for name in figures for end in ("pdf", "svg", "tex")]
    texts = ["results.tex", "comparisons.tex", "claims.tex", "methods.tex", "methods.md", "references.bib"]
    assert sorted(made) == sorted([*texts, *ends, "summary.pdf", "summary.svg"])


@pytest.mark.slow
def test_tables_are_those_of_the_page(made, whole):
    (table,) = verdict_tables(whole.comparisons, whole.facts)
    head, *found = rows(content(made, "comparisons.tex"))
    shown = [column for column in table.columns if not column.below]
    assert [cell.strip() for cell in head] == [latex(column.heading) for column in shown]
    for row, cells in zip(found, table.rows, strict=True):
        assert [cell.strip() for cell in row] == [latex(cells[column.key]) for column in shown]
    assert "−" not in content(made, "comparisons.tex")
    assert r"\usepackage{booktabs}" in content(made, "comparisons.tex")
    _, *claims = rows(content(made, "claims.tex"))
    assert claims[0][0].strip() == "learned positions beat no positions on accuracy"


@pytest.mark.slow
def test_results_have_means_with_their_spread_and_the_best_that_a_verdict_supports_in_bold(whole):
    """In percent where that is asked, and the margin of the caption with them."""
    facts = replace(whole.facts, margin=0.03)
    data = report_data(replace(whole.evidence, facts=facts))
    head, baseline, *others = rows(
        content(for_paper(data, Wanted(WIDTH, ["results"], percent=True), pytest.fail), "results.tex")
    )
    assert [cell.strip() for cell in head][1] == r"Accuracy (\%)"
    trials = data.evidence.trials
    values = 100 * trials.loc[trials["variant"] == "baseline", "accuracy"].dropna().astype(float)
    mean, spread = (float(part) for part in re.findall(r"[\d.]+", baseline[1]))
    assert (mean, spread) == pytest.approx((values.mean(), values.std()), rel=0.02)
    verdicts = {cells[-1].strip() for cells in others}
    bold = [cells for cells in (baseline, *others) if "textbf" in cells[1]]
    assert len(bold) == ("better" in verdicts)
    assert r"$\pm$3" in content(
        for_paper(data, Wanted(WIDTH, ["results"], percent=True), pytest.fail), "results.tex"
    )


def test_hyperparameters_are_those_of_the_baseline_with_what_variants_have_in_their_place(whole):
    settings = {
        "task": {"name": "recall"},
        "training": {"lr": 0.01, "schedule": {"name": "cosine", "final": 0.0}},
    }
    made = for_paper(whole, Wanted(WIDTH, ["hyperparameters"], settings=settings), pytest.fail)
    table = {
        cells[0].strip(): [cell.strip() for cell in cells[1:]]
        for cells in rows(content(made, "hyperparameters.tex"))
    }
    assert list(table) == ["Setting", "Task", "Learning rate", "Schedule", "Schedule final"]
    assert table["Learning rate"][0] == "0.01"
    assert "0.3" in table["Learning rate"][-1]


@pytest.mark.slow
def test_each_task_has_a_table_and_a_study_without_comparisons_none():
    factors = {"model.norm": {"layer": 0.0, "batch": -0.2}}
    two = report_data(
        study(factors=factors, tasks=("recall", "re_verse"), named={}, claims=False, trouble=False)
    )
    found = for_paper(two, Wanted(WIDTH, ["comparisons", "comparisons-2"]), pytest.fail)
    assert list(found) == ["comparisons.tex", "comparisons-2.tex"]
    assert r"re\_verse" in content(found, "comparisons-2.tex")
    alone = report_data(study(factors={}, named={}, claims=False, placebo=False, trouble=False))
    with pytest.raises(
        AblateError,
        match=r"is no table or figure.*given 'comparisons'; allowed: validation-accuracy, train-loss",
    ):
        for_paper(alone, Wanted(WIDTH, ["comparisons"]), pytest.fail)


@pytest.mark.slow
def test_figures_are_as_wide_as_asked_with_their_fonts_inside(made):
    names = {Path(name).stem for name in made if name.endswith(".pdf")} - {"summary"}
    for name in names:
        pdf, svg = (content(made, f"{name}.{end}") for end in ("pdf", "svg"))
        box = re.search(r"/MediaBox \[([\d. ]+)\]", pdf)
        assert box is not None
        assert float(box[1].split()[2]) == pytest.approx(WIDTH * 72, abs=0.01)
        assert "/FontFile2" in pdf
        assert "/Type3" not in pdf
        assert "CreationDate" not in pdf
        assert f'width="{WIDTH * 72:g}pt"' in svg
        assert "<text" not in svg
        assert "<dc:date>" not in svg


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(made, whole):
    with matplotlib.rc_context({"font.size": 21.0, "pdf.fonttype": 3}):
        again = for_paper(whole, Wanted(WIDTH, ["forest", "comparisons"]), pytest.fail)
    assert again == {name: made[name] for name in again}
    assert set(again) == {"comparisons.tex", "forest.pdf", "forest.svg", "forest.tex"}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("drawn", ["forest", "validation-accuracy"], indirect=True)
def test_words_that_can_be_read_inside_a_column(drawn):
    with theme({**PAPER, "figure.figsize": (WIDTH, WIDTH)}):
        figure = drawn.draw()
        saved(figure, drawn.name)
        for words in figure.findobj(Text):
            box = words.get_window_extent()
            if not words.get_text().strip() or not words.get_visible() or box.width == 0:
                continue
            assert words.get_fontsize() >= 6.5
        edges = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
        edges += [t for ax in figure.axes for t in [*ax.texts, *ax.get_yticklabels()]]
        for words in edges:
            box = words.get_window_extent()
            assert not words.get_text() or box.x0 >= -1, words
            assert not words.get_text() or box.x1 <= figure.bbox.width + 1, words


def test_what_cannot_be_drawn_is_named_and_the_rest_is_made(whole):
    said = []
    broken = whole.comparisons.assign(verdict="no such verdict")
    made = for_paper(
        replace(whole, comparisons=broken), Wanted(WIDTH, ["forest", "comparisons"]), said.append
    )
    assert list(made) == ["comparisons.tex"]
    assert said == ["The figure “forest” could not be drawn: KeyError: 'no such verdict'"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("low_rank(rank=8) & 5 % of #1", r"low\_rank(rank=8) \& 5 \% of \#1"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a^b$d$", r"a\textasciicircum{}b\$d\$"),
        ("−0.5 ± 0.1 ≤ ∞ → x", r"$-$0.5 $\pm$ 0.1 $\leq$ $\infty$ $\to$ x"),
        ("[x]*", "{[}x]{*}"),
        ("tête\u202e\nx", r"tête\textbackslash{}u202e x"),
    ],
)
def test_a_name_is_literal_text(given, expected):
    assert latex(given) == expected


NAMES = st.text(st.sampled_from(string.printable + "−±é–“\u202e"), max_size=12)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4))
@settings(max_examples=30)
def test_whatever_the_cells_hold_a_table_keeps_its_shape(cells):
    given = [dict(zip(("name", "value"), row, strict=True)) for row in cells]
    columns = [Column("name", "Name"), Column("value", "p", True)]
    found = rows(tabular(Table(columns, given, cells[0][0]), "tab:x"))
    assert [len(row) for row in found] == [2] * (1 + len(cells))


def made_of(values, **options):
    evidence = made_study(values, **options)
    return for_paper(
        report_data(evidence), Wanted(WIDTH, only=["results", "comparisons", "methods"]), pytest.fail
    )


@pytest.mark.slow
def test_each_row_has_its_n_where_rows_differ():
    values = {"baseline": [0.7, 0.72, 0.71, 0.69], "a": [0.75, 0.77, 0.76, 0.74], "b": [0.7, 0.73, 0.7, 0.71]}
    head, *found = rows(content(made_of(values), "results.tex"))
    assert "n" not in [cell.strip() for cell in head]
    # A diverged run has no value, and counts with the floor in the difference.
    diverged = made_of(values, statuses={("b", 3): "diverged"})
    head, *found = rows(content(diverged, "results.tex"))
    names = [cell.strip() for cell in head]
    n, pairs = names.index("n"), names.index("n of difference")
    assert [row[n].strip() for row in found] == ["4", "4", "3"]
    assert [row[pairs].strip() for row in found] == ["", "4", "4"]
    assert "over 3 to 4 seeds" in content(diverged, "results.tex")


def test_what_is_equivalent_keeps_its_interval_in_the_caption_where_that_excludes_0():
    """Reference: scipy's paired t interval, at 95 %."""
    base = np.array([0.70, 0.72, 0.71, 0.69])
    differences = np.array([0.005, 0.007, 0.003, 0.005])
    values = {"baseline": base, "a": base + differences}
    low, high = stats.t.interval(0.95, 3, 0.005, np.std(differences, ddof=1) / 2)
    made = made_of(values, margin=0.01)
    shown = f"a (better by 0.0050 {{[}}{low:.4f}, {high:.4f}])"
    assert f"Equivalent, although the interval excludes 0: {shown}" in content(made, "results.tex")


@pytest.mark.slow
def test_terms_of_the_table_are_defined_and_a_narrow_table_takes_one_column(whole, made):
    assert "Detectable: the smallest true difference" in content(made, "comparisons.tex")
    assert "Placebo: a copy of the baseline under other random streams" in content(made, "comparisons.tex")
    assert r"\begin{table*}" in content(made, "comparisons.tex")
    narrow = Table([Column("a", "A"), Column("b", "B")], [{"a": "x", "b": "1"}])
    assert r"\begin{table}" in tabular(narrow, "tab:x")
    wide = Table([Column("a", "A"), Column("b", "B")], [{"a": "x", "b": "1" * 60}])
    assert r"\begin{table*}" in tabular(wide, "tab:x")


@pytest.mark.slow
def test_seeds_are_called_fixed_in_advance_by_a_dated_plan_alone(whole):
    words = for_paper(whole, Wanted(WIDTH, only=["methods"]), pytest.fail)["methods.md"]
    assert "fixed in advance" not in words
    dated = replace(whole, dated="2026-11-23T19:59:02+00:00")
    words = for_paper(dated, Wanted(WIDTH, only=["methods"]), pytest.fail)["methods.md"]
    assert "fixed in advance, in a plan of 2026-11-23" in words
    assert "A placebo, the baseline under other random streams, is compared with it too" in words
