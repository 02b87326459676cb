"""The evidence of a study, gathered from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ablate.base.text import printable
from ablate.core.facts import EXAMPLE_COLUMNS, RUNNER_UPS, TRIAL_COLUMNS, Evidence, StudyFacts, frame_of
from ablate.core.trial import Cell, Level
from ablate.records.tables import FEW_VALUES
from ablate.study.patch import short_label

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ablate.core.record import Record


def gather(facts: StudyFacts, cells: Sequence[Cell], records: Mapping[str, Record]) -> Evidence:
    """Returns the evidence of a study from its records by trial id.

    Cells that have not run are absent; those of other settings are in a frame of their own.
    """
    paths: list[str] = []
    for cell in cells:
        paths += cell.levels
    ran = [cell for cell in cells if cell.id in records]
    trials = _trials(facts, ran, records, list(dict.fromkeys(paths)))
    is_runner_up = np.array([bool(cell.setting) for cell in ran], bool)
    frames: dict[str, pd.DataFrame] = {}
    if is_runner_up.any():
        frames[RUNNER_UPS] = trials[is_runner_up].reset_index(drop=True)
    return Evidence(
        facts,
        trials[~is_runner_up].reset_index(drop=True),
        curves=_curves([records[cell.id] for cell in ran]),
        examples=_examples(facts, ran, records),
        frames=frames,
    )


def _trials(
    facts: StudyFacts, ran: Sequence[Cell], records: Mapping[str, Record], paths: Sequence[str]
) -> pd.DataFrame:
    """Returns a row for each cell, with the columns of `Evidence.trials`.

    paths: of the factors, each a column.
    """
    measured = [facts.column]
    for task in facts.tasks:
        measured += task.metrics
    if not ran:
        columns = [*TRIAL_COLUMNS, *measured]
        return frame_of((), list(dict.fromkeys(columns)))

    rows: list[dict[str, object]] = []
    for cell in ran:
        record = records[cell.id]
        row: dict[str, object] = {
            "id": record.id,
            "variant": cell.setting or cell.variant,
            "task": cell.task,
            "seed": cell.seed,
        }
        for path in paths:
            row[path] = cell.levels.get(path)
        row |= {"status": record.status, "reason": printable(record.reason)}
        # A number that a record has beside its metrics takes no column of a trial.
        rows.append(row | _metrics(record) | row)
    trials = frame_of(rows)
    for path in paths:
        trials[path] = _level_column([cell.levels.get(path) for cell in ran])
    return trials.reindex(columns=list(dict.fromkeys([*trials, *measured])))


def _metrics(record: Record) -> dict[str, float]:
    """Returns the metrics of a trial; NaN for one without a value.

    A metric `NAME/PATH` of one layer stays in the record where `NAME` is that of all layers.
    """
    metrics: dict[str, float] = {}
    for name, value in record.metrics.items():
        whole, slash, _ = name.partition("/")
        if slash and whole in record.metrics:
            continue
        metrics[name] = np.nan if value is None else value
    return metrics


def _level_column(levels: Sequence[Level]) -> pd.Series:
    """Returns a column of numbers, of on and off, or of words.

    Whole numbers stay whole where a variant has none.
    """
    import pandas as pd

    types = {type(level) for level in levels if level is not None}
    if types == {bool} or types <= {int, float}:
        return pd.Series(pd.array(levels))
    return pd.Series([None if level is None else short_label(level) for level in levels])


def _curves(records: Sequence[Record]) -> pd.DataFrame:
    """Returns the curves of trials as one frame: id, step, metric, value.

    Records may repeat; their rows do not.
    """
    ids: list[str] = []
    names: list[str] = []
    # So that no curves at all have the types of some.
    steps = [np.array([], np.int64)]
    values = [np.array([])]
    lengths: list[int] = []
    for record in records:
        for name, curve in record.curves.items():
            ids.append(record.id)
            names.append(name)
            steps.append(curve.steps)
            values.append(curve.values)
            lengths.append(len(curve.steps))
    columns = {
        "id": np.repeat(np.array(ids, object), lengths),
        "step": np.concatenate(steps),
        "metric": np.repeat(np.array(names, object), lengths),
        "value": np.concatenate(values),
    }
    curves = frame_of(columns).astype({"id": str, "metric": str})
    return curves.drop_duplicates(["id", "step", "metric"], ignore_index=True)


def _examples(facts: StudyFacts, ran: Sequence[Cell], records: Mapping[str, Record]) -> pd.DataFrame:
    """Returns the metrics of completed trials by test example: the primary metric and those of claims."""
    judged = {facts.metric}
    for claim in facts.claims:
        judged |= {*claim.metrics}
    metrics_of_tasks = {task.name: task.metrics for task in facts.tasks}
    # Cells may share a trial.
    values_of: dict[tuple[str, str], NDArray[Any]] = {}
    for cell in ran:
        record = records[cell.id]
        if record.status != "completed":
            continue
        for metric in metrics_of_tasks[cell.task]:
            values = record.arrays.get(f"test/{facts.column_of(metric)}")
            if values is not None and metric in judged:
                values_of[record.id, metric] = _kept_digits(values)
    rows = [(trial, metric, values) for (trial, metric), values in values_of.items()]
    return frame_of(rows, EXAMPLE_COLUMNS)


def _kept_digits(values: NDArray[Any]) -> NDArray[Any]:
    """Returns the values of a metric, one for each test example, rounded so that they compress; same shape and type.

    With more than `FEW_VALUES` different values, as of a loss, each is rounded to 17 binary digits, of the 24 of a
    float32; the others hardly compress, and are far below the noise of an example. With at most so many, as of
    outcomes, the values are returned as they are.
    """
    if len(np.unique(values)) <= FEW_VALUES:
        return values
    mantissas, exponents = np.frexp(values)
    rounded: NDArray[Any] = np.ldexp(np.round(mantissas * 2**17) / 2**17, exponents)
    return rounded.astype(values.dtype)
