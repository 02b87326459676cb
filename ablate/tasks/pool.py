"""Tasks of finitely many examples, which every seed splits."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ablate.base.streams import numpy_stream
from ablate.tasks.files import Parts
from ablate.tasks.task import Batch, Split, Task, digest, example_stream

CHUNK = 4096  # Training examples that are gathered at a time.


class Pool(Task):
    """A task of rows; a subclass says which of them each split holds, and makes a batch of some.

    Training data are shuffled anew every epoch; batches cross the ends of epochs, so that all are full.
    """

    @abstractmethod
    def indices(self, seed: int) -> Parts:
        """Rows that each split holds."""

    @abstractmethod
    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """The examples of some rows."""

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Every example once an epoch."""
        return example_stream(self._shuffled(seed, device), batch_size)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """The examples of a split."""
        return self.examples(self.indices(seed)[name], device)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of all three splits."""
        return {name: digest(self.examples(rows, "cpu")) for name, rows in self.indices(seed).items()}

    def _shuffled(self, seed: int, device: str) -> Iterator[Batch]:
        rows, generator = self.indices(seed)["train"], numpy_stream(seed, "data", "order")
        while True:
            # Whole epochs, at least as many as fill a chunk.
            order = np.concatenate([generator.permutation(rows) for _ in range(-(-CHUNK // len(rows)))])
            for start in range(0, len(order), CHUNK):
                yield self.examples(order[start : start + CHUNK], device)
