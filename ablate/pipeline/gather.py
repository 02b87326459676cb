"""From records to evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ablate.base.errors import listed
from ablate.base.text import printable
from ablate.core.facts import BASELINE, EXAMPLE_COLUMNS, RUNNER_UPS, Evidence, StudyFacts, frame_of
from ablate.core.record import FILE, Curve, Record
from ablate.core.trial import Cell, Level
from ablate.execution.opened_files import UNDECLARED
from ablate.study.patch import short_label

if TYPE_CHECKING:
    import pandas as pd


# Why a trial is left out, and what to do.
STRANGE = {
    "other data": "Declare the files that the task reads, and train both again with --fresh",
    "another kind of machine": "Train both again with --fresh, on one kind; `resources:` names it",
}


def comparable(
    cells: Sequence[Cell], records: Mapping[str, Record], warn: Callable[[str], None]
) -> dict[str, Record]:
    """The records without those of trials that no pair may have, of which it warns, as of files that nobody declares.

    Such a trial has the task and the seed of its baseline, and was trained on another kind of machine; or trained or
    tested on other data: a file that its task reads, and does not declare, has changed between the two.
    """
    if unknown := dict.fromkeys(file for r in records.values() for file in r.environment.get(UNDECLARED, ())):
        warn(
            f"{listed(unknown, 3)}: read, and not declared, so that an edit would go unnoticed. Make its path a "
            "DataFile in the config, or name it in `data_files` of the class"
        )
    found, strange = dict(records), dict[str, list[str]]()
    baselines = {(cell.task, cell.seed): cell for cell in cells if cell.variant == BASELINE and cell.judged}
    for cell in cells:
        base = baselines.get((cell.task, cell.seed), cell)
        mine, other = records.get(cell.id), records.get(base.id)
        if mine is None or other is None:
            continue
        task, whole = cell.trial.config.get("task"), {mine.status, other.status} == {"completed"}
        kinds = {record.environment["kind"] for record in (mine, other) if "kind" in record.environment}
        splits = (mine.data.keys() & other.data.keys()) - {FILE + file for file in mine.files}
        alike = whole and task is not None and task == base.trial.config.get("task")
        apart = alike and any(mine.data[name] != other.data[name] for name in splits)
        if cell.id in found and (apart or len(kinds) > 1):
            del found[cell.id]
            strange.setdefault("other data" if apart else "another kind of machine", []).append(cell.name)
    for why, names in strange.items():
        warn(f"{listed(names, 3)}: left out, trained on {why} than the baseline of the seed. {STRANGE[why]}")
    return found


def gather(facts: StudyFacts, cells: Sequence[Cell], records: Mapping[str, Record]) -> Evidence:
    """The evidence of a study from its records by trial id; cells that have not run are absent, those of other settings
    in a frame of their own. By test example it has the metrics that are judged: the primary one and those of claims.
    """
    rows: list[dict[str, Any]] = []
    curves: list[tuple[str, str, Curve]] = []
    examples: dict[tuple[str, str], NDArray[np.float32]] = {}
    metrics = {task.name: task.metrics for task in facts.tasks}
    judged = {facts.metric}
    for claim in facts.claims:
        judged |= {claim.metric, claim.metric_less}
    paths = list(dict.fromkeys(path for cell in cells for path in cell.levels))
    ran = [cell for cell in cells if cell.id in records]
    for cell in ran:
        record = records[cell.id]
        rows.append(
            {"id": record.id, "variant": cell.setting or cell.variant, "task": cell.task, "seed": cell.seed}
            | {path: cell.levels.get(path) for path in paths}
            | {"status": record.status, "reason": printable(record.reason)}
            | {
                name: np.nan if v is None else v
                for name, v in record.metrics.items()
                # That of one layer, `NAME/PATH`, where `NAME` is of all, stays in the record.
                if "/" not in name or name.partition("/")[0] not in record.metrics
            }
        )
        curves += [(record.id, name, curve) for name, curve in record.curves.items()]
        for name in metrics[cell.task] if record.status == "completed" else ():
            values = record.arrays.get(f"test/{facts.column_of(name)}")
            if values is not None and name in judged:
                # Cells may share a trial.
                examples[record.id, name] = values
    trials = frame_of(rows, None if rows else ["id", "variant", "task", "seed", "status", "reason"])
    for path in paths if ran else ():
        trials[path] = _typed([cell.levels.get(path) for cell in ran])
    measured = [facts.column, *(name for task in facts.tasks for name in task.metrics)]
    trials = trials.reindex(columns=[*dict.fromkeys([*trials, *measured])])
    others = np.array([bool(cell.setting) for cell in ran], bool)
    return Evidence(
        facts,
        trials[~others].reset_index(drop=True),
        _frame(curves).drop_duplicates(["id", "step", "metric"], ignore_index=True),
        frame_of([(*key, values) for key, values in examples.items()], EXAMPLE_COLUMNS),
        {RUNNER_UPS: trials[others].reset_index(drop=True)} if others.any() else {},
    )


def _frame(curves: Sequence[tuple[str, str, Curve]]) -> pd.DataFrame:
    """Curves with the ids of their trials and their names as one frame: id, step, metric, value."""
    lengths = [len(curve.steps) for _, _, curve in curves]
    ids, names = (np.repeat(np.array([c[i] for c in curves], object), lengths) for i in (0, 1))
    return frame_of(
        {
            "id": ids,
            "step": np.concatenate([*(curve.steps for _, _, curve in curves), np.array([], np.int64)]),
            "metric": names,
            "value": np.concatenate([*(curve.values for _, _, curve in curves), np.array([])]),
        }
    ).astype({"id": str, "metric": str})


def _typed(levels: Sequence[Level]) -> pd.Series:
    """A column of numbers, of on and off, or of words; a whole number stays whole where some variant has none."""
    import pandas as pd

    kinds = {type(level) for level in levels if level is not None}
    if kinds == {bool} or kinds <= {int, float}:
        return pd.Series(pd.array(levels))
    return pd.Series([None if level is None else short_label(level) for level in levels])
