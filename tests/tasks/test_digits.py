import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from refused import refused
from sklearn import datasets

from ablate.core.metric import Sampling
from ablate.tasks.digits import Digits, load_digits


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
    ("config", "cell"),
    [
        ({"representation": "rows"}, (1, 8)),
        ({"representation": "pixels"}, (1, 1)),
        ({"representation": "patches", "patch_size": 2}, (2, 2)),
        ({"representation": "patches", "patch_size": 4}, (4, 4)),
    ],
)
def test_a_position_holds_its_part_of_the_image(config, cell):
    task = digits(**config)
    batch = task.split(0, "test", "cpu")
    height, width = cell
    assert batch.inputs.dtype == torch.float32
    assert batch.inputs.shape == (300, task.signature.seq_len, task.signature.num_features)
    images = load_digits()[0][task.indices(0)["test"]]
    for n in (0, 17, 299):
        position = 0
        for row in range(0, 8, height):
            for column in range(0, 8, width):
                part = images[n, row : row + height, column : column + width].reshape(-1) / 16
                assert batch.inputs[n, position].tolist() == part.tolist()
                position += 1
        assert position == task.signature.seq_len
    assert batch.targets.tolist() == load_digits()[1][task.indices(0)["test"]].tolist()


@pytest.mark.parametrize(
    "sizes", [{}, {"train_size": 100, "validation_size": 200, "test_size": 400}, {"train_size": 30}]
)
@pytest.mark.parametrize("split", ["held_out", "per_seed", "fixed"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_splits_are_disjoint_and_stratified(sizes, split, seed):
    task = digits(**sizes, split=split)
    indices = task.indices(seed)
    assert {name: len(index) for name, index in indices.items()} == {
        "train": task.config.train_size,
        "validation": task.config.validation_size,
        "test": task.config.test_size,
    }
    together = np.concatenate(list(indices.values()))
    assert len(np.unique(together)) == len(together)
    labels = load_digits()[1]
    share = np.bincount(labels) / len(labels)
    for index in indices.values():
        counts = np.bincount(labels[index], minlength=10)
        assert np.abs(counts - share * len(index)).max() <= 2


def test_every_seed_has_the_same_test_images_and_trains_on_none_of_them():
    """Tuning seeds included, which count from 10000."""
    task = digits(train_size=700, validation_size=300, test_size=797)
    test = task.indices(0)["test"]
    others = [task.indices(seed) for seed in (*range(30), *range(10_000, 10_010))]
    for indices in others:
        assert np.array_equal(indices["test"], test)
        assert not set(test) & {*indices["train"], *indices["validation"]}
    for name in ("train", "validation"):
        assert len({tuple(indices[name]) for indices in others}) == len(others)
    assert task.sampling == Sampling("held_out", 797, 700)
    assert task.coverage(10**6) == 0.0


@pytest.mark.parametrize("split", ["per_seed", "fixed"])
def test_the_splits_of_every_seed_are_its_own_or_the_same(split):
    task = digits(split=split)
    assert task.digests(0) == task.digests(0)
    if split == "per_seed":
        assert set(task.digests(0).values()).isdisjoint(task.digests(1).values())
        assert task.sampling == Sampling("resplit", 300, 1197)
    else:
        assert task.digests(0) == task.digests(1)
        assert task.digests(0)["test"] == digits().digests(5)["test"]
        assert task.sampling == Sampling("held_out", 300, 1197)
    orders = [next(task.train_batches(seed, 64, "cpu")).targets for seed in (0, 1)]
    assert not torch.equal(*orders)


@pytest.mark.parametrize("split", ["held_out", "per_seed", "fixed"])
def test_less_training_data_is_the_first_of_more_and_leaves_other_splits_alone(split):
    small, large = digits(train_size=50, split=split).indices(3), digits(split=split).indices(3)
    assert np.array_equal(small["train"], large["train"][:50])
    assert np.array_equal(small["test"], large["test"])
    assert np.array_equal(small["validation"], large["validation"])


@pytest.mark.parametrize(("train_size", "batch_size"), [(100, 20), (70, 32), (30, 64)])
def test_every_example_comes_once_an_epoch(train_size, batch_size):
    task = digits(train_size=train_size)
    batches = list(itertools.islice(task.train_batches(0, batch_size, "cpu"), 3 * 70))
    assert {len(batch) for batch in batches} == {batch_size}
    inputs = torch.cat([batch.inputs for batch in batches]).flatten(1)
    targets = torch.cat([batch.targets for batch in batches])
    images, labels = (array[task.indices(0)["train"]] for array in load_digits())
    train = images.reshape(train_size, 64)
    expected = sorted((train / 16).tolist())
    epochs = [inputs[start : start + train_size] for start in range(0, 3 * train_size, train_size)]
    for epoch in epochs:
        assert sorted(epoch.tolist()) == expected
    assert not torch.equal(epochs[0], epochs[1])
    label_of = dict(zip(map(tuple, (train / 16).tolist()), labels.tolist(), strict=True))
    assert targets.tolist() == [label_of[tuple(image)] for image in inputs.tolist()]


def test_what_is_known_in_advance():
    task = digits(test_size=200)
    accuracy = task.metrics["accuracy"]
    known = accuracy.resolution, accuracy.floor, accuracy.ceiling, accuracy.solved
    assert known == (1 / 200, 0.1, 1.0, 0.98)
    assert task.chance_loss == pytest.approx(np.log(10))
    assert (task.signature.num_outputs, task.signature.vocab_size) == (10, None)
    assert task.signature.readout == "mean"


@pytest.mark.parametrize(
    ("config", "problems"),
    [
        ({"representation": "patches"}, {"patch_size": (None, "2, 4")}),
        ({"patch_size": 2}, {"patch_size": (2, "nothing")}),
        ({"train_size": 1500}, {"train_size": (1500, "at most 1197")}),
        (
            {"patch_size": 4, "test_size": 1797},
            {"patch_size": (4, "nothing"), "train_size": (1197, "at most 0")},
        ),
    ],
)
def test_impossible_configs_are_refused_with_all_their_problems(config, problems):
    assert refused(digits, **config) == problems
