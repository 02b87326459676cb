"""Slopes over sizes."""

import math
from dataclasses import fields

import numpy as np
import pytest
from made_speed import speed_frame, timed
from scipy import stats

from ablate.analysis.speed_tables import SlopeRow, scaling

SIZES = (64, 128, 256, 512)
rng = np.random.default_rng(512)
AA = 0.002 * rng.normal(size=8)


def grown(logs, sd=0.004, noise=1.0):
    """Variant → size → log ratio; the baseline's time grows with the size to the power of 1.5, its bytes linearly."""
    frames = []
    for size in SIZES:
        known = {"baseline": 0.0} | {name: of[size] for name, of in logs.items() if size in of}
        at = {name: log + sd * rng.normal(size=8) for name, log in known.items()} | {"baseline": noise * AA}
        memory = {name: 1e4 * size * math.exp(log) for name, log in known.items()}
        seconds = 1e-5 * size**1.5
        frames.append(speed_frame(at, size=size, own=size == 64, seconds=seconds, memory=memory))
    return timed(*frames)


def test_slopes_are_fitted_in_each_process():
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


def test_a_size_that_a_variant_lacks_is_left_out_of_its_slope():
    found = scaling(grown({"a": dict.fromkeys(SIZES[:3], 0.0), "b": {64: 0.0}}, sd=0.0))
    found = found[found["metric"] == "step_seconds"].set_index("variant")
    assert [*found.index] == ["baseline", "a"]
    assert found["slope"].tolist() == pytest.approx([1.5, 1.5])


def test_without_sizes_nothing_grows():
    evidence = timed(speed_frame({"baseline": AA, "a": AA}))
    found = scaling(evidence)
    assert (len(found), list(found.columns)) == (0, [field.name for field in fields(SlopeRow)])
