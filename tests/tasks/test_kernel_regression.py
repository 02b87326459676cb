"""Kernel regression: moments of the values, and what each estimator reaches."""

import math

import numpy as np
import pytest
import torch

from ablate.tasks.kernel_regression import VARIANCE, KernelRegression


def kernel(**given) -> KernelRegression:
    return KernelRegression(KernelRegression.Config(name="kernel_regression", **given))


def r2(task, answers, batch) -> float:
    return task.measure(torch.as_tensor(answers, dtype=torch.float32)[:, None], batch)["r2"].mean().item()


def read(batch) -> tuple[np.ndarray, np.ndarray]:
    """Reads angles (N, T), the last of them the query's, and known values (N, T − 1)."""
    cos, sin, values, known = batch.inputs.double().numpy().transpose(2, 0, 1)
    assert (known[:, :-1] == 1).all()
    assert not known[:, -1].any()
    assert not values[:, -1].any()
    assert np.allclose(cos**2 + sin**2, 1, atol=1e-6)
    return np.arctan2(sin, cos), values[:, :-1]


def covariance(x, y) -> np.ndarray:
    """Returns the covariance of f(x) and f(y) by definition: Σ cos k(x − y) / k²."""
    return sum(np.cos(k * (x - y)) / k**2 for k in (1, 2, 3))


@pytest.mark.slow
def test_values_have_the_moments_of_the_definition():
    """Covariances of the targets and of the known values, given their places."""
    batch = kernel(num_pairs=2, noise=0.5).examples(np.random.default_rng(0), 200_000)
    places, values = read(batch)
    targets = batch.targets.double().numpy()
    assert targets.var() == pytest.approx(VARIANCE, rel=0.02)
    assert values[:, 0].var() == pytest.approx(VARIANCE + 0.25, rel=0.02)
    for one, other, x, y in (
        (values[:, 0], targets, places[:, 0], places[:, 2]),
        (values[:, 0], values[:, 1], places[:, 0], places[:, 1]),
    ):
        expected = covariance(x, y)
        assert np.polyfit(expected, one * other, 1) == pytest.approx([1, 0], abs=0.03)
    assert np.histogram(places, 8, (-math.pi, math.pi))[0] / places.size == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.slow
def test_estimators_reach_what_is_stated():
    """The posterior mean of a Gaussian process, the best kernel, the mean, and always 0, each written out."""
    task = kernel(test_size=20_000)
    batch = task.split(0, "test", "cpu")
    places, values = read(batch)
    x, asked, stated = places[:, :-1], places[:, -1:], task.constants()
    gram = covariance(x[:, :, None], x[:, None]) + 0.3**2 * np.eye(x.shape[1])
    posterior = (covariance(x, asked) * np.linalg.solve(gram, values[..., None])[..., 0]).sum(1)
    assert r2(task, posterior, batch) == pytest.approx(stated["bayes"]["r2"], abs=0.003)
    assert stated["bayes"] == {name: metric.ceiling for name, metric in task.metrics.items()}

    def average(concentration: float) -> float:
        weights = np.exp(concentration * np.cos(x - asked))
        return r2(task, (weights * values).sum(1) / weights.sum(1), batch)

    best = max(map(average, 2.0 ** np.arange(-2, 9)))
    assert best == pytest.approx(stated["nadaraya_watson"]["r2"], abs=0.015)
    assert r2(task, values.mean(1), batch) == pytest.approx(stated["mean"]["r2"], abs=0.04)
    assert r2(task, np.zeros(len(batch)), batch) == pytest.approx(task.metrics["r2"].floor, abs=0.04)
    assert r2(task, batch.targets.roll(1), batch) == pytest.approx(-1, abs=0.1)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("num_pairs", "noise"), [(1, 0.01), (1, 0.3), (3, 10.0), (256, 0.01)])
def test_what_is_stated_is_in_order_for_every_config(num_pairs, noise):
    task = kernel(num_pairs=num_pairs, noise=noise, test_size=64)
    judged = task.metrics["r2"]
    assert judged.floor < judged.solved < judged.ceiling < 1
    errors = [constant["loss"] for constant in task.constants().values()]
    assert errors == sorted(errors)
    for name in task.slices():
        assert len(task.sliced(name).split(0, "test", "cpu")) == task.config.slice_size
