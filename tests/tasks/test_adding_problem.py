"""The adding problem: which places are marked, what a solver and guessers reach, and the slices."""

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.adding_problem import AddingProblem


def adding(**given) -> AddingProblem:
    return AddingProblem(AddingProblem.Config(name="adding_problem", **given))


def means(task, answers, batch) -> dict[str, float]:
    measured = task.measure(torch.as_tensor(answers, dtype=torch.float32)[:, None], batch)
    return task.summarise({name: values.numpy() for name, values in measured.items()})


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("given", "distances"),
    [
        ({}, range(1, 8)),
        ({"distance": "near"}, [1, 2]),
        ({"distance": "far"}, [6, 7]),
    ],
)
def test_every_pair_of_places_at_an_allowed_distance_is_as_likely(given, distances):
    batch = adding(seq_len=8, **given).examples(np.random.default_rng(0), 20_000)
    marked = [tuple(row.nonzero()[0]) for row in batch.inputs[..., 1].numpy()]
    possible = [(i, i + d) for d in distances for i in range(8 - d)]
    counts = [marked.count(pair) for pair in possible]
    assert sum(counts) == len(marked)
    assert len(counts) == 1 or stats.chisquare(counts).pvalue > 1e-4
    assert stats.kstest(batch.inputs[..., 0].flatten()[::7], "uniform").pvalue > 1e-4


def test_a_solver_reaches_the_ceiling_and_guessers_what_is_stated():
    """One that adds what is marked; always 1; twice the mean of all values; the answers of others."""
    task = adding(test_size=40_000)
    batch = task.split(0, "test", "cpu")
    values, markers = batch.inputs.double().unbind(-1)
    assert means(task, (values * markers).sum(1), batch) == pytest.approx(
        {name: metric.ceiling for name, metric in task.metrics.items()}, abs=1e-6
    )
    chance = {name: metric.floor for name, metric in task.metrics.items()}
    assert chance == pytest.approx({"accuracy": 0.0784, "r2": 0, "loss": 1 / 6})
    assert means(task, torch.ones(len(batch)), batch) == pytest.approx(chance, abs=0.006)
    assert means(task, 2 * values.mean(1), batch)["loss"] == pytest.approx((1 - 2 / 16) / 6, rel=0.03)
    assert means(task, batch.targets.roll(1), batch)["r2"] == pytest.approx(-1, abs=0.05)


@pytest.mark.parametrize("seq_len", [2, 3, 4, 5, 16])
def test_slices_are_near_and_far(seq_len):
    task = adding(seq_len=seq_len, test_size=64)
    assert set(task.slices()) == {"near", "far"}
    for name, least, most in (
        ("near", 1, max(1, seq_len // 4)),
        ("far", seq_len - max(1, seq_len // 4), seq_len),
    ):
        first, last = task.sliced(name).split(0, "test", "cpu").inputs[..., 1].nonzero()[:, 1].view(-1, 2).T
        assert ((last - first >= least) & (last - first <= most)).all()
