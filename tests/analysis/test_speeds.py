"""The statistics of speed, from log ratios."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_speed import speed_frame, timed, with_speed
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from ablate.analysis.speed import COLUMNS, Compared, speeds

rng = np.random.default_rng(15)
AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])


def row(evidence, variant="a", metric="step_seconds", **at) -> pd.Series:
    found = speeds(evidence)
    found = found[(found["variant"] == variant) & (found["metric"] == metric)]
    for name, value in at.items():
        found = found[found[name] == value]
    (index,) = found.index
    return found.loc[index]


def test_ratio_and_intervals_are_those_of_t_on_logs() -> None:
    logs = np.log(0.7) + 0.01 * rng.normal(size=8)
    found = row(timed(speed_frame({"baseline": AA, "a": logs, "b": AA, "c": AA}, seconds=0.02)))
    level = stats.ttest_1samp(logs, 0.0)
    for alpha, names in ((0.05, ("ci_low", "ci_high")), (0.05 / 3, ("family_low", "family_high"))):
        expected = np.exp([*level.confidence_interval(1 - alpha)])
        assert found[[*names]].to_numpy(float) == pytest.approx(expected)
    assert found["p"] == pytest.approx(level.pvalue)
    assert found["ratio"] == pytest.approx(np.exp(logs.mean()))
    assert found["value_baseline"] == pytest.approx(0.02)
    assert found["value_variant"] == pytest.approx(0.02 * np.exp(logs.mean()))
    assert (found["n"], found["verdict"]) == (8, "better")
    assert found["examples_per_second"] == pytest.approx(64 / found["value_variant"])
    assert found["flops"] == 1e9


def test_the_noise_floor_is_the_larger_bound_of_two_copies() -> None:
    logs = np.array([0.01, 0.02, 0.0, 0.015, 0.005])
    evidence = timed(speed_frame({"baseline": logs, "a": logs}))
    half = stats.t.ppf(0.975, 4) * logs.std(ddof=1) / math.sqrt(5)
    assert row(evidence)["noise_floor"] == pytest.approx(math.exp(0.01 + half) - 1)
    own = row(evidence, "baseline")
    assert (own["verdict"], own["ratio"]) == ("", pytest.approx(math.exp(0.01)))
    mirrored = row(timed(speed_frame({"baseline": -logs, "a": logs})))
    assert mirrored["noise_floor"] == pytest.approx(math.exp(0.01 + half) - 1)


@pytest.mark.parametrize("sd", [0.004, 0.012, 0.02, 0.1])
@pytest.mark.parametrize("margin", [0.02, 0.05])
def test_equivalence_is_that_of_two_one_sided_tests(sd: float, margin: float) -> None:
    logs = 0.003 + sd * rng.normal(size=8)
    p = ttost_paired(logs, np.zeros(8), -math.log(1 + margin), math.log(1 + margin))[0]
    compared = Compared(logs, 0.001, margin, m=2)
    assert compared.alike == (p <= 0.025)
    assert (compared.verdict == "equivalent") == (p <= 0.025)
    assert Compared(logs, math.log(1 + margin) + 1e-9, margin, m=2).verdict != "equivalent"


@pytest.mark.parametrize(
    ("logs", "noise", "verdict", "why"),
    [
        ([-0.05], 0.001, "incomplete", "1 process, and an interval takes 2"),
        ([-0.05, -0.05], math.nan, "incomplete", "2 processes, and an interval takes 2"),
        ([-0.05, -0.051, -0.049, -0.05], 0.001, "better", ""),
        ([0.05, 0.051, 0.049, 0.05], 0.001, "worse", ""),
        ([0.05, 0.051, 0.049, 0.05], 0.06, "inconclusive", "below the noise floor of 6.2 %, which two"),
        ([0.018, 0.019, 0.0185, 0.02], 0.001, "inconclusive", "below 2 %"),
        ([0.0, 0.001, -0.001, 0.0], 0.001, "equivalent", ""),
        ([0.0, 0.001, -0.001, 0.0], 0.03, "inconclusive", "within 2 %, which is below the noise floor of 3 %"),
        ([0.1, -0.1, 0.2, 0.0], 0.001, "inconclusive", "neither a difference is shown nor that it is below 2"),
    ],
)  # fmt: skip
def test_the_rules_in_their_order(logs: list[float], noise: float, verdict: str, why: str) -> None:
    found = Compared(np.array(logs), noise)
    assert found.verdict == verdict
    assert found.why.startswith(why)
    assert bool(found.why) == bool(why)


def test_the_family_is_the_planned_variants_on_all_tasks_without_placebos() -> None:
    logs = np.array([0.03, 0.08, 0.045, 0.075, 0.04])
    p = stats.ttest_1samp(logs, 0.0).pvalue
    assert 0.05 / 10 < p < 0.05 / 4, p
    frames = [speed_frame({"baseline": AA[:5] / 10, "a": logs}, task=task) for task in ("recall", "reverse")]
    metrics = {"accuracy": next(iter(timed(frames[0]).facts.tasks)).metrics["accuracy"]}
    for others, placebos, verdict in (("b", ["p"], "worse"), ("bcdef", [], "inconclusive")):
        names = ["baseline", "a", *others, *placebos]
        evidence = timed(
            *frames,
            values={name: [0.5, 0.6] for name in names},
            tasks={"recall": metrics, "reverse": metrics},
            placebos=placebos,
        )
        assert row(evidence, task="reverse")["verdict"] == verdict


def test_memory_without_noise_is_compared_by_its_ratio() -> None:
    memory = {"baseline": 1e6, "a": 1.019e6, "b": 1.021e6, "c": 0.5e6, "d": 1e6}
    evidence = timed(speed_frame(dict.fromkeys(memory, AA), memory=memory))
    found = {name: row(evidence, name, "step_memory") for name in memory}
    verdicts = ["", "equivalent", "worse", "better", "equivalent"]
    assert [one["verdict"] for one in found.values()] == verdicts
    assert found["c"]["ratio"] == pytest.approx(0.5)
    assert (found["c"]["value_variant"], found["c"]["noise_floor"]) == (pytest.approx(5e5), 0.0)
    assert found["c"][["flops", "examples_per_second"]].isna().all()


def test_each_size_is_judged_by_its_own_noise() -> None:
    frames = [
        speed_frame({"baseline": noise * AA, "a": AA - 0.05}, size=size, own=size == 64)
        for size, noise in ((32, 100), (64, 1), (128, 1))
    ]
    found = speeds(timed(*frames))
    steps = found[(found["metric"] == "step_seconds") & (found["variant"] == "a")]
    assert steps[["size", "own", "verdict"]].to_numpy().tolist() == [
        [64, True, "better"],
        [32, False, "inconclusive"],
        [128, False, "better"],
    ]
    assert steps["noise_floor"].iloc[1] > 0.1


def test_notes_say_what_limits_a_row() -> None:
    evidence = timed(speed_frame({"baseline": AA, "a": AA}, busy=1.13, flops=math.nan), processes=10)
    assert row(evidence)["note"] == "8 of 10 processes; other processes kept 1.1 cores busy; FLOPs unknown"
    assert row(evidence, "baseline")["note"] == row(evidence)["note"]
    assert row(timed(speed_frame({"baseline": AA, "a": AA})))["note"] == ""


def test_a_call_that_a_variant_lacks_has_no_row() -> None:
    lacking = speed_frame({"baseline": AA, "a": np.full(8, math.nan)}, call="generation")
    found = speeds(timed(speed_frame({"baseline": AA, "a": AA}), lacking))
    assert found.groupby("metric")["variant"].apply(list).to_dict() == {
        "step_seconds": ["baseline", "a"],
        "step_memory": ["baseline", "a"],
        "generation_seconds": ["baseline"],
    }


def test_without_measurements_there_are_the_columns() -> None:
    evidence = timed(speed_frame({"baseline": AA}))
    empty = speeds(type(evidence)(evidence.facts, evidence.trials, evidence.curves))
    assert (len(empty), list(empty.columns)) == (0, list(COLUMNS))


ratios = st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=8)


@settings(max_examples=10, deadline=None)
@given(ratios, st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_neither_the_unit_nor_the_order_of_processes_changes_a_verdict(logs, factor, random) -> None:
    frame = speed_frame({"baseline": np.multiply(logs, 0.1), "a": logs}, memory={"a": 1.1e6})
    first = speeds(timed(frame))
    scaled = frame.assign(seconds=frame["seconds"] * factor, memory=frame["memory"] * factor)
    order = random.sample(range(len(frame)), len(frame))
    names = ["variant", "metric", "verdict", "note"]
    assert speeds(timed(scaled))[names].equals(first[names])
    shuffled = frame.assign(process=frame["process"].map(dict(enumerate(np.argsort(order[: len(logs)])))))
    evidence = with_speed(timed(frame), shuffled.iloc[order])
    pd.testing.assert_frame_equal(speeds(evidence), first)


@settings(max_examples=50, deadline=None)
@given(ratios, st.floats(0, 0.1), st.sampled_from([0.02, 0.05]))
def test_the_other_way_round_faster_is_slower(logs, noise, margin) -> None:
    there, back = (Compared(way * np.array(logs), noise, margin) for way in (1.0, -1.0))
    assert back.verdict == {"better": "worse", "worse": "better"}.get(there.verdict, there.verdict)
    assert back.why == there.why


def processes(n: int, shape: tuple[int, ...], tails: bool) -> np.ndarray:
    """Log ratios of a process: an effect that all of its variants share, and spreads that differ."""
    draw = rng.standard_t(3, size=(*shape, n)) if tails else rng.normal(size=(*shape, n))
    spread = 0.01 * rng.uniform(0.5, 2.0, size=(shape[0], 1, n))
    return 0.004 * rng.normal(size=(shape[0], 1, n)) + spread * draw


@pytest.mark.parametrize("tails", [False, True])
def test_variants_that_are_alike_are_rarely_called_otherwise(tails: bool) -> None:
    """Of a family of five, in eight processes: `better` or `worse` at most at the band's edge."""
    studies, m = 400, 5
    found = 0
    for logs in processes(8, (studies, m + 1), tails):
        noise = max(map(abs, stats.ttest_1samp(logs[0], 0.0).confidence_interval()))
        found += any(Compared(one, noise, m=m).verdict in ("better", "worse") for one in logs[1:])
    assert found <= stats.binom.ppf(0.995, studies, 0.05)


def test_a_planted_difference_of_five_percent_is_found() -> None:
    found = 0
    for logs in processes(8, (10, 2), tails=False) / 2:
        evidence = timed(speed_frame({"baseline": logs[0], "a": logs[1] + math.log(1.05)}))
        found += row(evidence)["verdict"] == "worse"
    assert found == 10
