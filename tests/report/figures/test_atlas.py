"""The figure of many studies' claims: which of them it shows, and what of each."""

from dataclasses import replace

import pytest
from made_conditions import GROWING, study_over
from made_evidence import ACCURACY, claim
from matplotlib.collections import LineCollection

from ablate.analysis.claims import judged_claims
from ablate.analysis.runs import runs_of
from ablate.core.metric import Metric
from ablate.report.atlas.figure import condition_rows, figure_rows
from ablate.report.atlas.published import PublishedClaim, PublishedRun, PublishedStudy
from ablate.report.figures.atlas import claims
from ablate.report.figures.theme import EXPLORATORY, PAGE, theme
from ablate.report.summary import Spent
from figures.looks import assert_readable, intervals

KINDS = [claim("beats"), claim("beats", by=0.035), claim("matches", by=0.2), claim("does_not_lose", by=0.01)]


def published(name, metric=ACCURACY, *, confirmed=True):
    """The claims of a study over three conditions, each with its study."""
    on_score = [replace(one, metric="score") for one in KINDS]
    evidence = study_over(GROWING, "every", names=("short", "middle", "long"), metric=metric, claims=on_score)
    facts = replace(evidence.facts, study=name)
    study = PublishedStudy(facts, [], [], PublishedRun(name, "ablate run it.yaml", Spent(10, 60.0)), [], [])
    pairs = []
    for number, judged in enumerate(judged_claims(runs_of(evidence)), 1):
        row = judged.row()
        places = judged.rows_in_conditions()
        fresh = {place.task: place.verdict if confirmed else "inconclusive" for place in places}
        one = PublishedClaim(f"{name}.{number}", judged.claim, row, judged.level, places, fresh)
        pairs.append((study, one))
    return pairs


def test_rows_are_grouped_by_verdict_with_how_many_are_shown():
    rows = figure_rows([*published("01-share"), *published("02-loss", Metric("max"))])
    assert [*rows["group"].value_counts(sort=False).items()] == [
        ("refuted: 1 of 2", 1),
        ("supported: 3 of 6", 3),
    ]
    assert rows["label"].str.startswith("01-share: ").all(), "the axis is one of shares"


def test_a_row_says_its_study_and_its_claim_and_leaves_the_id_to_tables():
    labels = {*figure_rows(published("01-share"))["label"]}
    assert "01-share: a beats baseline on accuracy by 0.035" in labels


def test_what_is_not_confirmed_has_no_mark_of_a_verdict():
    rows = figure_rows(published("01-share", confirmed=False))
    assert {*rows["verdict"]} == {EXPLORATORY}
    assert {*rows["group"]} == {"not confirmed: 4 of 4"}


def test_a_condition_is_filled_where_the_claim_holds():
    rows = condition_rows(published("01-share"))
    assert [*rows.loc[rows["id"] == "01-share.2", "holds"]] == [False, False, True]


@pytest.mark.slow
def test_it_has_an_interval_a_tick_and_a_dot_a_condition_for_each_claim():
    pairs = published("01-share")
    rows = figure_rows(pairs)
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        figure = claims(rows, condition_rows(pairs), "difference in accuracy")
        assert_readable(figure)
        (ax,) = figure.axes
        assert len(intervals(ax)) == len(rows)
        ticks = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
        assert sum(len(drawn.get_segments()) for drawn in ticks) >= len(rows)
        dots = [line for line in ax.lines if line.get_markersize() == 3.0 and line.get_marker() == "o"]
        assert len(dots) == 3 * len(rows)


def test_claims_on_other_metrics_alone_have_no_figure():
    assert figure_rows(published("02-loss", Metric("max"))).empty
