"""Induction: the token after the marker, its place, and the slices."""

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.induction import MARKER, Induction


def induction(**given) -> Induction:
    return Induction(Induction.Config(name="induction", **given))


def where(inputs: torch.Tensor) -> torch.Tensor:
    """Returns the place of each example's first marker, (B)."""
    return (inputs == MARKER).int().argmax(1)


@pytest.mark.parametrize("sizes", [{}, {"vocab_size": 5, "seq_len": 7}, {"distance": "near"}], ids=str)
def test_the_token_after_the_first_marker_is_always_right(sizes):
    task = induction(test_size=200, **sizes)
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 200, "cpu"))):
        for tokens, target in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            assert tokens.count(MARKER) == 2
            assert tokens[-1] == MARKER
            assert tokens[tokens.index(MARKER) + 1] == target != MARKER


@pytest.mark.parametrize(
    ("distance", "places"), [("any", range(10)), ("near", range(8, 10)), ("far", range(2))]
)
def test_places_and_tokens_are_uniform(distance, places):
    task = induction(vocab_size=5, seq_len=12, distance=distance)
    batch = task.examples(np.random.default_rng(0), 4000)
    found = where(batch.inputs)
    assert set(found.tolist()) == set(places)
    assert stats.chisquare(torch.bincount(found)[places.start :].numpy()).pvalue > 1e-4
    tokens = batch.inputs[batch.inputs != MARKER]
    for drawn in (tokens, batch.targets):
        assert stats.chisquare(torch.bincount(drawn)[1:].numpy()).pvalue > 1e-4
    together = torch.zeros(len(places), 4)
    together.index_put_((found - places.start, batch.targets - 1), torch.ones(len(found)), accumulate=True)
    assert stats.chi2_contingency(together.numpy()).pvalue > 1e-4


@pytest.mark.parametrize("sizes", [{}, {"vocab_size": 4, "seq_len": 9}])
def test_the_token_that_is_shown_most_often_is_right_as_often_as_stated(sizes):
    task = induction(**sizes)
    test = task.split(0, "test", "cpu")
    counts = torch.nn.functional.one_hot(test.inputs, task.signature.num_outputs).sum(1).float()
    counts[:, MARKER] = 0
    found = task.measure(counts, test)["accuracy"].mean().item()
    assert found == pytest.approx(task.constants()["without_order"]["accuracy"], abs=0.02)


def test_slices_are_by_distance_and_length_where_they_can_be_drawn():
    task = induction(test_size=64, slice_size=100)
    found = {name: task.sliced(name).split(0, "test", "cpu").inputs for name in task.slices()}
    assert {name: tuple(inputs.shape) for name, inputs in found.items()} == {
        "near": (100, 32),
        "far": (100, 32),
        "longer": (100, 64),
    }
    assert where(found["near"]).min() >= 23 > 6 >= where(found["far"]).max()
    assert list(induction(vocab_size=3, seq_len=9).slices()) == ["longer"]
