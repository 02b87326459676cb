"""Tasks that generate their examples: training data are endless, and each split has its own random stream."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ablate.base.streams import numpy_stream
from ablate.tasks.task import Batch, Split, Task, digest, example_stream

CHUNK = 4096
"""Training examples that are drawn at a time."""


class Generated(Task):
    """A task that can draw any number of examples; a subclass defines `examples`."""

    config: Any
    "The task's config, with `num_eval`: examples in the validation split, and in the test split."

    @abstractmethod
    def examples(self, generator: np.random.Generator, count: int, device: str = "cpu") -> Batch:
        """The next `count` examples of a stream.

        Each example takes the same number of draws, one after the other, so that examples do not depend on
        how many are asked for at a time.
        """

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Fresh examples; the n-th example does not depend on the batch size."""
        generator = numpy_stream(seed, "data", "train")
        return example_stream((self.examples(generator, CHUNK, device) for _ in count()), batch_size)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """`num_eval` examples from a stream of their own."""
        return self.examples(numpy_stream(seed, "data", name), self.config.num_eval, device)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of the validation and the test split; training data are endless."""
        return {
            "validation": digest(self.split(seed, "validation", "cpu")),
            "test": digest(self.split(seed, "test", "cpu")),
        }


def below(uniform: NDArray[np.float64], limit: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Integers 0 … limit − 1 from draws in [0, 1)."""
    return (uniform * limit).astype(np.int64)
