"""A table of one's own: one column from the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ablate.base.datafile import DataFile
from ablate.base.errors import Gather, Invalid
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.files import Table, Vocabulary, read_table
from ablate.tasks.rows import Labelled, Numbered, RowData, Rows, filled, labels_of, row_data, without_test
from ablate.tasks.task import Batch

MAX_NUMBERS_AS_LABELS = (
    20  # Different numbers of a target that count as labels, unless the study says otherwise.
)
MAX_CATEGORIES = 32  # Categories of a column that are told apart, the most frequent ones.


class Columns(Rows):
    """A task on a table: the target is one column, and the other columns, or those in `columns`, are positions."""

    class Config(Rows.Config):
        target: str
        "The column that is asked for."
        predict: Literal["number", "label"] | None = None
        "Kind of the target. Not given: numbers, where all its cells are and more than 20 differ, else labels."
        columns: list[str] | None = None
        "The columns that are given. Not given: all others."
        categorical: list[str] = []
        "The given columns whose numbers are names."

        def build(self, *args: Any, **kwargs: Any) -> Rows:
            """Reads the file and returns `NumberOfRow` or `LabelOfRow`, as `predict` says or, where `predict` is None,
            as the cells of the target decide. Raises `Invalid` where the file does not fit the config.
            """
            asks_for_number = row_data(self.file, self).signature.num_outputs == 1
            return NumberOfRow(self) if asks_for_number else LabelOfRow(self)

    config: Config

    @classmethod
    def read(cls, file: DataFile, config: Config) -> RowData:
        """Returns the inputs and targets of a table; targets are standardised numbers or codes of labels. Raises
        `Invalid` where a column is missing or does not fit the config.

        Inputs are, for each row, the values of its columns, and the first feature of each, 0 where there is none:
        (N, 2, C).
        """
        table = read_table(file)
        names = _given_columns(table, config)
        cells_of_columns = [table.column("columns", name) for name in names]
        keys = ["\t".join(row) for row in zip(*cells_of_columns, strict=True)]
        rest = without_test(file, keys)
        inputs = np.zeros((len(keys), 2, len(names)), np.float32)
        num_features = 0
        digests: dict[str, str] = {}
        for place, (name, cells) in enumerate(zip(names, cells_of_columns, strict=True)):
            column = _coded(cells, rest, is_categorical=name in config.categorical)
            inputs[:, 0, place] = column.values
            inputs[:, 1, place] = np.where(column.features, num_features + column.features, 0)
            num_features += column.num_features
            if column.digest:
                digests[f"categories of {name}"] = column.digest
        target = _target(table, config, rest)
        signature = Signature(
            len(names), num_outputs=target.num_outputs, num_features=num_features, readout="mean"
        )
        return RowData(keys, inputs, target.values, signature=signature, digests=digests, scale=target.scale)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Returns some rows, given by their indices, as a batch on `device`:
        features (B, C, F), C the columns, and targets (B).
        """
        values, places = self.rows.inputs[rows].transpose(1, 0, 2)
        # The first feature is for what is missing, and the last for what follows a category at the end.
        features = np.zeros((*values.shape, 2 + (self.signature.num_features or 0)), np.float32)
        first = places.astype(np.intp)[..., None]
        # A number has its value after its first feature; a category, 0 at the first feature of its neighbour.
        np.put_along_axis(features, first + 1, values[..., None], -1)
        np.put_along_axis(features, first, 1.0, -1)
        return Batch.of(features[..., 1:-1].copy(), self.rows.targets[rows]).to(device)


@register("task", "table")
class LabelOfRow(Columns, Labelled):
    """A table of your own; the target is one column, and the other columns, or those that you choose, are positions.

    A column is numeric where every filled cell is a number. As in the feature tokenizer of Gorishniy et al. 2021
    ("Revisiting Deep Learning Models for Tabular Data"), columns share no features: a number has one for its
    standardised value and one that is 1, a category one for each of its 32 most frequent values. Where a cell is empty
    or its value rare, all are 0.

    Numbers are judged by r2, 1 − squared error / that of the mean of training, and by `error`, the root of the mean
    squared error in their own unit; claims call that mean `naive`. Labels are judged by accuracy and macro-F1, and
    claims call the most frequent one `majority`.
    """


class NumberOfRow(Columns, Numbered):
    """A table of your own, whose target is a column of numbers; see `LabelOfRow`."""


@dataclass(frozen=True)
class _Column:
    """A given column as numbers for a model; its features are counted from 1, for 0 is an empty cell or a rare
    category.
    """

    values: NDArray[np.float64]
    "The standardised value of each row, (N); 0 for categories and where a cell is empty."
    features: NDArray[np.int64]
    "The first feature of each row that is not 0, (N); 0 where a cell is empty or rare."
    num_features: int
    digest: str = ""
    "The digest of the categories; empty for numbers."


@dataclass(frozen=True)
class _Target:
    """The column that is asked for, as numbers or as codes of labels."""

    values: NDArray[Any]
    "Standardised numbers or codes of labels, (N)."
    num_outputs: int
    "Number of labels; 1 for numbers."
    scale: float = 1.0
    "The number by which numbers were divided."


def _given_columns(table: Table, config: Columns.Config) -> Sequence[str]:
    """Returns the names of the given columns. Raises `Invalid` where no column is given, where the target is given, or
    where `categorical` names a column that is not given.
    """
    others = [name for name in table.columns if name != config.target]
    names = others if config.columns is None else config.columns
    not_given = [name for name in config.categorical if name not in names]
    with Gather() as at:
        rule = f"must be other columns than target = {config.target}, and one at least"
        at.refuse(config.target in names or not names, "columns", rule, names)
        rule = "must be among the columns that are given"
        at.refuse(not_given, "categorical", rule, not_given, allowed=", ".join(names))
    return names


def _coded(cells: Sequence[str], rest: NDArray[np.intp], *, is_categorical: bool) -> _Column:
    """Returns a column as numbers, or as categories with `is_categorical` or where a filled cell is no number.

    rest: the rows that are not for test, which decide scale and categories.
    """
    numbers = None if is_categorical else _numbers(cells)
    if numbers is not None:
        is_filled = np.isfinite(numbers).astype(np.int64)
        return _Column(_standardised(numbers, rest), features=is_filled, num_features=2)
    filled_cells = [cells[row] for row in rest if cells[row]]
    vocabulary = Vocabulary([filled_cells], limit=MAX_CATEGORIES, marks=1)
    return _Column(
        values=np.zeros(len(cells)),
        features=np.array(vocabulary.encode(cells)),
        num_features=len(vocabulary.symbols),
        digest=vocabulary.digest(),
    )


def _target(table: Table, config: Columns.Config, rest: NDArray[np.intp]) -> _Target:
    """Returns the target as standardised numbers, or as codes of labels. Raises `Invalid` where a cell is empty, where
    all values are equal, or where `predict` is `number` and a cell is no finite number.

    Where `predict` is None, the target is labels if a cell is no finite number or at most 20 numbers differ. rest: the
    rows that are not for test, which decide the scale of numbers.
    """
    cells = filled(table, "target", config.target)
    numbers = None if config.predict == "label" else _numbers(cells)
    if numbers is not None and not np.isfinite(numbers).all():
        numbers = None
    if config.predict == "number" and numbers is None:
        rule = f"must hold numbers alone; {table.file.written} has others"
        raise Invalid("target", rule, config.target)
    if numbers is None or (config.predict is None and len({*cells}) <= MAX_NUMBERS_AS_LABELS):
        codes, num_labels = labels_of(table, "target", config.target)
        return _Target(codes, num_outputs=num_labels)

    scale = numbers[rest].std()
    if not scale:
        rule = f"must hold two different numbers or more in {table.file.written}"
        raise Invalid("target", rule, config.target)
    standardised = ((numbers - numbers[rest].mean()) / scale).astype(np.float32)
    return _Target(standardised, num_outputs=1, scale=float(scale))


def _standardised(numbers: NDArray[np.float64], rest: NDArray[np.intp]) -> NDArray[np.float64]:
    """Returns numbers (N) with mean 0 and, where they differ, variance 1 over the rows `rest`; 0 where a number is nan
    or infinite.
    """
    is_number = np.isfinite(numbers)
    seen = numbers[rest][is_number[rest]]
    if not len(seen):
        return np.where(is_number, numbers, 0.0)
    return np.where(is_number, (numbers - seen.mean()) / (seen.std() or 1.0), 0.0)


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Returns the numbers of a column, (N), NaN where a cell is empty; None where some cell is no number."""
    try:
        return np.array([float(cell or "nan") for cell in cells])
    except ValueError:
        return None
