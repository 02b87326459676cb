"""What tasks that generate their examples promise about training and evaluation data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ablate.base.errors import AblateError, Invalid
from ablate.tasks.generated import LEAST, PARTS, Generated
from ablate.tasks.recall import Recall
from ablate.tasks.reverse import Reverse
from ablate.tasks.segments import Segments
from ablate.tasks.task import Batch, Split

SMALL: list[Generated] = [
    Recall(Recall.Config(vocab_size=16, seq_len=5, num_pairs=2, validation_size=512, test_size=4096)),
    Recall(Recall.Config(vocab_size=7, seq_len=7, num_pairs=2, validation_size=512, test_size=4096)),
    Reverse(Reverse.Config(vocab_size=7, min_len=1, max_len=5, validation_size=512, test_size=4096)),
    Segments(Segments.Config(vocab_size=8, seq_len=5, validation_size=512, test_size=4096)),
]


def rows(batch: Batch) -> set[tuple[int, ...]]:
    """What a model is given of each example, without what follows from it."""
    given = [x for x in (batch.inputs, batch.source, batch.segments) if x is not None]
    return set(map(tuple, torch.cat(given, 1).tolist()))


@pytest.mark.slow
@given(task=st.sampled_from(SMALL), seed=st.integers(0, 10**6))
def test_no_example_for_evaluation_is_trained_on(task: Generated, seed: int) -> None:
    validation, test = (rows(task.split(seed, name, "cpu")) for name in ("validation", "test"))
    train = set().union(*map(rows, itertools.islice(task.train_batches(seed, 500, "cpu"), 24)))
    assert min(map(len, (train, validation, test))) > 10
    assert not test & train
    assert not validation & train
    assert not test & validation
    assert task.coverage(12_000) == 0.0


def test_every_example_is_for_one_part_which_is_drawn_anew_for_every_seed() -> None:
    """In the shares that the parts have."""
    task = SMALL[0]
    of_test = []
    for seed in range(3):
        found = {name: rows(task.split(seed, name, "cpu")) for name in ("validation", "test")}
        found["train"] = set().union(*map(rows, itertools.islice(task.train_batches(seed, 4096, "cpu"), 10)))
        assert sum(map(len, found.values())) <= task.support
        for name in ("train", "test"):
            share = len(PARTS[name]) / 8
            # Pairwise independent: the count varies as that of independent examples.
            spread = np.sqrt(task.support * share * (1 - share))
            assert abs(len(found[name]) - share * task.support) < 4 * spread + 0.05 * share * task.support
        of_test.append(found["test"])
    for one, other in itertools.combinations(of_test, 2):
        assert len(one & other) / len(one) == pytest.approx(0.25, abs=0.06)


@pytest.mark.parametrize("task", [SMALL[0], SMALL[3]])
def test_targets_for_test_are_about_uniform(task: Generated) -> None:
    """Over seeds, which have parts of their own."""
    targets = torch.cat([task.split(seed, "test", "cpu").targets for seed in range(20)])
    counts = targets.unique(return_counts=True)[1].double()
    assert (counts / counts.mean() - 1).abs().max() < 0.06


def test_a_large_task_has_all_its_targets_uniform() -> None:
    task = Recall(Recall.Config(vocab_size=64, seq_len=12, num_pairs=3, test_size=8000))
    for batch in (task.split(0, "test", "cpu"), next(task.train_batches(0, 8000, "cpu"))):
        counts = batch.targets.bincount(minlength=64)[32:]
        assert stats.chisquare(counts).pvalue > 1e-4


def test_too_few_distinct_examples_are_refused() -> None:
    with pytest.raises(Invalid) as caught:
        Reverse(Reverse.Config(vocab_size=5, max_len=3))
    assert str(caught.value) == (
        "can draw too few distinct examples to keep some for evaluation that are never trained on; given 14; "
        f"allowed: at least {LEAST}. Choose a larger vocabulary or longer sequences"
    )


class Constant(Generated):
    """A task that declares more examples than it has."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.set_support(LEAST)

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        return Batch(torch.zeros(count, 3, dtype=torch.long), torch.zeros(count, dtype=torch.long))

    loss = measure = None  # type: ignore[assignment]


def test_a_task_that_always_draws_the_same_is_told_so() -> None:
    task = Constant(Generated.Config(name="constant"))
    # The one example is for at most one of the two.
    splits: tuple[Split, ...] = ("test", "validation")
    messages = [message for name in splits if (message := refusal(task, name))]
    assert messages
    for message in messages:
        assert message.startswith("task constant: none of 4096 examples is for ")
        assert message.endswith(
            f"it must draw at least {LEAST} distinct ones, and none of them nearly always"
        )


def refusal(task: Generated, name: Split) -> str:
    """Why a split cannot be drawn, or nothing."""
    try:
        task.split(0, name, "cpu")
    except AblateError as error:
        return str(error)
    return ""
