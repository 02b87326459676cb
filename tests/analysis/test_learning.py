import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study

from ablate.analysis.compare import compare
from ablate.analysis.learning import baseline_learned, convergence
from ablate.analysis.noise import noise
from ablate.core.metric import Metric, Sampling


def curves_of(shape, metric="accuracy", facts=ACCURACY, runs=4, points=30, noise=0.002):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, points)
    curves = {("baseline", i): shape(x) + noise * rng.standard_normal(points) for i in range(runs)}
    evidence = study({"baseline": [0.95] * runs}, metric=metric, metrics={metric: facts}, curves=curves)
    return convergence(evidence).iloc[0]


def test_a_curve_that_still_rises_is_not_converged():
    row = curves_of(lambda x: 0.9 * x)
    assert (row["n"], row["improving"]) == (4, True)
    # A tenth of 30 evaluations is 3, so the two means lie three steps of 0.9 / 29 apart.
    assert row["gain"] == pytest.approx(3 * 0.9 / 29, abs=0.005)


@pytest.mark.parametrize(
    "shape", [lambda x: np.minimum(0.95, 2 * x), lambda x: 0.9 - 0.3 * x, lambda x: 0 * x]
)
def test_a_flat_or_falling_curve_is_converged(shape):
    assert not curves_of(shape)["improving"]


def test_a_loss_improves_by_falling():
    assert curves_of(lambda x: 2 - x, "loss", LOSS)["improving"]
    assert not curves_of(lambda x: 2 + x, "loss", LOSS)["improving"]


def test_gains_below_the_resolution_or_the_seed_noise_do_not_count():
    coarse = Metric("max", resolution=0.2)
    assert not curves_of(lambda x: 0.9 * x, facts=coarse)["improving"]
    assert not curves_of(lambda x: 0.1 * x, noise=0.2)["improving"]


def test_short_curves_and_few_runs_cannot_tell():
    two = curves_of(lambda x: x, points=2)
    assert (two["n"], two["improving"]) == (4, True)
    assert curves_of(lambda x: x, points=1)["n"] == 0
    one = curves_of(lambda x: x, runs=1)
    assert (one["n"], one["improving"]) == (1, False)


def test_only_completed_runs_count():
    curves = {("baseline", i): np.linspace(0, 1, 20) for i in range(3)}
    evidence = study({"baseline": [0.9] * 3}, curves=curves, statuses={("baseline", 0): "diverged"})
    assert list(convergence(evidence)["n"]) == [2]


def test_a_baseline_learns_a_graded_task_by_being_better_than_guessing():
    # Guessing over 1,000 examples reaches 0.1 + 3 · 0.0095.
    assert baseline_learned(study({"baseline": [0.12, 0.128]}))[0].ok is False
    assert baseline_learned(study({"baseline": [0.12, 0.129]}))[0].ok is True
    found = baseline_learned(study({"baseline": [0.12, 0.5]}, statuses={("baseline", 1): "diverged"}))[0]
    assert (found.ok, found.mean, found.solved) == (False, pytest.approx(0.11), None)


@pytest.mark.parametrize(("values", "learned"), [([0.95, 0.99], True), ([0.95, 0.5], False)])
def test_and_an_all_or_nothing_task_by_solving_it_on_every_seed(values, learned):
    (found,) = baseline_learned(study({"baseline": values}, outcome="all_or_nothing"))
    assert (found.task, found.ok, found.solved) == ("recall", learned, (1 + learned, 2))


def test_the_noise_floor_is_the_spread_of_the_baseline_and_what_of_it_is_the_test_set():
    rng = np.random.default_rng(1)
    examples = {name: rng.random((6, 40)) for name in ("baseline", "a", "b", "again")}
    values = {name: of.mean(axis=1) for name, of in examples.items()}
    evidence = study(
        values, placebos=["again"], sampling=Sampling("held_out", test=40, train=1000), examples=examples
    )
    rows = compare(evidence)
    found, of = noise(evidence, rows).iloc[0], examples["baseline"]
    assert tuple(found[["task", "metric", "n", "diverged"]]) == ("recall", "accuracy", 6, 0)
    assert found["sd"] == pytest.approx(values["baseline"].std(ddof=1))
    rest = of - of.mean(axis=0) - of.mean(axis=1, keepdims=True) + of.mean()
    share = (rest**2).sum() / (5 * 39) / 40 / found["sd"] ** 2
    assert found["test_share"] == pytest.approx(min(1, share))
    assert found["placebo_diff"] == pytest.approx((values["again"] - values["baseline"]).mean())
    sizes = rows.loc[~rows["exploratory"], "mde"]
    assert tuple(found[["mde", "mde_low", "mde_high"]]) == pytest.approx(
        (sizes.median(), sizes.min(), sizes.max())
    )
    assert np.isnan(noise(study(values), compare(study(values))).iloc[0]["test_share"])
