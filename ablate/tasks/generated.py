"""Tasks that generate their examples: endless training data, and evaluation data that are never trained on.

A hash of its inputs decides which part of the data an example is for: five eighths of all that a task can draw are for
training, an eighth for validation, a quarter for test. A stream of random examples keeps those that are for its part.
So no test example was seen in training, however few distinct ones there are and however unequally they are drawn.

The hash is multiply-shift (Dietzfelbinger et al. 1997, "A Reliable Randomized Algorithm for the Closest-Pair Problem"),
with multipliers that the seed decides: every seed draws the parts anew.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, PositiveInt
from torch import Tensor

from ablate.base.errors import AblateError, Invalid
from ablate.base.registry import PartConfig
from ablate.base.streams import numpy_stream
from ablate.core.metric import Sampling
from ablate.tasks.task import IGNORED, Batch, Integers, Slices, Split, Task, example_stream

DataPart = Literal["train", "validation", "test"]

CHUNK = 4096  # Examples that are drawn at a time.
# The eighths of the hash's range that are for each part of the data.
EIGHTHS: Mapping[DataPart, range] = {"test": range(2), "validation": range(2, 3), "train": range(3, 8)}
# Distinct examples of the smallest task: an accuracy over fewer than a hundred for test would be too coarse.
MIN_SUPPORT = 400
# A section `training`, without its steps, with which small models learn several of these tasks.
WARMUP_TRAINING: Mapping[str, Any] = {
    "batch_size": 64,
    "lr": 3e-3,
    "schedule": "cosine",
    "warmup_steps": 50,
    "clip_norm": 1.0,
}


class Generated(Task):
    """A task that can draw any number of examples, none of which is for both training and evaluation.

    A subclass defines `examples`, and calls `set_support` in its constructor.
    """

    class Config(PartConfig):
        """The sizes of the evaluation sets and the noise of training labels; a task adds its own parameters."""

        validation_size: PositiveInt = 1024
        "Number of validation examples; the most that an evaluation during training reads."
        test_size: PositiveInt = 4096
        "Number of test examples."
        slice_size: PositiveInt = 512
        "Number of test examples of each evaluation slice."
        label_noise: float = Field(0.0, ge=0, le=1)
        "Share of the training targets that are replaced, each by one that is drawn from all of them."

    config: Config
    changed: ClassVar[Slices] = {}
    "Evaluation slices in which fields of the config have other values: slice → field → value."
    doubled: ClassVar[Mapping[str, str]] = {}
    "Evaluation slices in which a field of the config has twice its value: slice → field."

    def set_support(self, support: float) -> None:
        """Sets `support`, the number of distinct examples, and `sampling`;
        raises `Invalid` for fewer than 400 distinct examples.
        """
        if support < MIN_SUPPORT:
            raise Invalid(
                "",
                "can draw too few distinct examples to keep some for evaluation that are never trained on",
                given=support,
                allowed=f"at least {MIN_SUPPORT}",
                hint="Choose a larger vocabulary or longer sequences",
            )
        self.support = float(support) if support < 1e300 else math.inf
        self.sampling = Sampling("fresh", self.config.test_size, validation=self.config.validation_size)

    @abstractmethod
    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        """Returns the next `count` examples of a stream as a batch on the CPU, drawn from `generator`.

        Each example takes the same number of draws, one after the other, so that examples do not depend on how many are
        asked for at a time.
        """

    def hashed_tensors(self, examples: Batch) -> Iterable[Tensor | None]:
        """Returns the tensors, with a row for each example, whose hash decides the part of the data that an example is
        for; here, the values of `Batch.model_inputs`.

        Targets are not among them, for they may be noisy. Missing ones are None.
        """
        return examples.model_inputs().values()

    def laid_out(self, examples: Batch) -> Batch:
        """Returns examples as the model reads them; here, unchanged, as they are drawn.

        Which part of the data an example is for does not depend on it.
        """
        return examples

    def for_seed(self, seed: int) -> Generated:
        """Returns the task with what is drawn once for a seed and not once for each example, such as the value of each
        key; here, the task itself.
        """
        return self

    def sliced(self, name: str) -> Task:
        """Returns a new task for the slice called `name`, whose test split has `slice_size` examples."""
        changes = {"test_size": self.config.slice_size, **self.slices()[name]}
        return self.config.model_copy(update=changes).build()

    def slices(self) -> Slices:
        """Returns the slices of `changed` and `doubled` whose config the task accepts: slice → field → value; a field
        whose value is 0 is not doubled.
        """
        values = self.config.model_dump()
        candidates = dict(self.changed)
        for name, field in self.doubled.items():
            # Twice 0 is no other task.
            if values[field]:
                candidates[name] = {field: 2 * values[field]}

        slices: dict[str, Mapping[str, Any]] = {}
        for name, changes in candidates.items():
            with suppress(Invalid):
                self.config.model_copy(update=dict(changes)).build()
                slices[name] = changes
        return slices

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Returns endless batches of `batch_size` new examples on `device`;
        the n-th example does not depend on the batch size.
        """
        return example_stream(self._chunks(seed, "train", device), batch_size)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """Returns a seed's `validation_size` or `test_size` examples as one batch on `device`;
        they are drawn once, and kept.
        """
        if (seed, name) not in self._splits:
            sizes = {"validation": self.config.validation_size, "test": self.config.test_size}
            batches = example_stream(self._chunks(seed, name, "cpu"), sizes[name])
            self._splits[seed, name] = next(batches)
        return self._splits[seed, name].to(device)

    @cached_property
    def _splits(self) -> dict[tuple[int, Split], Batch]:
        """The splits that have been drawn, by (seed, name), on the CPU; a dict that `split` fills."""
        return {}

    def coverage(self, draws: int) -> float:
        """Returns 0: no test example is ever drawn for training."""
        return 0.0

    def _chunks(self, seed: int, part: DataPart, device: str) -> Iterator[Batch]:
        """Yields endless batches, of any size, of the examples for one part of the data:
        laid out, on `device`, with label noise in training.

        Each part has a stream of random numbers of its own.
        """
        generator = numpy_stream(seed, "data", part)
        task = self.for_seed(seed)
        noise = self.config.label_noise if part == "train" else 0.0
        while True:
            examples = self._selected(seed, part, task.examples(generator, CHUNK))
            if noise:
                examples = _with_noise(examples, noise, generator)
            yield self.laid_out(examples).to(device)

    def _selected(self, seed: int, part: DataPart, drawn: Batch) -> Batch:
        """Returns those examples of `drawn` that a seed's hash assigns to `part`. Raises `AblateError` where no example
        is for `part`.
        """
        eighths = _hashes(seed, self.hashed_tensors(drawn)) >> np.uint64(61)
        limits = EIGHTHS[part]
        rows = np.flatnonzero((limits.start <= eighths) & (eighths < limits.stop))
        if not len(rows):
            raise AblateError(
                f"task {self.config.name}: none of {len(drawn)} examples is for {part}; it must draw at least "
                f"{MIN_SUPPORT} distinct ones, and none of them nearly always"
            )
        return drawn[torch.from_numpy(rows)]


def _with_noise(batch: Batch, share: float, generator: np.random.Generator) -> Batch:
    """Returns a copy of a batch in which each target that is not `IGNORED` is replaced, with probability `share`, by a
    target drawn from all such targets of the batch.
    """
    targets = batch.targets.numpy()
    asked = targets != IGNORED
    right = targets[asked]
    is_replaced = generator.random(len(right)) < share
    noisy = targets.copy()
    noisy[asked] = np.where(is_replaced, generator.choice(right, len(right)), right)
    return replace(batch, targets=torch.from_numpy(noisy))


def _hashes(seed: int, tensors: Iterable[Tensor | None]) -> NDArray[np.uint64]:
    """Returns a 64-bit hash of each example, (B), from its rows in all tensors that are not None;
    multipliers depend on the seed.
    """
    generator = numpy_stream(seed, "data", "parts")
    present = [tensor for tensor in tensors if tensor is not None]
    hashes = np.zeros(len(present[0]), dtype=np.uint64)
    for tensor in present:
        rows = np.ascontiguousarray(tensor.flatten(1).numpy())
        words = rows.view(f"u{rows.itemsize}").astype(np.uint64)
        hashes += words @ generator.integers(2**64, size=words.shape[1], dtype=np.uint64)
    # The sum is linear in the tokens, which have order in them; the next two steps are not.
    hashes ^= hashes >> np.uint64(32)
    hashes *= generator.integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return hashes


def below(uniform: NDArray[np.float64], limit: int | Integers) -> Integers:
    """Returns, for each draw in [0, 1), an integer 0 … limit − 1, all equally likely. `limit` is one number for all
    draws, or an array with a limit for each draw.
    """
    return (uniform * limit).astype(np.int64)


def distinct(uniform: NDArray[np.float64], limit: int) -> Integers:
    """Returns distinct integers 0 … limit − 1 in each row, from draws in [0, 1): (N, n) → (N, n). `limit` must be at
    least n, which is not checked.

    Every ordered choice of n integers is equally likely.
    """
    count, width = uniform.shape
    chosen = np.empty((count, width), dtype=np.int64)
    for i in range(width):
        # The r-th of the numbers not yet chosen: those chosen before it, in ascending order, move it up.
        rank = below(uniform[:, i], limit - i)
        for taken in np.sort(chosen[:, :i], axis=1).T:
            rank += rank >= taken
        chosen[:, i] = rank
    return chosen


def share_of_most_frequent(draws: int, values: int) -> float:
    """Returns the expected share, 0 to 1, of the most frequent value among `draws` draws
    of `values` equally likely values.
    """
    rate = draws / values
    # Counts are independent Poisson variables given their sum. Without a limit, the sum is Poisson itself.
    chance_of_sum = math.exp(draws * math.log(draws) - draws - math.lgamma(draws + 1))
    # Multiplying by this matrix adds one count, up to a limit, to a sum of counts; its power adds all of them.
    one_count = np.zeros((draws + 1, draws + 1))
    total = 0.0
    for limit in range(draws):
        chance = math.exp(limit * math.log(rate) - rate - math.lgamma(limit + 1))
        one_count += chance * np.eye(draws + 1, k=-limit)
        all_counts = np.linalg.matrix_power(one_count, values)
        total += 1 - float(all_counts[draws, 0]) / chance_of_sum
    return total / draws
