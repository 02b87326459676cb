"""Slopes over sizes, and the sizes at which variants overtake each other."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from made_speed import speed_frame, timed
from scipy import stats

from ablate.analysis.scaling import OVERTAKINGS, SLOPES, _crossing, overtakings, scaling
from ablate.core.evidence import Evidence

SIZES = (64, 128, 256, 512)
rng = np.random.default_rng(512)
AA = 0.002 * rng.normal(size=8)


def grown(logs: Mapping[str, Mapping[int, float]], sd: float = 0.004, noise: float = 1.0) -> Evidence:
    """Variant → size → log ratio; the baseline's time grows with the size to the power of 1.5, its bytes linearly."""
    frames = []
    for size in SIZES:
        known = {"baseline": 0.0} | {name: of[size] for name, of in logs.items() if size in of}
        at = {name: log + sd * rng.normal(size=8) for name, log in known.items()} | {"baseline": noise * AA}
        memory = {name: 1e4 * size * math.exp(log) for name, log in known.items()}
        seconds = 1e-5 * size**1.5
        frames.append(speed_frame(at, size=size, own=size == 64, seconds=seconds, memory=memory))
    return timed(*frames)


def test_slopes_are_fitted_in_each_process() -> None:
    evidence = grown({"a": {size: 0.5 * math.log(size / 200) for size in SIZES}}, sd=0.03)
    found = scaling(evidence).set_index(["variant", "metric"])
    frame = evidence.frames["speed"][evidence.frames["speed"]["variant"] == "a"]
    slopes = [
        stats.linregress(np.log(one["size"].astype(float)), np.log(one["seconds"].astype(float))).slope
        for _, one in frame.groupby("process")
    ]
    row = found.loc["a", "step_seconds"]
    interval = stats.ttest_1samp(slopes, 0.0).confidence_interval()
    assert (row["slope"], row["n"]) == (pytest.approx(np.mean(slopes)), 8)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(interval))
    assert abs(row["slope"] - 2.0) < 0.05
    assert found.loc["baseline", "step_seconds"]["slope"] == pytest.approx(1.5)
    assert found.loc["a", "step_memory"][["slope", "ci_low", "ci_high"]].tolist() == pytest.approx([1.5] * 3)


def test_a_size_that_a_variant_lacks_is_left_out_of_its_slope() -> None:
    found = scaling(grown({"a": dict.fromkeys(SIZES[:3], 0.0), "b": {64: 0.0}}, sd=0.0))
    found = found[found["metric"] == "step_seconds"].set_index("variant")
    assert [*found.index] == ["baseline", "a"]
    assert found["slope"].tolist() == pytest.approx([1.5, 1.5])


def test_one_variant_overtakes_another_between_two_sizes() -> None:
    # On a log scale the ratio falls through 1 at 200, and on a straight line that interpolation meets exactly.
    logs = {size: 0.3 * math.log(200 / size) for size in SIZES}
    (row,) = overtakings(grown({"a": logs})).query("metric == 'step_seconds'").to_dict("records")
    assert (row["faster_below"], row["faster_above"]) == ("baseline", "a")
    assert (row["low"], row["high"], row["note"]) == (128, 256, "")
    assert row["size"] == pytest.approx(200, rel=0.02)
    assert 190 < row["low_ci"] < row["size"] < row["high_ci"] < 210


def test_two_variants_overtake_each_other_though_neither_is_the_baseline() -> None:
    logs = {size: 0.3 * math.log(200 / size) for size in SIZES}
    found = overtakings(
        grown({"a": {s: -1 + v / 2 for s, v in logs.items()}, "b": {s: -1 - v / 2 for s, v in logs.items()}})
    )
    assert found[["metric", "faster_below", "faster_above"]].to_numpy().tolist() == [
        ["step_seconds", "b", "a"],
        ["step_memory", "b", "a"],
    ]
    assert found["size"].tolist() == pytest.approx([200, 200], rel=0.02)
    assert found.loc[1, ["low_ci", "high_ci"]].isna().all()


@pytest.mark.parametrize(
    ("logs", "noise", "count"),
    [
        ([0.1, 0.1, 0.1, -0.1], 1.0, 1),
        ([0.1, 0.1, -0.001, 0.1], 1.0, 0),
        ([0.015, -0.015, -0.015, 0.015], 1.0, 0),
        ([0.1, 0.1, -0.1, -0.1], 100.0, 0),
        ([0.1, 0.1, 0.001, 0.001], 1.0, 0),
        ([0.1, -0.1, 0.1, -0.1], 1.0, 3),
        ([0.1, 0.001, -0.001, -0.1], 1.0, 1),
    ],
)
def test_only_what_is_shown_on_both_sides_is_an_overtaking(logs, noise, count) -> None:
    evidence = grown({"a": dict(zip(SIZES, logs, strict=True))}, sd=0.001, noise=noise)
    found = overtakings(evidence).query("metric == 'step_seconds'")
    assert len(found) == count
    if logs[1] == 0.001:
        assert found[["low", "high", "note"]].to_numpy().tolist() == [
            [64, 512, "the order is not shown at 128 and 256"]
        ]
        assert found["low_ci"].item() < found["size"].item() < found["high_ci"].item()


def test_the_interval_of_an_overtaking_covers_it() -> None:
    """Of 200 studies whose ratio falls through 1 at 180, at least the 99 % band of .95."""
    covered = 0
    slope = {size: 0.08 * math.log(180 / size) for size in SIZES[1:3]}
    for _ in range(200):
        logs = np.array([*slope.values()]) + 0.008 * rng.normal(size=(8, 1)) + 0.004 * rng.normal(size=(8, 2))
        if np.sign(logs.mean(axis=0)).tolist() == [1.0, -1.0]:
            low, high = _crossing(np.array([*slope], float), logs)[1]
            covered += low <= 180 <= high
    assert covered >= stats.binom.ppf(0.005, 200, 0.95)


def test_without_sizes_nothing_grows() -> None:
    evidence = timed(speed_frame({"baseline": AA, "a": AA}))
    for found, columns in ((scaling(evidence), SLOPES), (overtakings(evidence), OVERTAKINGS)):
        assert (len(found), list(found.columns)) == (0, list(columns))
