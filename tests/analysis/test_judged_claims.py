"""Claims on made evidence: each kind of metric, each kind of claim, and what they share with the table."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from made_evidence import claim, study
from made_speed import speed_frame, timed
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.further_runs import unsettled
from ablate.analysis.paired import Differences
from ablate.core.facts import Claim, Less
from ablate.core.metric import Metric, Sampling
from ablate.core.provenance import Planned

BASE = np.array([0.850, 0.855, 0.848, 0.851, 0.853])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
FINE = {"accuracy": Metric("max")}
rng = np.random.default_rng(5)


def code(row):
    return str(row["reason"]).partition(" ")[0]


def test_a_side_is_the_mean_of_its_variants_seed_by_seed():
    draw = np.random.default_rng(1)
    values = {name: draw.normal(0.5, 0.1, 6) for name in ("baseline", "a", "b", "c")}
    examples = {name: v[:, None] + draw.normal(0, 0.3, 40) for name, v in values.items()}
    one = claim("beats", ["a", "b"], ["baseline", "c"])
    d = (values["a"] + values["b"] - values["baseline"] - values["c"]) / 2
    level = 1 - 0.05 / 4  # three variants and the claim, which is about none of their comparisons
    known = stats.ttest_1samp(d, 0).confidence_interval(level)
    row = judge_claims(study(values, claims=[one])).iloc[0]
    assert (row["n"], row["diff"]) == (6, pytest.approx(d.mean()))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((known.low, known.high))
    # Examples that all seeds share are a sample of their own, on claims too.
    held_out = study(values, claims=[one], sampling=Sampling("held_out", 40), examples=examples)
    both = judge_claims(held_out).iloc[0]
    by_example = (examples["a"] + examples["b"] - examples["baseline"] - examples["c"]) / 2
    bounds = Differences(d, 0.001, by_example).interval(1 - level)
    assert (both["ci_low"], both["ci_high"]) == pytest.approx(bounds)
    assert bounds[0] < known.low
    # A side with a diverged run is lower on that seed by its share.
    lost = judge_claims(study(values, claims=[one], statuses={("b", 2): "diverged"})).iloc[0]
    assert lost["diff"] == pytest.approx((d.sum() - (values["b"][2] - 0.1) / 2) / 6)


@pytest.mark.parametrize("shift", [-0.05, 0.0, 0.05])
def test_a_claim_on_a_row_is_the_row(shift):
    draw = np.random.default_rng(2)
    values = {"baseline": draw.normal(0.5, 0.02, 5), "a": draw.normal(0.5 + shift, 0.02, 5)}
    evidence = study(values, claims=[claim("beats")])
    row, compared = judge_claims(evidence).iloc[0], compare(evidence).iloc[0]
    for column in ("diff", "ci_low", "ci_high", "n"):
        assert row[column] == pytest.approx(compared[column])
    expected = {"better": "supported", "worse": "refuted", "inconclusive": "inconclusive"}
    assert row["verdict"] == expected[compared["verdict"]]


@pytest.mark.parametrize(
    ("kind", "by", "mean"),
    [
        ("beats", 0.0, 0.01),
        ("beats", 0.02, 0.01),
        ("does_not_lose", 0.02, -0.01),
        ("matches", 0.02, 0.004),
        ("matches", 0.02, 0.03),
    ],
)
def test_an_open_claim_says_how_many_seeds_would_settle_it(kind, by, mean):
    draw = np.random.default_rng(4)
    spread = draw.normal(0, 0.02, 6)
    values = {"baseline": np.full(6, 0.5), "a": 0.5 + mean + spread - spread.mean()}
    row = judge_claims(study(values, claims=[claim(kind, by=by)], metrics=FINE)).iloc[0]
    assert row["verdict"] == "inconclusive"
    seeds = int(float(re.fullmatch(r"open seeds=(\S+)", row["reason"])[1]))
    # As many seeds like these would have decided it.
    like = np.resize(spread - spread.mean(), 2 * seeds) + 1e-6 * draw.normal(size=2 * seeds)
    more = {"baseline": np.full(2 * seeds, 0.5), "a": 0.5 + mean + like}
    assert (
        judge_claims(study(more, claims=[claim(kind, by=by)], metrics=FINE)).iloc[0]["verdict"]
        != "inconclusive"
    )
    fewer = {name: of[: max(3, seeds // 4)] for name, of in more.items()}
    assert (
        judge_claims(study(fewer, claims=[claim(kind, by=by)], metrics=FINE)).iloc[0]["verdict"]
        == "inconclusive"
    )


# Constants


def against(value, a, **options):
    evidence = study(
        {"baseline": BASE + 0.1, "a": np.asarray(a)},
        claims=[replace(claim("matches", b="ngram", by=0.02), constant="ngram")],
        **options,
    )
    tasks = [replace(task, constants={"ngram": {"accuracy": value}}) for task in evidence.facts.tasks]
    return judge_claims(replace(evidence, facts=replace(evidence.facts, tasks=tasks))).iloc[0]


def test_a_constant_is_compared_as_a_side_without_noise():
    row = against(0.85, BASE)
    known = stats.ttest_1samp(BASE - 0.85, 0).confidence_interval(1 - 0.05 / 2)
    assert (row["n"], row["diff"], row["verdict"]) == (5, pytest.approx((BASE - 0.85).mean()), "supported")
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((known.low, known.high))
    examples = np.random.default_rng(3).normal(0.85, 0.1, (5, 50)) + (BASE - 0.85)[:, None]
    shared = {"baseline": examples + 0.1, "a": examples}
    wider = against(0.85, examples.mean(axis=1), sampling=Sampling("held_out", 50), examples=shared)
    bounds = Differences.between(examples.mean(axis=1), np.full(5, 0.85), 0.001, examples - 0.85).interval(
        0.05 / 2
    )
    assert (wider["ci_low"], wider["ci_high"]) == pytest.approx(bounds)


def test_what_stays_at_guessing_matches_guessing():
    row = against(0.1, 0.1 + WOBBLE)
    assert (row["verdict"], code(row)) == ("supported", "unseen")


# Interactions

SEEDS = 8


def cells(gain=0.0, level=0.5, noise=0.02):
    """Four variants, with an effect of A and of P, and what A gains beside P; seeds share much of their noise."""
    draw = np.random.default_rng(5)
    shared = draw.normal(0, 0.05, SEEDS)
    means = {"baseline": 0.0, "a": 0.05, "p": -0.1, "a,p": -0.05 + gain}
    return {name: level + mean + shared + draw.normal(0, noise, SEEDS) for name, mean in means.items()}


def more(a="a,p", b="p", a_less="a", b_less="baseline", metric="accuracy"):
    sides = [[side] if isinstance(side, str) else side for side in (a, b, a_less, b_less)]
    words = "a beats baseline by more at p"
    less = Less(*sides[2:], metric)
    return Claim(words, "interaction", metric, *sides[:2], 0.0, "2025-01-01", False, less)


def of_cells(values, one=None, **options):
    return judge_claims(study(values, claims=[one or more()], **options)).iloc[0]


def test_an_interaction_is_a_difference_of_differences():
    values = cells(0.03)
    row = of_cells(values, metrics=FINE)
    d = values["a,p"] - values["p"] - values["a"] + values["baseline"]
    known = stats.ttest_1samp(d, 0).confidence_interval(1 - 0.05 / 4)
    assert (row["n"], row["diff"]) == (SEEDS, pytest.approx(d.mean()))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(("gain", "verdict"), [(0.2, "supported"), (-0.2, "refuted"), (0.0, "inconclusive")])
def test_every_outcome_of_an_interaction(gain, verdict):
    assert of_cells(cells(gain))["verdict"] == verdict
    # The other level first, or the other side first, turns it round.
    turned = {"supported": "refuted", "refuted": "supported"}.get(verdict, verdict)
    for one in (more("a", "baseline", "a,p", "p"), more("p", "a,p", "baseline", "a")):
        assert of_cells(cells(gain), one)["verdict"] == turned


@pytest.mark.parametrize("level", [0.96, 0.21])
def test_beside_a_bound_an_interaction_depends_on_the_scale(level):
    values = {name: np.clip(of, 0.1, 1.0) for name, of in cells(0.2, level, 0.004).items()}
    row = of_cells(values, margin=0.03)
    assert (row["verdict"], code(row)) == ("inconclusive", "scale")
    assert of_cells(values, metrics=FINE)["verdict"] == "supported"


def test_an_interaction_with_lost_runs():
    assert code(of_cells(cells(0.2), statuses={("a", 3): "failed"})) == "incomplete"
    one = of_cells(cells(0.05, 0.8), statuses={("p", 3): "diverged"})
    assert (one["verdict"], code(one)) == ("inconclusive", "unstable")
    # p diverges on six of eight seeds: a then gains far more beside it.
    lost = {("p", seed): "diverged" for seed in range(5)}
    assert of_cells(cells(0.0, 0.8), statuses=lost)["verdict"] == "supported"
    assert code(of_cells(cells(0.2), outcome="all_or_nothing")) == "several"


# Derived metrics


def sensitivity(losses, initial=2.0):
    """By hand, one seed after another: the mean of min(ℓ, ℓ₀) − ℓ*."""
    found = []
    for seed in losses:
        capped = [min(loss, initial) for loss in seed]
        found.append(sum(loss - min(capped) for loss in capped) / len(capped))
    return np.array(found)


RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def stressed(n=6, **more):
    flat = 0.5 + 0.05 * rng.random((n, 5))
    steep = flat + np.array([0.9, 0.5, 0.0, 0.7, np.inf])
    return {"baseline": flat, "a": steep, **more}


def on_a_grid(runs, about, **options):
    n = len(runs["a"])
    values = {name: 0.8 + 0.01 * rng.normal(size=n) for name in runs}
    return judge_claims(study(values, stress=runs, rates=RATES, claims=[about], **options)).iloc[0]


def test_learning_rate_sensitivity_is_that_of_hand_over_every_grid():
    # The judged runs of two seeds diverged, of which the grid knows nothing.
    runs, lost = stressed(), {("a", 0): "diverged", ("a", 2): "diverged"}
    row = on_a_grid(runs, claim("beats", "baseline", "a", metric="lr_sensitivity"), statuses=lost)
    whole = sensitivity(runs["a"]) - sensitivity(runs["baseline"])
    assert (row["n"], row["diff"]) == (6, pytest.approx(whole.mean()))
    grids = [list(range(5)), *([i for i in range(5) if i != out] for out in range(5))]
    bounds = [
        stats.ttest_1samp(
            sensitivity(runs["a"][:, kept]) - sensitivity(runs["baseline"][:, kept]), 0
        ).confidence_interval(1 - 0.05 / 2)
        for kept in grids
    ]
    assert row["ci_low"] == pytest.approx(min(found.low for found in bounds))
    assert row["ci_high"] == pytest.approx(max(found.high for found in bounds))
    assert row["verdict"] == "supported"


def test_a_grid_with_a_gap_is_incomplete():
    runs = stressed()
    runs["a"][1, 0] = math.nan
    row = on_a_grid(runs, claim("beats", metric="lr_sensitivity"))
    assert (code(row), row["n"]) == ("incomplete", 5)


def test_a_number_of_single_runs_is_a_mean_whatever_the_task_solves():
    n = 8
    numbers = {"grad_norm_max": {"baseline": 3 + rng.normal(size=n), "a": 9 + rng.normal(size=n)}}
    solved = {"baseline": np.ones(n), "a": np.zeros(n)}
    options = {"others": numbers, "stability": {"grad_norm_max": Metric("min")}, "outcome": "all_or_nothing"}
    about = claim("beats", "baseline", "a", metric="grad_norm_max")
    row = judge_claims(study(solved, claims=[about], **options)).iloc[0]
    expected = stats.ttest_rel(numbers["grad_norm_max"]["a"], numbers["grad_norm_max"]["baseline"])
    bounds = expected.confidence_interval(1 - 0.05 / 2)
    assert (row["verdict"], row["ci_low"]) == ("supported", pytest.approx(bounds.low))
    lost = judge_claims(study(solved, claims=[about], statuses={("a", 0): "diverged"}, **options)).iloc[0]
    assert code(lost) == "unstable"
    numbers["grad_norm_max"]["a"] = np.full(n, math.nan)
    assert code(judge_claims(study(solved, claims=[about], **options)).iloc[0]) == "incomplete"


@pytest.mark.parametrize("metric", ["divergence_rate", "seed_spread"])
def test_rates_and_spreads_are_of_single_variants(metric):
    values = {name: 0.8 + 0.01 * rng.normal(size=20) for name in ("baseline", "a", "b")}
    row = judge_claims(study(values, claims=[claim("beats", ["a", "b"], metric=metric)])).iloc[0]
    assert (row["verdict"], code(row)) == ("inconclusive", "several")


# Time and memory

AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])


def about(log, kind, by=0.0, noise=1.0, metric="step_seconds", **options):
    """Of A, whose log ratio to the baseline is `log`."""
    frame = speed_frame({"baseline": noise * AA, "a": log + 3 * AA}, **options)
    return judge_claims(timed(frame, claims=[claim(kind, by=by, metric=metric)])).iloc[0]


@pytest.mark.fast_cases(5)
@pytest.mark.parametrize(
    ("kind", "by", "log", "verdict"),
    [
        ("beats", 0.0, -0.05, "supported"), ("beats", 0.0, -0.019, "inconclusive"),
        ("beats", 0.0, 0.05, "refuted"), ("beats", 0.1, -math.log(1.2), "supported"),
        ("beats", 0.1, -math.log(1.05), "refuted"), ("beats", 0.1, -math.log(1.11), "inconclusive"),
        ("matches", 0.05, 0.0, "supported"), ("matches", 0.05, 0.2, "refuted"),
        ("matches", 0.01, 0.0, "inconclusive"), ("does_not_lose", 0.05, 0.01, "supported"),
        ("does_not_lose", 0.05, 0.2, "refuted"), ("does_not_lose", 0.01, -0.2, "inconclusive"),
    ],
)  # fmt: skip
def test_a_claim_of_time_has_two_percent_of_slack(kind, by, log, verdict):
    row = about(log, kind, by)
    assert row["verdict"] == verdict
    assert row["n"] == 8
    assert row["diff"] == pytest.approx(math.expm1(-log), abs=2e-3)
    assert row["ci_low"] < row["diff"] < row["ci_high"]
    assert code(row) == ("slack" if by == 0.01 else "noise" if verdict == "inconclusive" else "")


def test_what_was_not_measured():
    frame = speed_frame({"baseline": AA, "a": AA})
    one = claim("beats", metric="generation_seconds")
    assert code(judge_claims(timed(frame, claims=[one])).iloc[0]) == "unmeasured"
    few = speed_frame({"baseline": AA[:1], "a": AA[:1]})
    assert code(judge_claims(timed(few, claims=[claim("beats", metric="step_seconds")])).iloc[0]) == "few"


def test_a_claim_of_time_is_of_the_size_that_is_trained_and_waits_for_no_seeds():
    frames = [
        speed_frame({"baseline": AA, "a": AA + log}, size=size, own=size == 8)
        for size, log in ((8, 0.1), (16, -0.1))
    ]
    one = timed(*frames, claims=[claim("beats", metric="step_seconds")])
    assert judge_claims(one)["verdict"].tolist() == ["refuted"]
    same = timed(
        speed_frame({"baseline": AA, "a": AA}),
        claims=[claim("beats", metric="step_seconds")],
        values={"baseline": BASE, "a": BASE + 0.1 + WOBBLE},
    )
    looks = replace(same, facts=replace(same.facts, provenance=Planned(looks=[5, 10])))
    assert not unsettled(looks)
