"""What planned seeds can tell, against published values, other ways to compute it, and simulated studies."""

import math

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study
from scipy import stats

from ablate.analysis.compare import compare
from ablate.analysis.estimates import detectable_failure_rate, rate_p, seeds_for_failure_rate
from ablate.analysis.family import Pair
from ablate.analysis.paired import MeanSquares
from ablate.analysis.power import ALPHA
from ablate.analysis.prospects import Terms, outlook
from ablate.core.facts import TaskFacts
from ablate.core.metric import Sampling

OF_ONE = np.array([-1.5, -0.5, 0.5, 1.5]) / np.sqrt(5 / 3)
"""Four differences whose standard deviation is 1."""


def ahead(evidence, n, *, m=1, **more):
    task = TaskFacts("recall", {"loss": LOSS}) if evidence is None else evidence.facts.tasks[0]
    pair = Pair("a", "baseline", a=("a",), b=("baseline",), tasks=(task,))
    return outlook(task, next(iter(task.metrics)), [pair], evidence, Terms(n, ALPHA / m, **more))


def one(evidence, n, **more):
    (found,) = ahead(evidence, n, **more).prospects
    return found


def of_loss(differences, **more):
    values = {"baseline": 2.0 + np.zeros(len(differences)), "a": 2.0 + differences}
    return study(values, metric="loss", metrics={"loss": LOSS}, **more)


def test_the_published_effects_are_detected_and_take_the_published_seeds():
    evidence = of_loss(OF_ONE)
    for n, effect in ((3, 3.27), (5, 1.69), (8, 1.16), (10, 1.00), (15, 0.78), (20, 0.67)):
        found = one(evidence, n)
        assert found.spread == pytest.approx(1)
        assert effect - 0.01 < (found.detectable or 0) <= effect  # the table rounds up
        assert ahead(None, n).effect == pytest.approx(found.detectable)
        assert one(evidence, n, detect=found.detectable).seeds == n
    assert one(evidence, 5, m=10).detectable == pytest.approx(3.16, abs=0.01)
    for margin, n in ((0.5, 44), (0.75, 21), (1.0, 13), (1.5, 7), (2.0, 5)):
        found = one(evidence, n, margin=margin)
        assert found.equivalent_seeds == n
        assert found.equivalent is not None
        assert 0.8 <= found.equivalent < 0.95


def test_simulated_studies_find_what_they_can_detect_four_times_of_five():
    n, m, rng = 6, 4, np.random.default_rng(0)
    found = one(of_loss(OF_ONE), n, m=m, margin=2.5)
    assert found.detectable is not None
    draws = rng.normal(found.detectable, 1, (20_000, n))
    assert np.mean(stats.ttest_1samp(draws, 0, axis=1).pvalue <= ALPHA / m) == pytest.approx(0.8, abs=0.01)
    equal = draws - found.detectable
    sides = [
        stats.ttest_1samp(equal, s * 2.5, axis=1, alternative=a).pvalue
        for s, a in ((-1, "greater"), (1, "less"))
    ]
    assert np.mean(np.maximum(*sides) <= ALPHA / m / 2) == pytest.approx(found.equivalent, abs=0.012)


def test_as_many_seeds_as_are_known_detect_what_their_report_says(rng):
    seeds, examples = 5, 40
    shared = (
        rng.normal(0.1, 0.2, (1, examples))
        + rng.normal(0, 0.05, (seeds, 1))
        + rng.normal(0, 0.1, (seeds, examples))
    )
    base = rng.normal(0.5, 0.01, (seeds, examples))
    by_example = {"baseline": base, "a": base + shared}
    evidence = study(
        {name: rows.mean(axis=1) for name, rows in by_example.items()},
        metric="loss",
        metrics={"loss": LOSS},
        sampling=Sampling("held_out", examples),
        examples=by_example,
    )
    found, row = one(evidence, seeds), compare(evidence).iloc[0]
    assert found.detectable == row["mde"]
    squares = MeanSquares.of(shared, 0.0)
    variance = squares.error.se**2
    of_seeds = (squares.seeds - squares.rest) / (seeds * examples)
    assert found.test_share == pytest.approx(1 - of_seeds / variance)
    assert found.seeds_with_more < seeds
    # The examples alone leave σ_example/√N, with N − 1 degrees of freedom.
    sd = math.sqrt(MeanSquares.of(shared, 0.0).by_example)
    least = sd / math.sqrt(examples) * (stats.t.ppf(0.975, examples - 1) + stats.t.ppf(0.8, examples - 1))
    few, many = (one(evidence, seeds, detect=least * share) for share in (0.9, 1.3))
    assert (few.seeds, few.why) == (math.inf, "examples")
    assert (many.why, many.seeds == math.inf) == ("", False)


@pytest.fixture
def rng():
    return np.random.default_rng(14)


def test_the_larger_difference_takes_no_more_seeds_and_more_seeds_detect_less():
    evidence = of_loss(OF_ONE)
    seeds = [one(evidence, 5, detect=size).seeds for size in (0.05, 0.1, 0.5, 1, 2)]
    assert seeds[0] == math.inf
    assert one(evidence, 5, detect=0.05).why == "open seeds=1001"
    assert seeds == sorted(seeds, reverse=True)
    sizes = [one(evidence, n).detectable for n in (2, 3, 5, 20, 500)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("differences", "statuses", "reason"),
    [
        ([0.1, 0.3], {}, "few n=2 least=3"),
        ([np.nan, np.nan], {}, "pairs"),
        ([0.0, 0.0, 0.0], {}, "degenerate n=3"),
        ([0.5, 0.5, 0.5], {}, "degenerate n=3"),
        ([0.1, 0.2, 0.4, np.nan], {("a", 3): "failed"}, ""),
        ([0.1, 0.2, 0.4, np.nan], {("a", 3): "diverged"}, "unstable diverged=1"),
    ],
)
def test_what_gives_no_spread_has_a_reason(differences, statuses, reason):
    found = one(of_loss(np.array(differences), statuses=statuses), 5, margin=0.1, detect=0.1)
    assert found.why == reason
    assert (found.spread is None) == (not statuses) == (found.detectable is None) == (found.seeds is None)
    assert not any(isinstance(value, float) and math.isnan(value) for value in vars(found).values())


def test_a_diverged_run_counts_with_the_floor_and_one_seed_detects_nothing():
    values = {"baseline": [0.9, 0.91, 0.89], "a": [0.9, 0.9, np.nan]}
    evidence = study(values, statuses={("a", 2): "diverged"})
    found = one(evidence, 3)
    assert found.pairs == 3
    assert found.spread == pytest.approx(np.std([0, 0.01, 0.79], ddof=1))
    assert found.why == "unstable diverged=1"
    assert found.detectable == math.inf
    assert one(evidence, 1, detect=0.1).detectable is None
    assert ahead(evidence, 1).effect is None


def test_an_all_or_nothing_task_is_planned_by_its_failure_rate():
    solved = study({"baseline": [1.0, 1.0, 0.2], "a": [1.0, 1.0, 1.0]}, outcome="all_or_nothing")
    found = ahead(solved, 8, m=2, margin=0.09, detect=0.45)
    assert found.by_rate
    assert not found.prospects
    assert found.failure_rate == detectable_failure_rate(8, ALPHA / 2)
    # (1 − π)^n ≤ 0.05/4 at π = 0.09/(2·0.9)
    assert found.equivalent_seeds == math.ceil(math.log(0.0125) / math.log(0.95))
    assert found.seeds == seeds_for_failure_rate(0.5, ALPHA / 2)
    assert ahead(solved, 2).failure_rate is None
    assert ACCURACY.span == 0.9


@pytest.mark.parametrize("share", [0.9, 0.6, 0.4, 0.25])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_seeds_for_a_failure_rate_are_the_fewest_by_enumeration(share, alpha):
    def power(n):
        counts = np.arange(n + 1)
        significant = [c > 0 and rate_p(0, int(c), n) <= alpha for c in counts]
        return float(stats.binom.pmf(counts, n, share)[significant].sum())

    found = int(seeds_for_failure_rate(share, alpha))
    assert power(found) >= 0.8 - 1e-9
    assert all(power(n) < 0.8 for n in range(2, found))


def test_no_equivalence_is_promised_of_runs_that_fall_into_groups():
    values = {"baseline": [0.9, 0.91, 0.92, 0.9], "a": [0.9, 0.92, 0.5, 0.91]}
    found = one(study(values), 8, margin=0.3)
    assert found.why == "groups"
    assert (found.equivalent, found.equivalent_seeds) == (None, None)
    assert one(study(values | {"a": [0.9, 0.92, 0.8, 0.91]}), 8, margin=0.3).equivalent is not None
