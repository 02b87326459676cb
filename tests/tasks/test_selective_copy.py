"""Selective copying: places and tokens, and what a solver and guessers reach."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.selective_copy import FIRST, NOISE, SLOT, SelectiveCopy
from ablate.tasks.task import IGNORED


def copying(**given) -> SelectiveCopy:
    return SelectiveCopy(SelectiveCopy.Config(name="selective_copy", **given))


def accuracy(task, answers, batch) -> float:
    logits = torch.nn.functional.one_hot(answers, task.signature.num_outputs).float()
    return task.measure(logits, batch)["accuracy"].mean().item()


def test_every_choice_of_places_and_tokens_is_as_likely():
    batch = copying(vocab_size=7, seq_len=9, num_tokens=2).examples(np.random.default_rng(0), 9000)
    tokens = batch.inputs.numpy()
    places = [tuple(np.flatnonzero(row)) for row in tokens[:, :7]]
    found = [tuple(row[list(where)]) for row, where in zip(tokens, places, strict=True)]
    assert (tokens[:, 7:] == SLOT).all()
    assert batch.targets[:, 7:].tolist() == [list(row) for row in found]
    assert (batch.targets[:, :7] == IGNORED).all()
    for drawn, possible in (
        (places, itertools.combinations(range(7), 2)),
        (found, itertools.product(range(FIRST, 7), repeat=2)),
    ):
        counts = [drawn.count(value) for value in possible]
        assert sum(counts) == 9000
        assert stats.chisquare(counts).pvalue > 1e-4


def test_a_solver_reaches_the_ceiling_and_guessers_what_is_stated():
    """One that copies; one token always; the likeliest of those shown; the answers of others."""
    task = copying(vocab_size=10, seq_len=20, num_tokens=4)
    batch = task.split(0, "test", "cpu")
    data = batch.inputs[:, :16]
    copied, shown = torch.zeros_like(batch.inputs), torch.zeros_like(batch.inputs)
    copied[:, 16:] = data[data != NOISE].view(-1, 4)
    shown[:, 16:] = copied[:, 16:].mode(1).values[:, None]
    judged = task.metrics["accuracy"]
    assert judged.floor == 1 / 8
    assert accuracy(task, copied, batch) == judged.ceiling
    assert accuracy(task, torch.full_like(copied, 5), batch) == pytest.approx(judged.floor, abs=0.01)
    assert accuracy(task, copied.roll(1, 0), batch) == pytest.approx(judged.floor, abs=0.01)
    stated = task.constants()["without_order"]["accuracy"]
    assert accuracy(task, shown, batch) == pytest.approx(stated, abs=0.01)


def test_the_longer_slice_has_as_many_tokens():
    sliced = copying().sliced("longer").split(0, "test", "cpu")
    assert sliced.inputs.shape[1] == 64
    assert ((sliced.targets != IGNORED).sum(1) == 8).all()
