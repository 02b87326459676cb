"""The task `mnist1d`: its training set, its order of positions, and what every seed draws anew."""

import itertools

import numpy as np
import pytest
import torch

from ablate.core.metric import Sampling
from ablate.tasks.mnist1d import MNIST1D

SMALL = {"validation_size": 64, "test_size": 128}


def mnist1d(**given) -> MNIST1D:
    return MNIST1D(MNIST1D.Config(**{**SMALL, "train_size": 50, **given}))


def rows(batches) -> list[tuple[float, ...]]:
    return [tuple(row) for batch in batches for row in batch.inputs.flatten(1).tolist()]


def trained(task: MNIST1D, seed: int, count: int) -> list[tuple[float, ...]]:
    """Returns the first training examples of a seed, in batches of ten."""
    return rows(itertools.islice(task.train_batches(seed, 10, "cpu"), count // 10))


def test_every_training_example_comes_once_an_epoch():
    found = trained(mnist1d(), 0, 150)
    epochs = [found[start : start + 50] for start in (0, 50, 100)]
    assert len(set(epochs[0])) == 50
    assert set(epochs[0]) == set(epochs[1]) == set(epochs[2])
    assert epochs[0] != epochs[1]


def test_a_smaller_training_set_is_the_beginning_of_a_larger_one():
    assert set(trained(mnist1d(train_size=20), 3, 20)) < set(trained(mnist1d(), 3, 50))


def test_every_batch_is_new_without_a_size_of_the_training_set():
    task = mnist1d(train_size=None)
    assert len(set(trained(task, 0, 9000))) == 9000
    assert set(trained(mnist1d(), 0, 50)) == set(trained(task, 0, 50))
    assert set(task.digests(0)) == {"validation", "test"}


def test_every_seed_draws_all_of_its_data_anew():
    task = mnist1d()
    assert task.sampling == Sampling("fresh", 128, 50, 64)
    assert set(task.digests(0)) == {"train", "validation", "test"}
    assert set(task.digests(0).values()).isdisjoint(task.digests(1).values())
    assert set(trained(task, 0, 50)).isdisjoint(trained(task, 1, 50))


@pytest.mark.parametrize("seed", [0, 1])
def test_shuffled_positions_are_the_same_examples_in_one_order(seed):
    ordered = mnist1d()
    shuffled = mnist1d(shuffled=True)
    before = ordered.split(seed, "test", "cpu")
    after = shuffled.split(seed, "test", "cpu")
    places = [before.inputs[0].flatten().tolist().index(point) for point in after.inputs[0].flatten()]
    assert sorted(places) == list(range(40))
    assert places != sorted(places)
    assert torch.equal(after.inputs, before.inputs[:, places])
    assert torch.equal(after.targets, before.targets)
    in_place = {tuple(np.array(row)[places]) for row in trained(ordered, seed, 50)}
    assert in_place == set(trained(shuffled, seed, 50))


def test_every_seed_has_an_order_of_its_own():
    task = mnist1d(shuffled=True, train_size=None)
    orders = []
    for seed in (0, 1):
        signal = next(task.train_batches(seed, 1, "cpu")).inputs[0, :, 0]
        plain = next(mnist1d(train_size=None).train_batches(seed, 1, "cpu")).inputs[0, :, 0]
        orders.append(plain.argsort()[signal.argsort().argsort()].tolist())
    assert orders[0] != orders[1]
