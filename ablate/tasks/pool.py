"""Tasks of finitely many examples, which every seed splits."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ablate.base.streams import numpy_stream
from ablate.tasks.files import Parts
from ablate.tasks.task import Batch, Split, Task, digest, example_stream

CHUNK = 4096  # Training examples that are gathered at a time.


class Pool(Task):
    """A task whose examples are rows of a data set; a subclass decides which rows each split holds,
    and makes a batch of some rows.

    Training data are shuffled anew every epoch; batches cross the ends of epochs, so that all are full.
    """

    @abstractmethod
    def indices(self, seed: int) -> Parts:
        """Returns the rows of the data set, indices from 0, that a seed gives to `train`, `validation` and `test`."""

    @abstractmethod
    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Returns some rows of the data set, given by their indices, as a batch on `device`."""

    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Returns endless batches of `batch_size` training examples on `device`; every example comes once an epoch."""
        return example_stream(self._shuffled(seed, device), batch_size)

    def split(self, seed: int, name: Split, device: str) -> Batch:
        """Returns the examples of a seed's validation or test split as one batch on `device`."""
        return self.examples(self.indices(seed)[name], device)

    def digests(self, seed: int) -> Mapping[str, str]:
        """Returns a digest of each of a seed's splits by name: `train`, `validation` and `test`."""
        return {name: digest(self.examples(rows, "cpu")) for name, rows in self.indices(seed).items()}

    def _shuffled(self, seed: int, device: str) -> Iterator[Batch]:
        """Yields endless batches of at most `CHUNK` training examples on `device`;
        each epoch has a new order, and a batch may span several.
        """
        rows = self.indices(seed)["train"]
        generator = numpy_stream(seed, "data", "order")
        num_epochs = math.ceil(CHUNK / len(rows))
        while True:
            # Whole epochs, at least as many as fill a chunk.
            order = np.concatenate([generator.permutation(rows) for _ in range(num_epochs)])
            for start in range(0, len(order), CHUNK):
                yield self.examples(order[start : start + CHUNK], device)
