"""A judged value that is the best of the run's own curve is told from one that training reached."""

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import LOSS, study

from ablate.analysis.chosen_values import variants_with_chosen_values
from ablate.core.metric import Metric

ACC = Metric("max")
NAMES = ("baseline", "a")


def found(curve_of, metric=ACC, runs=5, hides=()):
    """The variants that are found where each run has the curve that `curve_of` draws, and its last value counts."""
    rng = np.random.default_rng(3)
    curves = {}
    for name in NAMES:
        for seed in range(runs):
            curves[name, seed] = np.asarray(curve_of(rng, name), float)
    values = {name: [curves[name, seed][-1] for seed in range(runs)] for name in NAMES}
    evidence = study(values, metrics={"accuracy": metric}, curves=curves)
    shown = evidence.curves.assign(metric="accuracy")
    shown = shown[~shown["id"].str.startswith(tuple(hides) or ("none",))]
    return variants_with_chosen_values(replace(evidence, curves=shown), evidence.facts.tasks[0])


def noisy(rng, name):
    return rng.normal(size=20)


def with_best(best):
    def curve(rng, name):
        values = noisy(rng, name)
        return [*values, best(values)]

    return curve


def test_the_best_value_printed_at_the_end_is_found_in_either_direction():
    assert found(with_best(max)) == ["baseline", "a"]
    assert found(with_best(min), metric=LOSS) == ["baseline", "a"]
    assert found(with_best(min)) == []
    # Where the last step is replaced by it, too.
    assert found(lambda rng, name: [*(values := noisy(rng, name))[:-1], values[:-1].max()]) == [
        "baseline",
        "a",
    ]


def test_one_side_alone_is_named():
    assert found(lambda rng, name: with_best(max)(rng, name) if name == "a" else noisy(rng, name)) == ["a"]


def saturating(rng, name):
    return np.minimum(1.0, np.linspace(0.5, 1.2, 20) + 0.02 * rng.normal(size=20))


def coarse(rng, name):
    return rng.choice([0.9, 1.0], size=20, p=[0.3, 0.7])


def falls_and_reaches(rng, name):
    return [*np.linspace(0.1, 0.9, 19), 0.95]


@pytest.mark.parametrize(
    "curve", [noisy, saturating, coarse, falls_and_reaches, lambda rng, name: [0.5, 0.4, 0.5]]
)
def test_natural_ends_are_not(curve):
    assert found(curve) == []


def test_a_single_run_with_a_worse_end_and_hidden_curves_tell_nothing():
    assert found(with_best(max), runs=2) == []
    assert found(with_best(max), hides=NAMES) == []
    assert found(with_best(max), hides=["a"]) == ["baseline"]
    assert found(with_best(max), hides=["a-recall-3"]) == ["baseline"]
    ended = iter([0, 1, 0, 0, 0] * 2)
    assert found(lambda rng, name: [*(values := noisy(rng, name)), max(values) - next(ended)]) == []
