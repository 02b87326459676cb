"""What tasks that generate their examples promise about training and evaluation data."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.base.errors import AblateError
from ablate.tasks.adding_problem import AddingProblem
from ablate.tasks.addition import Addition
from ablate.tasks.dates import Dates
from ablate.tasks.generated import EIGHTHS, MIN_SUPPORT, Generated
from ablate.tasks.group import Group
from ablate.tasks.induction import Induction
from ablate.tasks.kernel_regression import KernelRegression
from ablate.tasks.memorization import Memorization
from ablate.tasks.mnist1d import MNIST1D
from ablate.tasks.mqar import MQAR
from ablate.tasks.recall import Recall
from ablate.tasks.reverse import Reverse
from ablate.tasks.segments import Segments
from ablate.tasks.selective_copy import SelectiveCopy
from ablate.tasks.task import Batch, digest, example_stream

SMALL: list[Generated] = [
    Recall(Recall.Config(vocab_size=16, seq_len=5, num_pairs=2, validation_size=512, test_size=4096)),
    Recall(Recall.Config(vocab_size=7, seq_len=7, num_pairs=2, validation_size=512, test_size=4096)),
    Reverse(Reverse.Config(vocab_size=7, min_len=1, max_len=5, validation_size=512, test_size=4096)),
    Segments(Segments.Config(vocab_size=8, seq_len=5, validation_size=512, test_size=4096)),
    Addition(Addition.Config(min_digits=1, digits=2, validation_size=512, test_size=4096)),
    Dates(Dates.Config(validation_size=512, test_size=4096)),
    SelectiveCopy(SelectiveCopy.Config(vocab_size=7, seq_len=9, num_tokens=2)),
    Memorization(Memorization.Config(num_facts=16, seq_len=6)),
    AddingProblem(AddingProblem.Config(seq_len=4)),
    KernelRegression(KernelRegression.Config(num_pairs=2)),
    MNIST1D(MNIST1D.Config(train_size=None, shuffled=True)),
    MQAR(MQAR.Config(vocab_size=10, seq_len=10, noise=1, validation_size=512, test_size=4096)),
    Induction(Induction.Config(vocab_size=5, seq_len=7, validation_size=512, test_size=4096)),
    Group(Group.Config(seq_len=5, validation_size=512, test_size=4096)),
]


def given_of(batch: Batch) -> torch.Tensor:
    """Returns all tensors that a model is given of each example, side by side, (B, W)."""
    given = (batch.inputs, batch.source, batch.segments)
    return torch.cat([x.flatten(1) for x in given if x is not None], 1)


def rows(batch: Batch) -> set[tuple[int, ...]]:
    return set(map(tuple, given_of(batch).tolist()))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("task", SMALL, ids=lambda task: type(task).__name__)
@settings(max_examples=12)
@given(batch_size=st.integers(1, 70), sizes=st.lists(st.integers(1, 90), min_size=1, max_size=6))
def test_batches_do_not_depend_on_how_many_examples_are_drawn_at_a_time(task, batch_size, sizes):
    whole = task.examples(np.random.default_rng(5), 400)
    generator = np.random.default_rng(5)
    chunks = (task.examples(generator, size) for size in itertools.cycle(sizes))
    batches = list(itertools.islice(example_stream(chunks, batch_size), 400 // batch_size))
    for batch, expected in zip(batches, whole.chunks(batch_size), strict=False):
        assert digest(batch) == digest(expected)


@pytest.mark.parametrize("task", SMALL, ids=lambda task: type(task).__name__)
def test_training_examples_do_not_depend_on_the_batch_size_and_go_on_past_a_chunk(task):
    found = []
    for size, count in ((1000, 9), (4500, 2)):
        batches = list(itertools.islice(task.train_batches(1, size, "cpu"), count))
        assert {len(batch) for batch in batches} == {size}
        found.append([torch.cat([given_of(b) for b in batches]), torch.cat([b.targets for b in batches])])
    assert all(map(torch.equal, *found))


SUPPORTS = [
    *(Recall.Config(vocab_size=size, seq_len=length, num_pairs=2) for size, length in ((16, 5), (7, 7))),
    *(Reverse.Config(vocab_size=v, min_len=low, max_len=high) for v, low, high in ((8, 2, 4), (5, 1, 8))),
    Addition.Config(min_digits=1, digits=2),
    *(Segments.Config(vocab_size=size, seq_len=length) for size, length in ((6, 5), (12, 4))),
    SelectiveCopy.Config(vocab_size=7, seq_len=9, num_tokens=2),
    Memorization.Config(num_facts=8, num_values=2, seq_len=6),
    MQAR.Config(vocab_size=10, seq_len=8, num_pairs=2, power=0.5),
    MQAR.Config(vocab_size=8, seq_len=8, num_pairs=1, noise=1, power=0.5),
    Induction.Config(vocab_size=4, seq_len=7),
    Group.Config(seq_len=4),
]


@pytest.mark.slow
@pytest.mark.parametrize("config", SUPPORTS, ids=str)
def test_support_counts_the_examples(config):
    """Enough draws show every example."""
    task = config.build()
    drawn = task.examples(np.random.default_rng(0), int(40 * task.support))
    assert len(torch.unique(given_of(drawn), dim=0)) == task.support


@pytest.mark.slow
@given(task=st.sampled_from(SMALL), seed=st.integers(0, 10**6))
def test_no_example_for_evaluation_is_trained_on(task, seed):
    validation, test = (rows(task.split(seed, name, "cpu")) for name in ("validation", "test"))
    train = set().union(*map(rows, itertools.islice(task.train_batches(seed, 500, "cpu"), 24)))
    assert min(map(len, (train, validation, test))) > 10
    assert not test & train
    assert not validation & train
    assert not test & validation
    assert task.coverage(12_000) == 0.0


@pytest.mark.slow
def test_every_example_is_for_one_part_which_is_drawn_anew_for_every_seed():
    """The parts have their shares of the examples."""
    task = SMALL[0]
    of_test = []
    for seed in range(3):
        found = {name: rows(task.split(seed, name, "cpu")) for name in ("validation", "test")}
        found["train"] = set().union(*map(rows, itertools.islice(task.train_batches(seed, 4096, "cpu"), 10)))
        assert sum(map(len, found.values())) <= task.support
        for name in ("train", "test"):
            share = len(EIGHTHS[name]) / 8
            # Pairwise independent: the count varies as that of independent examples.
            spread = np.sqrt(task.support * share * (1 - share))
            assert abs(len(found[name]) - share * task.support) < 4 * spread + 0.05 * share * task.support
        of_test.append(found["test"])
    for one, other in itertools.combinations(of_test, 2):
        assert len(one & other) / len(one) == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize("task", [SMALL[0], SMALL[3]])
def test_targets_for_test_are_about_uniform(task):
    """Counted over seeds, each of which has its own parts."""
    targets = torch.cat([task.split(seed, "test", "cpu").targets for seed in range(20)])
    counts = targets.unique(return_counts=True)[1].double()
    assert (counts / counts.mean() - 1).abs().max() < 0.06


class Constant(Generated):
    """A task that declares more examples than it has."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.set_support(MIN_SUPPORT)

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        return Batch(torch.zeros(count, 3, dtype=torch.long), torch.zeros(count, dtype=torch.long))

    loss = measure = None


def test_a_task_that_always_draws_the_same_is_told_so():
    """The one example is for at most one of the two."""
    task = Constant(Generated.Config(name="constant"))
    with pytest.raises(
        AblateError, match=f"none of 4096 examples is for .* at least {MIN_SUPPORT} distinct ones"
    ):
        [task.split(0, name, "cpu") for name in ("test", "validation")]
