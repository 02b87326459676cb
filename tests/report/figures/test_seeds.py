import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from ablate.core.facts import BASELINE
from ablate.report.figures.saving import saved
from ablate.report.figures.seeds import BINS, MOST_POINTS, seed_differences
from ablate.report.figures.theme import colour, theme
from ablate.report.sections.differences import seed_pairs
from figures.looks import arrows, beside, intervals, labels


@pytest.fixture(scope="module")
def pairs(evidence):
    return seed_pairs(evidence, evidence.facts.tasks[0])


def strip(ax):
    """The points of all seeds, sorted."""
    shown = [points.get_offsets() for points in ax.collections if isinstance(points, PathCollection)]
    return np.sort(np.concatenate(shown)[:, 0])


def test_each_seed_is_the_difference_of_two_trials(drawn, evidence, pairs):
    value = evidence.trials.set_index(["variant", "seed"])["accuracy"]
    expected = [value[row.variant, row.seed] - value[BASELINE, row.seed] for row in pairs.itertuples()]
    np.testing.assert_array_equal(pairs["difference"], expected)
    for ax in drawn("seeds").axes:
        inside = pairs["difference"][pairs["difference"].between(*ax.get_xlim())]
        np.testing.assert_allclose(strip(ax), np.sort(inside))
        assert not any(
            points.get_clip_on() for points in ax.collections if isinstance(points, PathCollection)
        )


def test_below_the_seeds_of_a_variant_stands_their_mean_with_its_interval(drawn, of_study, pairs):
    full, near = drawn("seeds").axes
    rows = labels(full)
    shown = intervals(full)
    assert [row.y for row in shown] == pytest.approx([y + 0.27 for y in rows])
    known = of_study()["forest"].data.set_index("label")
    for row, label in zip(shown, pairs["label"].unique(), strict=True):
        want = known.loc[label]
        assert (row.value, row.low, row.high) == pytest.approx((want["value"], want["low"], want["high"]))
    mean = pairs.groupby("label", sort=False)["difference"].mean()
    whole = [label for label, count in pairs.groupby("label")["difference"].count().items() if count == 5]
    for label in whole:
        assert known.loc[label, "value"] == pytest.approx(mean[label])
    assert [row.value for row in intervals(near)] == pytest.approx(
        [row.value if near.get_xlim()[0] < row.value < near.get_xlim()[1] else np.nan for row in shown],
        nan_ok=True,
    )


def test_intervals_that_leave_a_panel_end_in_an_arrow(drawn):
    for ax in drawn("seeds").axes:
        low, high = ax.get_xlim()
        shown = intervals(ax)
        cut = {("left", row.y) for row in shown if row.low < low}
        cut |= {("right", row.y) for row in shown if row.high > high}
        assert {arrow for arrow in arrows(ax) if arrow[1] % 1} == cut


def test_seeds_beyond_a_panel_are_marked_at_its_edge(drawn, pairs):
    rows = {label: float(y) for y, label in enumerate(pairs["label"].unique())}
    for ax in drawn("seeds").axes:
        low, high = ax.get_xlim()
        beyond = {("left", rows[row.label]) for row in pairs.itertuples() if row.difference < low}
        beyond |= {("right", rows[row.label]) for row in pairs.itertuples() if row.difference > high}
        assert {arrow for arrow in arrows(ax) if not arrow[1] % 1} == beyond


def test_runs_without_a_value_are_counted(drawn, pairs):
    lost = pairs[pairs["lost"] != ""]
    assert lost["difference"].isna().all()
    *_, last = drawn("seeds").axes
    assert list(beside(last).values()) == ["1 diverged", "1 failed"]
    assert {text.get_color() for text in last.texts} == {colour("purple")}


def test_the_seeds_of_a_loss_keep_their_sign(drawn, of_study):
    data = of_study("losses")["seeds"].data
    assert sorted(data["difference"]) == pytest.approx([0.9, 1.0, 1.1])
    np.testing.assert_allclose(strip(drawn("seeds", "losses").axes[0]), np.sort(data["difference"]))


def test_a_row_of_very_many_seeds_has_few_points_whose_areas_are_their_numbers():
    rng = np.random.default_rng(0)
    rows = []
    for variant, count in (("few", MOST_POINTS), ("many", 20_000)):
        differences = rng.normal(0.01, 0.02, count)
        rows.append(
            pd.DataFrame({"variant": variant, "label": variant, "difference": differences, "lost": ""})
        )
    data = pd.concat(rows, ignore_index=True)
    data["seed"] = range(len(data))
    intervals = (
        data.groupby("variant", as_index=False)["difference"].mean().set_axis(["variant", "value"], axis=1)
    )
    intervals = intervals.assign(low=0.009, high=0.011, verdict="better")
    with theme():
        figure = seed_differences(data, intervals, "difference", None)
    for ax in figure.axes:
        few, many = [each for each in ax.collections if isinstance(each, PathCollection)][:2]
        assert len(few.get_offsets()) == MOST_POINTS
        assert len(many.get_offsets()) <= BINS
        centres = many.get_offsets()[:, 0]
        counts, _ = np.histogram(data.loc[data["variant"] == "many", "difference"], BINS, ax.get_xlim())
        assert many.get_sizes() / many.get_sizes().max() == pytest.approx(counts[counts > 0] / counts.max())
        assert np.all(np.diff(centres) > 0)
    with theme():
        assert len(saved(seed_differences(data, intervals, "difference", None), "seeds")["svg"]) < 300_000
