"""Tasks that generate their examples: endless training data, and evaluation data that are never trained on.

Which part of the data an example is for, a hash of its inputs says: five eighths of all that a task can draw are for
training, an eighth for validation, a quarter for test. A stream of random examples keeps those that are for it. So no
test example was seen in training, however few distinct ones there are and however unequally they are drawn.

The hash is multiply-shift (Dietzfelbinger et al. 1997, "A Reliable Randomized Algorithm for the Closest-Pair Problem"),
under multipliers of the seed's own: every seed draws the parts anew.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

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

CHUNK = 4096  # Examples that are drawn at a time.
# The eighths of the hash's range that are for each part of the data.
PARTS = {"test": range(2), "validation": range(2, 3), "train": range(3, 8)}
# Distinct examples of the smallest task: an accuracy over fewer than a hundred for test would be too coarse.
LEAST = 400
# Training with which small models learn several of these tasks, but for its steps.
WARMED: Mapping[str, Any] = {
    "batch_size": 64,
    "lr": 3e-3,
    "schedule": "cosine",
    "warmup_steps": 50,
    "clip_norm": 1.0,
}


class Generated(Task):
    """A task that can draw any number of examples; a subclass defines `examples`, and calls `set_support`."""

    class Config(PartConfig):
        """The sizes of the evaluation sets, to which a task adds its own parameters."""

        validation_size: PositiveInt = 1024
        "Number of validation examples; the most that an evaluation during training reads."
        test_size: PositiveInt = 4096
        "Number of test examples."
        slice_size: PositiveInt = 512
        "Number of test examples of each evaluation slice."
        label_noise: float = Field(0.0, ge=0, le=1)
        "Share of the training targets that are replaced, each by one that is drawn from all of them."

    changed: ClassVar[Slices] = {}
    "Evaluation slices in which fields of the config have other values."
    doubled: ClassVar[Mapping[str, str]] = {}
    "Evaluation slices in which a field has twice its value."

    def set_support(self, support: float) -> None:
        """Sets `support`, the number of distinct examples, and `sampling`; raises `Invalid` where it is too small."""
        if support < LEAST:
            raise Invalid(
                "",
                "can draw too few distinct examples to keep some for evaluation that are never trained on",
                support,
                f"at least {LEAST}",
                "Choose a larger vocabulary or longer sequences",
            )
        self.support = float(support) if support < 1e300 else math.inf
        self.sampling = Sampling("fresh", self.config.test_size, validation=self.config.validation_size)

    @abstractmethod
    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        """The next `count` examples of a stream, on the CPU.

        Each example takes the same number of draws, one after the other, so that examples do not depend on
        how many are asked for at a time.
        """

    def telling(self, examples: Batch) -> Iterable[Tensor | None]:
        """What decides the part of the data that each example is for; targets are left out, for they may be noisy."""
        return examples.model_inputs().values()

    def laid_out(self, examples: Batch) -> Batch:
        """The examples as a model reads them; which part they are for does not depend on it."""
        return examples

    def under(self, seed: int) -> Generated:
        """The task under a seed: itself, unless something beside its examples is drawn once for each seed."""
        return self

    def sliced(self, name: str) -> Task:
        """See `Task.sliced`; of `slice_size` test examples."""
        changes = {"test_size": self.config.slice_size, **self.slices()[name]}
        return self.config.model_copy(update=changes).build()

    def slices(self) -> Slices:
        """Of `changed` and `doubled`, those that keep the rules of the task: the others do not exist at its size."""
        now = self.config.model_dump()
        doubled = {name: {field: 2 * now[field]} for name, field in self.doubled.items() if now[field]}
        found: dict[str, Mapping[str, Any]] = {}
        for name, changes in {**self.changed, **doubled}.items():
            with suppress(Invalid):
                self.config.model_copy(update=dict(changes)).build()
                found[name] = changes
        return found

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Fresh examples; the n-th example does not depend on the batch size."""
        return self._stream(seed, "train", batch_size, device)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """`validation_size` or `test_size` examples from a stream of their own; they are drawn once."""
        known: dict[tuple[int, str], Batch] = vars(self).setdefault("_splits", {})
        if (seed, name) not in known:
            known[seed, name] = next(self._stream(seed, name, getattr(self.config, f"{name}_size"), "cpu"))
        return known[seed, name].each(lambda x: x.to(device))

    def coverage(self, draws: int) -> float:
        """None: training keeps off the test examples."""
        return 0.0

    def _stream(self, seed: int, name: str, batch_size: int, device: str) -> Iterator[Batch]:
        generator, drawn = numpy_stream(seed, "data", name), self.under(seed)
        chunks = (self._part(seed, name, drawn.examples(generator, CHUNK)) for _ in count())
        if name == "train" and self.config.label_noise:
            chunks = (_noisy(chunk, self.config.label_noise, generator) for chunk in chunks)
        ready = (self.laid_out(chunk).each(lambda x: x.to(device)) for chunk in chunks)
        return example_stream(ready, batch_size)

    def _part(self, seed: int, name: str, drawn: Batch) -> Batch:
        """The examples that are for one part of the data."""
        part, eighths = PARTS[name], _hashes(seed, self.telling(drawn)) >> np.uint64(61)
        kept = np.flatnonzero((part.start <= eighths) & (eighths < part.stop))
        if not len(kept):
            raise AblateError(
                f"task {self.config.name}: none of {len(drawn)} examples is for {name}; it must draw at least {LEAST} "
                "distinct ones, and none of them nearly always"
            )
        return drawn[torch.from_numpy(kept)]


def _noisy(batch: Batch, share: float, generator: np.random.Generator) -> Batch:
    """With a share of the targets replaced, each by one that is drawn from all of them."""
    targets = batch.targets.numpy()
    asked = targets != IGNORED
    right = targets[asked]
    wrong = generator.random(len(right)) < share
    noisy = targets.copy()
    noisy[asked] = np.where(wrong, generator.choice(right, len(right)), right)
    return replace(batch, targets=torch.from_numpy(noisy))


def _hashes(seed: int, tensors: Iterable[Tensor | None]) -> NDArray[np.uint64]:
    """(B): a hash of each example's rows."""
    generator, given = numpy_stream(seed, "data", "parts"), [each for each in tensors if each is not None]
    hashes = np.zeros(len(given[0]), dtype=np.uint64)
    for tensor in given:
        rows = np.ascontiguousarray(tensor.flatten(1).numpy())
        words = rows.view(f"u{rows.itemsize}").astype(np.uint64)
        hashes += words @ generator.integers(2**64, size=words.shape[1], dtype=np.uint64)
    # The sum is linear in the tokens, which have order in them; the next two steps are not.
    hashes ^= hashes >> np.uint64(32)
    hashes *= generator.integers(2**63, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return hashes


def below(uniform: NDArray[np.float64], limit: int | Integers) -> Integers:
    """Integers 0 … limit − 1 from draws in [0, 1)."""
    return (uniform * limit).astype(np.int64)


def distinct(uniform: NDArray[np.float64], limit: int) -> Integers:
    """Distinct integers 0 … limit − 1 in each row, every ordered choice equally likely, from (N, n) draws."""
    count, width = uniform.shape
    chosen = np.empty((count, width), dtype=np.int64)
    for i in range(width):
        # The r-th of the numbers not yet chosen: those chosen before it, in ascending order, move it up.
        rank = below(uniform[:, i], limit - i)
        for taken in np.sort(chosen[:, :i], axis=1).T:
            rank += rank >= taken
        chosen[:, i] = rank
    return chosen


def likeliest(draws: int, values: int) -> float:
    """Expected share of the most frequent of `values` equally likely values among `draws` draws."""
    rate = draws / values
    # Counts are independent Poisson variables given their sum. Without a limit, the sum is Poisson itself.
    whole = math.exp(draws * math.log(draws) - draws - math.lgamma(draws + 1))
    # The matrix that adds one count up to a limit to a sum of them, and its power that adds all.
    adds, total = np.zeros((draws + 1, draws + 1)), 0.0
    for limit in range(draws):
        chance = math.exp(limit * math.log(rate) - rate - math.lgamma(limit + 1))
        adds += chance * np.eye(draws + 1, k=-limit)
        total += 1 - float(np.linalg.matrix_power(adds, values)[draws, 0]) / whole
    return total / draws
