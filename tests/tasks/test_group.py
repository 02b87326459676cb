"""The word problem of a group: products, their distribution, and what is known without memory."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from ablate.tasks.group import Group
from ablate.tasks.task import IGNORED


def group(**given) -> Group:
    return Group(Group.Config(name="group", **given))


@pytest.mark.parametrize(("name", "things"), [("S2", 2), ("S3", 3), ("S5", 5)])
@pytest.mark.parametrize("labels", ["prefixes", "final"])
def test_composing_the_permutations_one_by_one_is_always_right(name, things, labels):
    task = group(group=name, labels=labels, test_size=100)
    elements = list(itertools.permutations(range(things)))
    assert elements[0] == tuple(range(things))
    for batch in (task.split(3, "test", "cpu"), next(task.train_batches(3, 100, "cpu"))):
        for tokens, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
            product, products = elements[0], []
            for token in tokens:
                product = tuple(product[i] for i in elements[token])
                products.append(elements.index(product))
            first = 1 if labels == "prefixes" else 11
            assert targets == [IGNORED] * first + products[first:]


def test_S2_is_parity():
    batch = group(group="S2").examples(np.random.default_rng(0), 200)
    assert torch.equal(batch.targets[:, 1:], batch.inputs.cumsum(1)[:, 1:] % 2)


def test_elements_and_products_are_uniform_and_a_product_says_nothing_without_the_last_element():
    batch = group(seq_len=4).examples(np.random.default_rng(0), 6000)
    assert stats.chisquare(torch.bincount(batch.inputs.flatten()).numpy()).pvalue > 1e-4
    for given in (batch.inputs[:, 0], batch.inputs[:, 2], batch.targets[:, 2]):
        table = torch.bincount(6 * given + batch.targets[:, 3], minlength=36).reshape(6, 6)
        assert stats.chisquare(table.flatten().numpy()).pvalue > 1e-4


@pytest.mark.parametrize(("labels", "seq_len"), [("prefixes", 12), ("final", 12), ("prefixes", 4)])
def test_the_product_of_the_last_two_elements_is_right_as_often_as_stated(labels, seq_len):
    task = group(labels=labels, seq_len=seq_len)
    test = task.split(0, "test", "cpu")
    elements = list(itertools.permutations(range(3)))
    products = torch.tensor([[elements.index(tuple(a[i] for i in b)) for b in elements] for a in elements])
    guess = products[test.inputs.roll(1, 1), test.inputs]
    found = task.measure(torch.nn.functional.one_hot(guess, 6).float(), test)["accuracy"].mean().item()
    assert found == pytest.approx(task.constants()["without_memory"]["accuracy"], abs=0.02)


def test_a_longer_sequence_is_a_slice():
    task = group(test_size=64, slice_size=100)
    (name,) = task.slices()
    test = task.sliced(name).split(0, "test", "cpu")
    assert (name, tuple(test.inputs.shape)) == ("longer", (100, 24))
    assert ((test.targets != IGNORED).sum(1) == 23).all()
