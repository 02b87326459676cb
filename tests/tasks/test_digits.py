"""Handwritten digits: the images, what a position holds, and the splits."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn import datasets

from ablate.core.metric import Sampling
from ablate.tasks.digits import Digits, load_digits

SPLITS = pytest.mark.parametrize("split", ["held_out", "per_seed", "fixed"])


def digits(**config) -> Digits:
    return Digits(Digits.Config(**config))


def test_the_data_are_those_of_scikit_learn():
    images, labels = load_digits()
    reference = datasets.load_digits()
    assert np.array_equal(images, reference.images)
    assert np.array_equal(labels, reference.target)


@pytest.mark.slow
def test_scikit_learn_itself_is_not_imported():
    code = (
        "import sys; from ablate.tasks import digits; digits.load_digits(); print('sklearn' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


@pytest.mark.parametrize(
    ("config", "height", "width"),
    [
        ({"representation": "rows"}, 1, 8),
        ({"representation": "pixels"}, 1, 1),
        ({"representation": "patches", "patch_size": 2}, 2, 2),
        ({"representation": "patches", "patch_size": 4}, 4, 4),
    ],
)
def test_a_position_holds_its_part_of_the_image(config, height, width):
    task = digits(**config)
    batch, places = task.split(0, "test", "cpu"), task.indices(0)["test"]
    images = load_digits()[0][places] / 16
    corners = itertools.product(range(0, 8, height), range(0, 8, width))
    parts = [images[:, i : i + height, j : j + width].reshape(300, -1) for i, j in corners]
    assert batch.inputs.dtype == torch.float32
    assert batch.inputs.shape == (300, task.signature.seq_len, task.signature.num_features)
    assert np.array_equal(batch.inputs.numpy(), np.stack(parts, 1))
    assert batch.targets.tolist() == load_digits()[1][places].tolist()


@SPLITS
@pytest.mark.parametrize("sizes", [(1197, 300, 300), (100, 200, 400), (30, 300, 300)])
@pytest.mark.parametrize("seed", [0, 2])
def test_splits_are_disjoint_and_stratified(sizes, split, seed):
    task = digits(
        **dict(zip(("train_size", "validation_size", "test_size"), sizes, strict=True)), split=split
    )
    indices = task.indices(seed)
    assert tuple(len(indices[name]) for name in ("train", "validation", "test")) == sizes
    together = np.concatenate(list(indices.values()))
    assert len(np.unique(together)) == len(together)
    labels = load_digits()[1]
    for index in indices.values():
        counts = np.bincount(labels[index], minlength=10)
        assert np.abs(counts - np.bincount(labels) / len(labels) * len(index)).max() <= 2


def test_every_seed_has_the_same_test_images_and_trains_on_none_of_them():
    """Tuning seeds included, which count from 10000."""
    task = digits(train_size=700, validation_size=300, test_size=797)
    test = task.indices(0)["test"]
    others = [task.indices(seed) for seed in (*range(30), *range(10_000, 10_010))]
    for indices in others:
        assert np.array_equal(indices["test"], test)
        assert not set(test) & {*indices["train"], *indices["validation"]}
    for name in ("train", "validation"):
        assert len({tuple(sorted(indices[name])) for indices in others}) == len(others)


@SPLITS
def test_the_splits_of_every_seed_are_its_own_or_the_same(split):
    task = digits(split=split)
    if split == "per_seed":
        assert set(task.digests(0).values()).isdisjoint(task.digests(1).values())
        assert task.sampling == Sampling("resplit", 300, 1197, 300)
    else:
        assert (task.digests(0) == task.digests(1)) == (split == "fixed")
        assert task.digests(0)["test"] == digits().digests(5)["test"]
        assert task.sampling == Sampling("held_out", 300, 1197, 300)
    orders = [next(task.train_batches(seed, 64, "cpu")).targets for seed in (0, 1)]
    assert not torch.equal(*orders)
    small, large = digits(train_size=50, split=split).indices(3), task.indices(3)
    assert np.array_equal(small["train"], large["train"][:50])
    assert all(np.array_equal(small[name], large[name]) for name in ("test", "validation"))


@pytest.mark.parametrize(("train_size", "batch_size"), [(100, 20), (70, 32), (30, 30)])
def test_every_example_comes_once_an_epoch(train_size, batch_size):
    task = digits(train_size=train_size)
    batches = list(itertools.islice(task.train_batches(0, batch_size, "cpu"), 3 * 70))
    assert {len(batch) for batch in batches} == {batch_size}
    images, labels = (array[task.indices(0)["train"]] for array in load_digits())
    expected = [(*image.flatten() / 16, label) for image, label in zip(images, labels, strict=True)]
    found = [
        (*image.flatten().tolist(), label)
        for batch in batches
        for image, label in zip(batch.inputs, batch.targets.tolist(), strict=True)
    ]
    epochs = [found[start : start + train_size] for start in range(0, 3 * train_size, train_size)]
    assert all(sorted(epoch) == sorted(expected) for epoch in epochs)
    assert epochs[0] != epochs[1]
