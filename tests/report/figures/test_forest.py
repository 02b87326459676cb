from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import crossed
from synthetic import study

from ablate.analysis.compare import compare
from ablate.core.metric import Metric
from ablate.report.figures import forest as module
from ablate.report.figures.forest import forest, solved_seeds
from ablate.report.figures.theme import EXPLORATORY, MARKS, colour, theme
from ablate.report.sections.differences import CELLS, MAIN_EFFECTS, forest_rows, seed_pairs
from ablate.report.tables.directions import difference_label
from ablate.report.tables.verdicts import planned_rows
from figures.looks import COLUMN, arrows, beside, intervals, labels, settings


def rows_of(evidence, comparisons=None):
    found = compare(evidence) if comparisons is None else comparisons
    return forest_rows(evidence.facts, found, evidence.facts.tasks[0])


@pytest.fixture(scope="module")
def rows(evidence):
    return rows_of(evidence)


@pytest.mark.slow
def test_every_difference_has_its_row_with_its_interval_and_its_mark(drawn, rows):
    full, _ = drawn("forest").axes
    shown = intervals(full)
    assert [row.y for row in shown] == list(range(len(rows)))
    np.testing.assert_allclose([row.value for row in shown], rows["value"])
    np.testing.assert_allclose([row.low for row in shown], rows["low"])
    np.testing.assert_allclose([row.high for row in shown], rows["high"])
    marks = [MARKS[verdict] for verdict in rows["verdict"]]
    assert [(row.marker, row.shade) for row in shown] == [
        (mark.marker, colour(mark.colour)) for mark in marks
    ]
    assert [row.is_hollow for row in shown] == list(rows["placebo"])


def test_all_of_it_and_a_closer_look(drawn, rows):
    full, near = drawn("forest").axes
    assert [ax.get_title("left") for ax in (full, near)] == ["all", "zoom"]
    for ax in (full, near):
        low, high = ax.get_xlim()
        assert low < -0.02 < 0.02 < high, "the margin is in view"
        assert [patch.get_x() for patch in ax.patches] == [-0.02]
    assert rows["value"].between(*full.get_xlim()).all()
    assert not rows["value"].between(*near.get_xlim()).all()
    placebo = rows[rows["placebo"]].iloc[0]
    dotted = {
        line.get_xdata()[0]
        for line in near.lines
        if line.get_linestyle() != "-" and len(line.get_xdata()) > 1
    }
    assert {placebo["low"], placebo["high"]} <= dotted


def test_arrows_stand_where_an_interval_leaves_its_panel(drawn, rows):
    for ax in drawn("forest").axes:
        low, high = ax.get_xlim()
        cut = {("left", float(y)) for y in np.flatnonzero(rows["low"] < low)}
        cut |= {("right", float(y)) for y in np.flatnonzero(rows["high"] > high)}
        assert arrows(ax) == cut
    assert cut


@pytest.mark.slow
def test_each_comparison_has_a_row_of_its_own_the_planned_ones_first(evidence):
    """Also where a variant is in several: as a main effect and as a cell, or with all others."""
    planned = compare(evidence)
    others = planned[planned["metric"] == "accuracy"].assign(baseline="x", exploratory=True)
    data = rows_of(evidence, pd.concat([others, planned], ignore_index=True))
    exploratory = data[~data["placebo"]]["verdict"] == EXPLORATORY
    assert exploratory.any()
    assert exploratory.is_monotonic_increasing
    with theme():
        full = forest(data, "accuracy", 0.02).axes[0]
    assert [row.y for row in intervals(full)] == list(range(len(data)))


def test_figures_have_the_order_of_the_tables(evidence):
    baseline, *others = evidence.facts.variants
    turned = replace(
        evidence, facts=replace(evidence.facts, variants=[baseline, *others[1::2], *others[::2]])
    )
    comparisons = compare(turned)
    metric = turned.facts.metric
    table = [row["variant"] for row in planned_rows(comparisons) if row["metric"] == metric]
    table.sort(key="placebo".__eq__)
    assert list(rows_of(turned, comparisons)["variant"]) == table
    assert list(seed_pairs(turned, turned.facts.tasks[0])["variant"].unique()) == table


def test_a_factorial_stands_under_two_headings_and_no_name_twice():
    """Where a level is one of two cells alone, its main effect has the name, and the cell says that it is alone."""
    effects = {"x": 0.0, "y": -0.1, "p": 0.0, "q": 0.02, "r": 0.05}
    evidence = crossed(
        {"model.a": ["x", "y"], "model.b": ["p", "q", "r"]},
        lambda levels, seed: 0.8 + sum(effects[level] for level in levels.values()) + 0.01 * np.sin(7 * seed),
    )
    data = rows_of(evidence)
    assert list(dict.fromkeys(data["group"])) == [MAIN_EFFECTS, CELLS]
    assert data["group"].value_counts().to_dict() == {CELLS: 5, MAIN_EFFECTS: 3}
    assert data["label"].is_unique
    assert set(data.loc[data["group"] == CELLS, "baseline"]) == {"baseline"}
    alone = data[data["label"].str.endswith(" alone")]
    assert len(alone) == 3
    with theme():
        (ax,) = forest(data, "accuracy").axes
    shown = labels(ax)
    assert sorted(shown.values()) == sorted([*data["label"], MAIN_EFFECTS, CELLS])
    headings = {words: y for y, words in shown.items()}
    for group, own in data.groupby("group"):
        places = [headings[label] for label in own["label"]]
        assert min(places) == headings[group] + 1
        assert max(places) - min(places) == len(own) - 1
    assert len(headings) == len(shown)


def test_a_study_of_one_factor_at_a_time_has_no_headings(rows, drawn):
    assert set(rows["group"]) == {""}
    assert list(labels(drawn("forest").axes[0])) == list(range(len(rows)))


def test_a_single_seed_is_in_view_without_an_interval():
    data = rows_of(
        study(factors={"a": {"x": 0.0, "y": -0.3}}, named={}, claims=False, num_seeds=1, trouble=False)
    )
    assert data["low"].isna().all()
    with theme():
        (ax,) = forest(data, "accuracy").axes
    assert data["value"].between(*ax.get_xlim()).all()
    assert not arrows(ax)


def test_no_difference_is_larger_than_the_metric_can_show():
    few = study(factors={"a": {"x": 0.0, "y": -0.5}}, named={}, claims=False, num_seeds=2, trouble=False)
    wild = replace(few, trials=few.trials.assign(accuracy=[0.9, 0.2, 0.1, 0.8, 0.5, 0.5]))
    data = rows_of(wild)
    span = wild.facts.tasks[0].metrics["accuracy"].span
    ((low, high), *_) = module.forest_limits(data, None, span)
    assert data["high"].max() > 1, "the interval of two seeds is wider"
    assert (low > -1, high < 1) == (True, True)
    with theme():
        ax = forest(data, "accuracy", None, span).axes[0]
    assert {side for side, _ in arrows(ax)} == {"left", "right"}


def test_a_loss_keeps_its_sign_and_its_label_says_which_side_is_better(of_study, drawn):
    picture = of_study("losses")["forest"]
    (row,) = picture.data.to_dict("records")
    assert row["value"] == pytest.approx(1.0)
    assert row["told"] == "worse +1.00"
    (ax,) = drawn("forest", "losses").axes
    assert intervals(ax)[0].value == pytest.approx(1.0)
    assert beside(ax) == {0: "worse +1.00"}
    assert picture.options[0] == difference_label("loss", Metric("min"))
    assert "left" in picture.options[0]
    assert "right" in difference_label("accuracy", Metric("max"))


@pytest.mark.slow
def test_an_all_or_nothing_task_shows_seeds_solved_of_variant_and_baseline(of_study, drawn):
    data = of_study("rates")["forest"].data
    assert data[["label", "n", "solved_variant", "solved_baseline"]].to_numpy().tolist() == [
        ["always", 8, 8, 8],
        ["never", 8, 0, 8],
        ["mostly", 8, 7, 8],
    ]
    (ax,) = drawn("forest", "rates").axes
    for y, row in enumerate(data.to_dict("records")):
        mark = MARKS[row["verdict"]]
        alone = [line for line in ax.lines if line.get_ydata()[0] == y]
        assert [line.get_xdata()[0] for line in alone] == [row["solved_baseline"], row["solved_variant"]]
        assert [line.get_marker() for line in alone] == ["o", mark.marker]
        assert alone[0].get_markerfacecolor() == colour("paper"), "the baseline is hollow"
    told = [words.replace(",", "").split()[:4] for words in beside(ax).values()]
    assert told == [
        ["inconclusive", "8", "of", "8"],
        ["worse", "0", "of", "8"],
        ["inconclusive", "7", "of", "8"],
    ]
    assert all(tick == int(tick) and 0 <= tick <= 8 for tick in ax.get_xticks())


def test_a_column_of_a_paper_has_room_for_the_verdicts_alone(rows):
    with theme(settings(COLUMN)):
        ax = forest(rows, "accuracy").axes[-1]
    assert list(beside(ax).values()) == list(rows["verdict"])
    with theme():
        ax = forest(rows, "accuracy").axes[-1]
    assert list(beside(ax).values()) == list(rows["told"])


def test_rates_of_groups_are_under_headings_too():
    data = pd.DataFrame(
        {
            "group": ["a", "b"], "label": ["v", "w"], "placebo": False, "verdict": "worse", "told": "worse 1 of 4",
            "n": 4, "solved_variant": [1.0, 1.0], "solved_baseline": [4.0, 3.0],
        }
    )  # fmt: skip
    with theme():
        (ax,) = solved_seeds(data, "seeds").axes
    assert labels(ax) == {1: "v", 3: "w", 0: "a", 2: "b"}
