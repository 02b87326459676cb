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
from ablate.tasks.files import Parts, Table, kept_per_file, split_rows
from ablate.tasks.pool import Pool
from ablate.tasks.regression import Regression
from ablate.tasks.task import Batch, Classification, Constants, Outcomes


@dataclass(frozen=True)
class RowData:
    """The rows of a file as inputs and targets of a model, in the order of the file."""

    keys: Sequence[str]
    "The text of each row whose hash decides its part of the data, (N)."
    inputs: NDArray[Any]
    "All that a model can tell of each row, (N, W)."
    targets: NDArray[Any]
    "The target of each row, as in a batch, (N) or (N, T)."
    signature: Signature
    digests: Mapping[str, str]
    "A digest of each vocabulary, by the name of what it codes."
    cautions: Sequence[str] = ()
    "Sentences on what is lost of the file."
    scale: float = 1.0
    "The number by which targets that are numbers were divided."


class Rows(Pool):
    """A task on the rows of a file; a subclass defines how they are read.

    A hash of a row's input decides whether it is for test, a fifth of all, the same for every seed. Of the other rows
    every seed draws an eighth for validation. Equal inputs are never in two splits. Vocabularies and scales are made of
    all rows but those for test.
    """

    class Config(PartConfig):
        """The file and the threshold `solved`, to which a task adds its own parameters."""

        file: DataFile
        "A table: `.csv` or `.tsv` with a header, in UTF-8, or `.parquet`; its path is relative to the study."
        solved: float | None = None
        "Value of the first metric at which it counts as learned, where you know one."

    config: Config
    outcome = "graded"
    guess: ClassVar[str]
    "The constant, for claims, of the answer that does not look at the input; its metrics are their floors."

    def __init__(self, config: Config) -> None:
        self.config = config
        self.rows = row_data(config.file, config)
        self.signature = self.rows.signature
        self.support = len(self.rows.keys)
        parts = self.indices(0)
        self.sampling = Sampling(
            "held_out",
            test=len(parts["test"]),
            train=len(parts["train"]),
            validation=len(parts["validation"]),
        )
        targets = self.rows.targets
        self.set_answers(np.delete(targets, parts["test"], axis=0), targets[parts["test"]])

    @classmethod
    @abstractmethod
    def read(cls, file: DataFile, config: Any) -> RowData:
        """Returns the rows of a file as inputs and targets, as the config asks for them. Raises `Invalid` where the
        file lacks the form that the config requires.
        """

    @abstractmethod
    def set_answers(self, rest: NDArray[Any], test: NDArray[Any]) -> None:
        """Sets `metrics` and `chance_loss` from the targets of the test rows, `test`,
        and those of all other rows, `rest`.
        """

    def indices(self, seed: int) -> Parts:
        return split_rows(self.config.file, self.rows.keys, seed)

    def constants(self) -> Constants:
        """Returns one constant: the name in `guess` → metric → floor, for every metric that has a floor."""
        floors: dict[str, float] = {}
        for name, metric in self.metrics.items():
            if metric.floor is not None:
                floors[name] = metric.floor
        return {self.guess: floors}

    def cautions(self) -> Sequence[str]:
        return self.rows.cautions

    def digests(self, seed: int) -> Mapping[str, str]:
        """Returns digests by name: of `train`, `validation`, `test`, and of each vocabulary."""
        return {**super().digests(seed), **self.rows.digests}

    def coverage(self, draws: int) -> float:
        """Returns the share of test rows whose inputs equal those of a training row of seed 0, times
        min(1, draws / training rows).
        """
        parts = self.indices(0)
        inputs = self.rows.inputs
        trained = {row.tobytes() for row in inputs[parts["train"]]}
        share = np.mean([row.tobytes() in trained for row in inputs[parts["test"]]])
        return float(share) * min(1.0, draws / len(parts["train"]))


class Labelled(Rows, Classification):
    """A task on rows that each have a label, measured against guessing the most frequent label
    of all rows but those for test.

    The loss of guessing is the loss of the shares of all labels.
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
        """Returns values by name, each (B): the metrics `accuracy` and `loss`, and the codes `label` and `answer`, of
        which `summarise` makes `macro_f1`.
        """
        return {**super().measure(logits, batch), "label": batch.targets, "answer": logits.argmax(-1)}

    def summarise(self, outcomes: Outcomes) -> dict[str, float]:
        """Returns the mean of each metric by name, and `macro_f1`, the mean F1 of all labels that occur among the
        targets or the answers.
        """
        metrics = super().summarise(outcomes)
        metrics["macro_f1"] = _macro_f1(outcomes["label"], outcomes["answer"])
        return {name: metrics[name] for name in self.metrics}


class Numbered(Rows, Regression):
    """A task whose target is a number for each row, measured against guessing the mean target of all rows but those for
    test.

    Numbers have mean 0 and variance 1 in all rows but those for test.
    """

    guess = "naive"

    def set_answers(self, rest: NDArray[Any], test: NDArray[Any]) -> None:
        variance = float(np.square(test, dtype=np.float64).mean())
        self.set_spread(variance, solved=self.config.solved)
        error = Metric("min", floor=self.rows.scale * self.chance_loss**0.5, ceiling=0.0)
        self.metrics = {**self.metrics, "error": error}

    def summarise(self, outcomes: Outcomes) -> dict[str, float]:
        """Returns the mean of each metric by name, and `error`,
        the root of the mean squared error in the unit of the user's column.
        """
        means = super().summarise(outcomes)
        return {**means, "error": self.rows.scale * means["loss"] ** 0.5}


def _macro_f1(labels: NDArray[Any], answers: NDArray[Any]) -> float:
    """Returns the mean of F1 = 2 · both / (labels + answers) over all labels
    that occur in `labels` (N) or `answers` (N).
    """
    scores = []
    for label in np.union1d(labels, answers):
        is_label = labels == label
        is_answer = answers == label
        scores.append(2 * np.sum(is_label & is_answer) / (np.sum(is_label) + np.sum(is_answer)))
    return float(np.mean(scores))


@kept_per_file
def row_data(file: DataFile, config: Any) -> RowData:
    """Returns the rows of a file as the task of a config reads them; they are read once, until the file changes."""
    return config.part.read(file, config)


def without_test(file: DataFile, keys: Sequence[str]) -> NDArray[np.intp]:
    """Returns the indices of all rows but those for test; scales and vocabularies are made of these rows. `keys` are
    the inputs of all rows, as `split_rows` takes them.
    """
    return np.delete(np.arange(len(keys)), split_rows(file, keys)["test"])


def filled(table: Table, field: str, column: str) -> Sequence[str]:
    """Returns the cells of a column. Raises `Invalid` at `field`, the config field that names the column, where the
    column is missing or has an empty cell.
    """
    cells = table.column(field, column)
    if "" in cells:
        place = table.places[cells.index("")]
        raise Invalid(field, f"must have no empty cell; {table.file.written} has one in {place}", column)
    return cells


def labels_of(table: Table, field: str, column: str) -> tuple[NDArray[np.int64], int]:
    """Returns the code of each row's label in a column, (N), and the number of labels. Raises `Invalid` where the
    column is missing, a cell is empty, or all labels are equal.

    Codes are in the order of the labels, from 0. field: the field of a config that names the column.
    """
    cells = filled(table, field, column)
    codes = {label: code for code, label in enumerate(sorted({*cells}))}
    if len(codes) < 2:
        rule = f"must hold two different labels or more; {table.file.written} has {len(codes)}"
        raise Invalid(field, rule, column)
    return np.array([codes[cell] for cell in cells]), len(codes)
