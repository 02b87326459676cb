"""A table of one's own: one column from the others."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ablate.base.datafile import DataFile
from ablate.base.errors import Gather, Invalid
from ablate.base.registry import register
from ablate.core.signature import Signature
from ablate.tasks.files import Table, Vocabulary, read_table
from ablate.tasks.rows import Examples, Labelled, Numbered, Rows, examples_of, filled, labels_of, without_test
from ablate.tasks.task import Batch

FEW = 20  # Different numbers of a target that are taken for labels, unless the study says otherwise.
MOST = 32  # Categories of a column that are told apart, the most frequent ones.


class Columns(Rows):
    """Columns of a table, each a position."""

    class Config(Rows.Config):
        target: str
        "The column that is asked for."
        predict: Literal["number", "label"] | None = None
        "What it holds. Not given: numbers, where all its cells are and more than 20 differ, else labels."
        columns: list[str] | None = None
        "The columns that are given. Not given: all others."
        categorical: list[str] = []
        "Those of them whose numbers are names."

        def build(self, *args: Any, **kwargs: Any) -> Rows:
            """The task; what is in the target says which it is."""
            one = examples_of(self.file, self).signature.num_outputs == 1
            return (NumberOfRow if one else LabelOfRow)(self)

    @classmethod
    def read(cls, file: DataFile, config: Config) -> Examples:
        """Of each row the numbers of its columns, and the first feature of each, 0 where there is none: (N, 2C)."""
        table = read_table(file)
        others = [name for name in table.columns if name != config.target]
        names = others if config.columns is None else config.columns
        with Gather() as at:
            rule = f"must be other columns than target = {config.target}, and one at least"
            at.refuse(config.target in names or not names, "columns", rule, names)
            strange = [name for name in config.categorical if name not in names]
            at.refuse(
                strange, "categorical", "must be among the columns that are given", strange, ", ".join(names)
            )
        columns = [table.column("columns", name) for name in names]
        keys = ["\t".join(row) for row in zip(*columns, strict=True)]
        rest = without_test(file, keys)
        inputs = np.zeros((len(keys), 2, len(names)), np.float32)
        width, digests = 0, dict[str, str]()
        for place, (name, cells) in enumerate(zip(names, columns, strict=True)):
            numbers = None if name in config.categorical else _numbers(cells)
            if numbers is not None:
                inputs[:, 0, place], ones = _standardised(numbers, rest), np.isfinite(numbers)
                more = 2
            else:
                vocabulary = Vocabulary([[cells[row] for row in rest if cells[row]]], MOST, marks=1)
                ones = np.array(vocabulary.encode(cells))
                more, digests[f"categories of {name}"] = len(vocabulary.symbols), vocabulary.digest()
            inputs[:, 1, place] = np.where(ones, width + ones, 0)
            width += more
        targets, size, scale = _asked(table, config, rest)
        signature = Signature(len(names), size, num_features=width, readout="mean")
        return Examples(keys, inputs, targets, signature, digests, scale=scale)

    def examples(self, rows: NDArray[np.intp], device: str) -> Batch:
        """Features (B, C, F), and targets (B)."""
        values, places = self.rows.inputs[rows].transpose(1, 0, 2)
        features = np.zeros((*values.shape, 2 + (self.signature.num_features or 0)), np.float32)
        first = places.astype(np.intp)[..., None]
        # The first is for what is missing; of a category the second is that of its neighbour, and 0.
        np.put_along_axis(features, first + 1, values[..., None], -1)
        np.put_along_axis(features, first, 1.0, -1)
        return Batch.of(features[..., 1:-1].copy(), self.rows.targets[rows]).each(lambda x: x.to(device))


@register("task", "table")
class LabelOfRow(Columns, Labelled):
    """What does a column say, given the others? On a table of your own; each column is a position.

    A column is numeric where every filled cell is a number. As in the feature tokenizer of Gorishniy et al. 2021
    ("Revisiting Deep Learning Models for Tabular Data"), columns share no features: a number has one for its
    standardised value and one that is 1, a category one for each of its 32 most frequent values. Where a cell is empty
    or its value rare, all are 0. Numbers are judged by r2, 1 − squared error / that of the mean of training, and by
    `error`, the root of the mean squared error in their own unit; claims call that mean `naive`. Labels are judged by
    accuracy and macro-F1, and claims call the most frequent one `majority`.
    """


class NumberOfRow(Columns, Numbered):
    """The same where the column holds numbers."""


def _asked(table: Table, config: Columns.Config, rest: NDArray[np.intp]) -> tuple[NDArray[Any], int, float]:
    """Targets, the width of logits, and what numbers were divided by."""
    cells = filled(table, "target", config.target)
    numbers = None if config.predict == "label" else _numbers(cells)
    all_are = numbers is not None and np.isfinite(numbers).all()
    if config.predict == "number" and not all_are:
        raise Invalid("target", f"must hold numbers alone; {table.file.written} has others", config.target)
    if numbers is not None and all_are and (config.predict == "number" or len({*cells}) > FEW):
        if not (scale := numbers[rest].std()):
            raise Invalid(
                "target", f"must hold two different numbers or more in {table.file.written}", config.target
            )
        return ((numbers - numbers[rest].mean()) / scale).astype(np.float32), 1, float(scale)
    return *labels_of(table, "target", config.target), 1.0


def _standardised(numbers: NDArray[np.float64], rest: NDArray[np.intp]) -> NDArray[np.float64]:
    """With mean 0 and variance 1 in `rest`; 0 where there is none."""
    seen = numbers[rest][np.isfinite(numbers[rest])]
    mean, scale = (seen.mean(), seen.std() or 1.0) if len(seen) else (0.0, 1.0)
    return np.where(np.isfinite(numbers), (numbers - mean) / scale, 0.0)


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """The numbers of a column, NaN where a cell is empty; None where one is no number."""
    try:
        return np.array([float(cell or "nan") for cell in cells])
    except ValueError:
        return None
