"""The figure of many studies' claims: which of them it shows, and what of each."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from made_conditions import GROWING, study_over
from made_evidence import ACCURACY, claim
from matplotlib.collections import LineCollection

from ablate.analysis.claims import judged_claims
from ablate.analysis.runs import runs_of
from ablate.core.metric import Metric
from ablate.report.atlas.figure import figure_panels
from ablate.report.atlas.published import PublishedClaim, PublishedRun, PublishedStudy
from ablate.report.figures.atlas import claims
from ablate.report.figures.theme import EXPLORATORY, PAGE, theme
from ablate.report.summary import Spent
from figures.looks import arrows, assert_readable, intervals

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


def rows_of(panels):
    """The rows of all panels."""
    return pd.concat([panel.rows for panel in panels], ignore_index=True)


def test_claims_on_shares_have_a_panel_and_those_on_another_metric_have_one_below():
    share, other = figure_panels([*published("02-loss", Metric("max")), *published("01-share")])
    assert share.rows["label"].str.startswith("01-share: ").all()
    assert other.rows["label"].str.startswith("02-loss: ").all()
    assert (share.is_log, other.is_log) == (True, False)
    assert "difference in score" in other.axis_label


def test_claims_on_time_or_memory_stand_in_the_last_panel():
    study, one = published("02-loss", Metric("max"))[0]
    timed = replace(one, claim=replace(one.claim, metric="step_seconds"))
    *_, last = figure_panels([(study, timed), (study, one), *published("01-share")])
    assert [*last.rows["id"]] == [timed.id]
    assert last.is_log, "a ratio less 1 spans a point and a multiple"


def test_where_less_is_better_a_figure_has_the_signs_of_the_cards():
    oriented = published("02-loss", Metric("max"))
    turned = published("02-loss", Metric("min"))
    for pairs, side in ((oriented, "right"), (turned, "left")):
        (panel,) = figure_panels(pairs)
        assert f"{side} is better" in panel.axis_label
        for (_, one), (_, row) in zip(
            sorted(pairs, key=lambda pair: pair[1].id), panel.rows.sort_values("id").iterrows(), strict=True
        ):
            sign = 1 if side == "right" else -1
            assert row["value"] == sign * one.row.diff
            assert row["low"] == (one.row.ci_low if sign == 1 else -one.row.ci_high)
            by = one.claim.by
            ticks = {"beats": [by], "matches": [-by, by], "does_not_lose": [-by]}[one.claim.kind]
            assert sorted(row["margins"]) == sorted(sign * tick for tick in ticks)
        dots = panel.conditions.groupby("id")["value"].first()
        assert dots["02-loss.1"] == sign * pairs[0][1].in_conditions[0].diff


def test_the_ticks_of_a_likeness_in_time_are_as_far_from_0_as_ratios_are_judged():
    study, one = published("02-loss", Metric("max"))[2]
    assert one.claim.kind == "matches"
    timed = replace(one, claim=replace(one.claim, metric="step_seconds", by=1.0))
    (panel,) = figure_panels([(study, timed)])
    assert panel.rows["margins"].item() == [-0.5, 1.0]


@pytest.mark.parametrize("scale", [1e-3, 0.02, 1.0, 300.0])
def test_an_axis_has_ticks_at_any_scale_and_shows_every_value(scale):
    study, one = published("02-loss", Metric("max"))[0]
    row = replace(one.row, diff=0.8 * scale, ci_low=-0.5 * scale, ci_high=scale)
    timed = replace(one, claim=replace(one.claim, metric="step_seconds"), row=row, in_conditions=[])
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        (ax,) = claims(figure_panels([(study, timed)])).axes
        left, right = ax.get_xlim()
        assert left < -0.5 * scale
        assert right > scale
        assert len([tick for tick in ax.get_xticks() if left <= tick <= right]) >= 3


def test_an_infinite_interval_ends_in_an_arrow():
    study, one = published("01-share")[0]
    endless = replace(one, row=replace(one.row, ci_high=math.inf))
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        (ax,) = claims(figure_panels([(study, endless)])).axes
        assert {side for side, _ in arrows(ax)} == {"right"}
        (drawn,) = intervals(ax)
        assert drawn.high == ax.get_xlim()[1]


def test_a_claim_without_a_number_is_in_no_panel():
    study, one = published("01-share")[0]
    assert figure_panels([(study, replace(one, row=replace(one.row, diff=math.nan)))]) == []


def test_rows_of_a_panel_are_grouped_by_verdict_with_how_many_have_it():
    (panel,) = figure_panels(published("01-share"))
    assert [*panel.rows["group"].value_counts(sort=False).items()] == [("refuted: 1", 1), ("supported: 3", 3)]


def test_a_row_says_its_study_and_its_claim_and_leaves_the_id_to_tables():
    labels = {*rows_of(figure_panels(published("01-share")))["label"]}
    assert "01-share: a beats baseline on accuracy by 0.035" in labels


def test_what_is_not_confirmed_has_no_mark_of_a_verdict():
    rows = rows_of(figure_panels(published("01-share", confirmed=False)))
    assert {*rows["verdict"]} == {EXPLORATORY}
    assert {*rows["group"]} == {"not confirmed: 4"}


def test_a_condition_is_filled_where_the_claim_holds():
    (panel,) = figure_panels(published("01-share"))
    rows = panel.conditions
    assert [*rows.loc[rows["id"] == "01-share.2", "holds"]] == [False, False, True]


@pytest.mark.slow
def test_it_has_an_interval_a_tick_and_a_dot_a_condition_for_each_claim():
    pairs = [*published("01-share"), *published("02-loss", Metric("max"))]
    panels = figure_panels(pairs)
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        figure = claims(panels)
        assert_readable(figure)
        for ax, panel in zip(figure.axes, panels, strict=True):
            assert len(intervals(ax)) == len(panel.rows)
            ticks = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
            assert sum(len(drawn.get_segments()) for drawn in ticks) >= len(panel.rows)
            dots = [line for line in ax.lines if line.get_markersize() == 3.0 and line.get_marker() == "o"]
            assert len(dots) == 3 * len(panel.rows)


@pytest.mark.slow
def test_a_panel_of_one_verdict_has_its_heading():
    with theme({**PAGE, "figure.figsize": (7.2, 7.2)}):
        pairs = published("01-share", confirmed=False)
        (ax,) = claims(figure_panels(pairs)).axes
        assert "not confirmed: 4" in [label.get_text() for label in ax.get_yticklabels()]
