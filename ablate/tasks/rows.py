"""Tasks whose examples are the rows of a user's table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig
from ablate.core.metric import Sampling
from ablate.core.signature import Signature
from ablate.tasks.answers import Labels, Numbers
from ablate.tasks.files import Parts, Table, of_file, read_table, split_rows
from ablate.tasks.pool import Pool
from ablate.tasks.task import Batch, Outcomes, Topology


@dataclass(frozen=True)
class Examples:
    """The rows of a table as data."""

    # What the hash of each row is of, (N).
    keys: Sequence[str]
    # What a model can tell of it, (N, W).
    inputs: NDArray[Any]
    # (N), as in a batch.
    targets: NDArray[Any]
    answers: Labels | Numbers
    signature: Signature
    # Of vocabularies, by what they are of.
    digests: Mapping[str, str]
    cautions: Sequence[str] = ()


class Rows(Pool):
    """Rows of a table; a subclass says how they are read.

    A hash of a row's input says whether it is for test, a fifth of all, the same for every seed. Of the other rows
    every seed draws an eighth for validation. Equal inputs are never in two splits. Vocabularies and scales are made of
    all rows but those for test.
    """

    class Config(PartConfig):
        """The file, to which a task adds its own parameters."""

        file: DataFile
        "A table: `.csv` or `.tsv` with a header, in UTF-8, or `.parquet`; its path is relative to the study."
        solved: float | None = None
        "Value of the first metric at which it counts as learned, where you know one."

    topologies: tuple[Topology, ...] = ("encoder", "decoder")
    outcome = "graded"

    def __init__(self, config: Any) -> None:
        self.config = config
        self.rows = rows = _examples(config.file, config)
        self.signature, self.metrics = rows.signature, rows.answers.metrics
        self.chance_loss = rows.answers.chance_loss
        sizes = {name: len(of) for name, of in self.indices(0).items()}
        self.sampling = Sampling("held_out", sizes["test"], sizes["train"], sizes["validation"])
        self.support = len(rows.keys)

    @classmethod
    @abstractmethod
    def read(cls, table: Table, config: Any) -> Examples:
        """The table as data."""

    def indices(self, seed: int) -> Parts:
        """See `split_rows`."""
        return split_rows(self.config.file, self.rows.keys, seed)

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """As what is asked has it."""
        return self.rows.answers.loss(logits, batch)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """As what is asked has it."""
        return self.rows.answers.measure(logits, batch)

    def summarise(self, found: Outcomes) -> dict[str, float]:
        """Means, and what is none."""
        means = super().summarise(found)
        return {name: {**means, **self.rows.answers.beside(means, found)}[name] for name in self.metrics}

    def constants(self) -> Mapping[str, Mapping[str, float]]:
        """What guessing comes to: `majority` of the labels, or `naive`, the mean of the numbers."""
        return self.rows.answers.constants

    def cautions(self) -> Sequence[str]:
        """See `Task.cautions`."""
        return self.rows.cautions

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of all three splits, and of the vocabularies."""
        return {**super().digests(seed), **self.rows.digests}

    def coverage(self, draws: int) -> float:
        """By the test examples of which a model can tell no more than of one in training."""
        return self.recurring(self.rows.inputs, draws)


@of_file
def _examples(file: DataFile, config: Any) -> Examples:
    found: Examples = config.part.read(read_table(file), config)
    return found


def without_test(table: Table, keys: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows from which scales and vocabularies are, and those for test."""
    test = split_rows(table.file, keys)["test"]
    return np.setdiff1d(np.arange(len(keys)), test), test


def filled(table: Table, name: str, column: str) -> Sequence[str]:
    """The cells of a column that a field names; raises `Invalid` with the place of an empty one."""
    cells = table.column(name, column)
    if "" in cells:
        place = table.places[cells.index("")]
        raise Invalid(name, f"must have no empty cell; {table.file.written} has one in {place}", column)
    return cells


def labels_of(table: Table, name: str, column: str) -> tuple[NDArray[np.int64], int]:
    """The labels in a column that a field names, coded in their order, and how many there are."""
    cells = filled(table, name, column)
    codes = {label: code for code, label in enumerate(sorted({*cells}))}
    if len(codes) < 2:
        raise Invalid(
            name, f"must hold two different labels or more; {table.file.written} has {len(codes)}", column
        )
    return np.array([codes[cell] for cell in cells]), len(codes)
