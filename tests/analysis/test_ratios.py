"""The statistics of speed, from log ratios."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from made_speed import speed_frame, timed, with_speed
from scipy import stats

from ablate.analysis.speed import group
from ablate.analysis.speed_tables import SpeedRow, speeds

rng = np.random.default_rng(15)
AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])


def row(evidence, variant="a", metric="step_seconds", **at):
    found = speeds(evidence)
    found = found[(found["variant"] == variant) & (found["metric"] == metric)]
    for name, value in at.items():
        found = found[found[name] == value]
    (index,) = found.index
    return found.loc[index]


def test_ratio_and_interval_are_those_of_t_on_logs():
    logs = np.log(0.7) + 0.01 * rng.normal(size=8)
    found = row(timed(speed_frame({"baseline": AA, "a": logs, "b": AA, "c": AA}, seconds=0.02)))
    expected = np.exp([*stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)])
    assert found[["ci_low", "ci_high"]].to_numpy(float) == pytest.approx(expected)
    assert found["ratio"] == pytest.approx(np.exp(logs.mean()))
    assert found["value_baseline"] == pytest.approx(0.02)
    assert found["value_variant"] == pytest.approx(0.02 * np.exp(logs.mean()))
    assert found["n"] == 8
    assert found["examples_per_second"] == pytest.approx(64 / found["value_variant"])
    assert "verdict" not in found


def test_the_noise_floor_is_the_larger_bound_of_two_copies_and_slack_is_two_percent_at_least():
    logs = np.array([0.01, 0.02, 0.0, 0.015, 0.005])
    half = stats.t.ppf(0.975, 4) * logs.std(ddof=1) / math.sqrt(5)
    for sign in (1, -1):
        found = row(timed(speed_frame({"baseline": sign * logs, "a": logs})))
        assert found["noise_floor"] == pytest.approx(math.exp(0.01 + half) - 1)
        assert found["slack"] == pytest.approx(max(0.02, found["noise_floor"]))
    assert row(timed(speed_frame({"baseline": logs, "a": logs})), "baseline")["ratio"] == pytest.approx(
        math.exp(0.01)
    )
    quiet = row(timed(speed_frame({"baseline": AA, "a": AA})))
    assert quiet["noise_floor"] < 0.02 == pytest.approx(quiet["slack"])


def test_memory_without_noise_has_its_ratio():
    memory = {"baseline": 1e6, "a": 1.019e6, "c": 0.5e6}
    evidence = timed(speed_frame(dict.fromkeys(memory, AA), memory=memory))
    found = row(evidence, "c", "step_memory")
    assert found["ratio"] == pytest.approx(0.5)
    assert (found["value_variant"], found["noise_floor"]) == (pytest.approx(5e5), 0.0)
    assert found[["flops", "examples_per_second", "busy"]].isna().all()


def test_each_size_has_its_own_noise():
    frames = [
        speed_frame({"baseline": noise * AA, "a": AA - 0.05}, size=size, own=size == 64)
        for size, noise in ((32, 100), (64, 1), (128, 1))
    ]
    found = speeds(timed(*frames))
    steps = found[(found["metric"] == "step_seconds") & (found["variant"] == "a")]
    assert steps[["size", "own"]].to_numpy().tolist() == [[64, True], [32, False], [128, False]]
    noisy = steps.set_index("size")["noise_floor"]
    assert noisy.loc[32].max() > 10 * noisy.loc[128].max()


def test_what_was_not_timed_has_no_row_and_nothing_timed_no_table():
    frame = speed_frame({"baseline": AA, "a": np.full(8, math.nan), "b": AA})
    values = {name: [0.5, 0.6] for name in ("baseline", "a", "b")}
    assert set(speeds(timed(frame, values=values))["variant"]) == {"baseline", "b"}
    empty = speeds(dataclasses.replace(timed(frame, values=values), frames={}))
    columns = [field.name for field in dataclasses.fields(SpeedRow)]
    assert (len(empty), list(empty.columns)) == (0, columns)


def test_processes_and_load_are_kept_as_numbers():
    found = row(timed(speed_frame({"baseline": AA[:5], "a": AA[:5]}, busy=0.7), processes=8))
    assert (found["n"], found["processes"], found["busy"]) == (5, 8, 0.7)
    assert math.isnan(row(timed(speed_frame({"baseline": AA, "a": AA}, flops=math.nan)))["flops"])


def test_neither_the_order_of_rows_nor_of_processes_matters():
    frame = speed_frame({"baseline": AA, "a": AA - 0.05, "b": 2 * AA})
    evidence = timed(frame)
    mixed = frame.assign(process=(frame["process"] * 3 + 1) % 8).sample(frac=1, random_state=1)
    found = speeds(with_speed(evidence, mixed))
    pd.testing.assert_frame_equal(found, speeds(evidence), check_exact=False, rtol=1e-9)


def test_the_difference_of_two_variants_is_that_of_their_columns():
    found = group(
        timed(speed_frame({"baseline": AA, "a": AA + 0.3, "b": AA - 0.2})), "recall", "step_seconds"
    )
    assert (found.paired["a"] - found.paired["b"]).to_numpy() == pytest.approx(np.full(8, 0.5))
    assert (found.paired["baseline"] == 0.0).all()
