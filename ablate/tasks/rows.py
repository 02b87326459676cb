"""Tasks whose examples are the rows of a user's table."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig
from ablate.core.metric import Metric, Sampling
from ablate.core.signature import Signature
from ablate.tasks.files import Parts, Table, of_file, split_rows
from ablate.tasks.pool import Pool
from ablate.tasks.regression import Regression
from ablate.tasks.task import Batch, Classification, Outcomes


@dataclass(frozen=True)
class Examples:
    """The rows of a table as data."""

    # What the hash of each row is of, (N).
    keys: Sequence[str]
    # What a model can tell of it, (N, W).
    inputs: NDArray[Any]
    # (N), as in a batch.
    targets: NDArray[Any]
    signature: Signature
    # Of vocabularies, by what they are of.
    digests: Mapping[str, str]
    cautions: Sequence[str] = ()
    scale: float = 1.0  # Of targets that are numbers: what they were divided by.


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

    outcome = "graded"
    guess: ClassVar[str]
    "What claims call the answer that looks at nothing; its metrics are their floors."

    def __init__(self, config: Any) -> None:
        self.config = config
        self.rows = rows = examples_of(config.file, config)
        self.signature, self.support = rows.signature, len(rows.keys)
        parts = self.indices(0)
        self.sampling = Sampling("held_out", *(len(parts[name]) for name in ("test", "train", "validation")))
        self.set_answers(np.delete(rows.targets, parts["test"], axis=0), rows.targets[parts["test"]])

    @classmethod
    @abstractmethod
    def read(cls, file: DataFile, config: Any) -> Examples:
        """The file as data."""

    @abstractmethod
    def set_answers(self, rest: NDArray[Any], test: NDArray[Any]) -> None:
        """Sets `metrics` and `chance_loss` from targets, those for test and all others."""

    def indices(self, seed: int) -> Parts:
        return split_rows(self.config.file, self.rows.keys, seed)

    def constants(self) -> Mapping[str, Mapping[str, float]]:
        """What guessing comes to."""
        return {self.guess: {name: of.floor for name, of in self.metrics.items() if of.floor is not None}}

    def cautions(self) -> Sequence[str]:
        return self.rows.cautions

    def digests(self, seed: int) -> Mapping[str, str]:
        """Of all three splits, and of the vocabularies."""
        return {**super().digests(seed), **self.rows.digests}

    def coverage(self, draws: int) -> float:
        """By the test examples of which a model can tell no more than of one in training."""
        parts, inputs = self.indices(0), self.rows.inputs
        known = {row.tobytes() for row in inputs[parts["train"]]}
        seen = np.mean([row.tobytes() in known for row in inputs[parts["test"]]])
        return float(seen) * min(1.0, draws / len(parts["train"]))


class Labelled(Rows, Classification):
    """Task on rows that each have a label, measured against guessing the most frequent label.

    The loss of guessing is that of the shares of all labels.
    """

    guess = "majority"

    def set_answers(self, rest: NDArray[Any], test: NDArray[Any]) -> None:
        counts = np.bincount(rest, minlength=self.signature.num_outputs) + 1
        majority = np.full(len(test), counts.argmax())
        accuracy = float((test == majority).mean())
        self.chance_loss = float(-np.log(counts / counts.sum())[test].mean())
        self.metrics = {
            "accuracy": Metric("max", 1 / len(test), floor=accuracy, ceiling=1.0, solved=self.config.solved),
            "macro_f1": Metric("max", floor=_macro_f1(test, majority), ceiling=1.0),
            "loss": Metric("min", floor=self.chance_loss, ceiling=0.0),
        }

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Of each example; `label` and `answer` are for `summarise`."""
        return {**super().measure(logits, batch), "label": batch.targets, "answer": logits.argmax(-1)}

    def summarise(self, found: Outcomes) -> dict[str, float]:
        """Means, and `macro_f1`, the mean of F1 over the labels that are asked for or answered."""
        means = {**super().summarise(found), "macro_f1": _macro_f1(found["label"], found["answer"])}
        return {name: means[name] for name in self.metrics}


class Numbered(Rows, Regression):
    """Rows that each have a number, with mean 0 and variance 1 in all but test; guessing is that mean."""

    guess = "naive"

    def set_answers(self, rest: NDArray[Any], test: NDArray[Any]) -> None:
        self.set_spread(float(np.square(test, dtype=np.float64).mean()), solved=self.config.solved)
        error = Metric("min", floor=self.rows.scale * self.chance_loss**0.5, ceiling=0.0)
        self.metrics = {**self.metrics, "error": error}

    def summarise(self, found: Outcomes) -> dict[str, float]:
        """Means, and `error`, the root of the mean squared error in the column's own unit."""
        means = super().summarise(found)
        return {**means, "error": self.rows.scale * means["loss"] ** 0.5}


def _macro_f1(labels: NDArray[Any], answers: NDArray[Any]) -> float:
    occurring = np.union1d(labels, answers)
    both = [(labels == label, answers == label) for label in occurring]
    return float(np.mean([2 * np.sum(of & given) / (np.sum(of) + np.sum(given)) for of, given in both]))


@of_file
def examples_of(file: DataFile, config: Any) -> Examples:
    """What a task reads of its file."""
    return config.part.read(file, config)


def without_test(file: DataFile, keys: Sequence[str]) -> NDArray[np.intp]:
    """The rows from which scales and vocabularies are."""
    return np.delete(np.arange(len(keys)), split_rows(file, keys)["test"])


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
