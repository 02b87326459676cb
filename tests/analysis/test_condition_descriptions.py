"""The descriptions over conditions, against scipy and a count of all pairs."""

import numpy as np
import pytest
from made_evidence import study
from scipy import stats

from ablate.analysis.condition_descriptions import (
    LEAST_DESCRIBED,
    chance_of_better,
    describe_over_conditions,
    differences_of_runs,
    interquartile_mean,
)
from ablate.analysis.conditions import Condition
from ablate.analysis.runs import runs_of
from ablate.analysis.unpaired import Unpaired
from ablate.core.metric import Metric

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 130])
def test_the_interquartile_mean_is_that_of_scipy(count):
    values = RNG.standard_cauchy(count)
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25), rel=1e-12)


def test_a_tie_counts_one_half():
    assert chance_of_better([np.array([1.0, 0.0, -1.0, 2.0])]) == 0.625
    assert chance_of_better([np.array([1.0, 1.0]), np.array([-1.0])]) == 0.5, "conditions count alike"


def test_unpaired_runs_are_compared_with_each_other_as_by_mann_and_whitney():
    ours = RNG.integers(0, 5, 6) / 7
    others = RNG.integers(0, 5, 4) / 7
    differences = Unpaired.of_runs(ours, others, 0.0, known=False)
    condition = Condition("c", differences, "score", Metric("max"))
    expected = stats.mannwhitneyu(ours, others).statistic / 24
    assert chance_of_better([differences_of_runs(condition)]) == pytest.approx(expected)


def games(count, direction="max"):
    metrics = {f"game{i}": {"score": Metric(direction)} for i in range(count)}
    shift = {name: 0.1 * i for i, name in enumerate(metrics)}
    sign = 1 if direction == "max" else -1
    values = {"baseline": dict.fromkeys(metrics, np.arange(4.0))}
    values["a"] = {name: np.arange(4.0) + sign * (shift[name] - 0.15) for name in metrics}
    return study(values, metric="score", tasks=metrics)


@pytest.mark.parametrize("direction", ["max", "min"])
def test_a_study_is_described_from_five_conditions_on_and_better_is_above_0(direction):
    (described,) = describe_over_conditions(runs_of(games(6, direction))).values()
    differences = np.repeat(0.1 * np.arange(6) - 0.15, 4)
    assert described.interquartile_mean == pytest.approx(stats.trim_mean(differences, 0.25))
    assert described.chance_of_better == pytest.approx(4 / 6)
    assert describe_over_conditions(runs_of(games(LEAST_DESCRIBED - 1))) == {}
