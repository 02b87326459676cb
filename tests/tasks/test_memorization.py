"""Memorization: facts of a seed, the same in every part of the data."""

import numpy as np
import pytest
import torch

from ablate.tasks.memorization import SLOT, Memorization
from ablate.tasks.task import IGNORED


def memorization(**given) -> Memorization:
    return Memorization(Memorization.Config(name="memorization", **given))


def facts(batch) -> dict[int, int]:
    """Reads the value of each key from the sequences; no key may have two."""
    keys, slots = batch.inputs[:, ::2].flatten().tolist(), batch.inputs[:, 1::2]
    assert (slots == SLOT).all()
    assert (batch.targets[:, ::2] == IGNORED).all()
    found = set(zip(keys, batch.targets[:, 1::2].flatten().tolist(), strict=True))
    assert len(found) == len(dict(found))
    return dict(found)


def test_facts_are_of_the_seed_and_the_same_in_training_test_and_slices():
    task = memorization(num_facts=48, num_values=4)
    known = facts(task.split(3, "test", "cpu"))
    assert sorted(known) == list(range(1, 49))
    assert np.bincount([*known.values()]).tolist() == [12] * 4
    assert facts(next(task.train_batches(3, 2000, "cpu"))) == known
    assert facts(task.split(3, "validation", "cpu")) == known
    assert facts(task.sliced("longer").split(3, "test", "cpu")) == known
    other = facts(task.split(4, "test", "cpu"))
    assert np.mean([other[key] == value for key, value in known.items()]) < 0.6


def test_one_who_knows_the_facts_reaches_the_ceiling_and_one_who_does_not_chance():
    task = memorization(num_facts=48, num_values=4)
    batch = task.split(3, "test", "cpu")
    known = torch.tensor([0, *dict(sorted(facts(batch).items())).values()])
    answers = known[batch.inputs.roll(1, 1)]
    for given, expected, tolerance in (
        (answers, task.metrics["accuracy"].ceiling, 0),
        (torch.ones_like(answers), task.metrics["accuracy"].floor, 0.01),
        (answers.roll(1, 0), task.metrics["accuracy"].floor, 0.01),
    ):
        logits = torch.nn.functional.one_hot(given, 4).float()
        assert task.measure(logits, batch)["accuracy"].mean().item() == pytest.approx(expected, abs=tolerance)
