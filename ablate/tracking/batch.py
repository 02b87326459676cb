"""Many runs written at once to a SQLite database: with MLflow's own models, in one transaction.

MLflow's client takes a dozen transactions for a run, each of which waits for the disk. The rows are those that the
client writes, in every column; where the models have other columns than are known here, the client writes.
"""

from __future__ import annotations

import math
import shutil
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.tracking.content import Content, Point

_NAMED = {"key", "value", "run_uuid"}
_MEASURED = _NAMED | {"timestamp", "step", "is_nan"}
COLUMNS = {
    "SqlRun": {
        *(
            "run_uuid",
            "name",
            "source_type",
            "source_name",
            "entry_point_name",
            "user_id",
            "status",
            "start_time",
        ),
        *("end_time", "deleted_time", "source_version", "lifecycle_stage", "artifact_uri", "experiment_id"),
    },
    "SqlTag": _NAMED,
    "SqlParam": _NAMED,
    "SqlMetric": _MEASURED,
    "SqlLatestMetric": _MEASURED,
}
"""Model → its columns, in MLflow 3."""


@dataclass(frozen=True)
class New:
    """A run to write."""

    name: str
    content: Content
    tags: Mapping[str, str]
    "All of them, those of the content included."
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


def fits() -> bool:
    """Whether MLflow's models have the columns that are known here."""
    try:
        from mlflow.store.tracking.dbmodels import models

        tables = {name: getattr(models, name).__table__ for name in COLUMNS}
    except (ImportError, AttributeError):
        return False
    return all({column.name for column in table.columns} == COLUMNS[name] for name, table in tables.items())


def insert(store: Any, experiment: str, location: str, runs: Sequence[New]) -> None:
    """Writes whole runs of an `experiment` whose artifacts are at `location`: all of them or none.

    `store` is MLflow's store of the database. Raises whatever MLflow, SQLAlchemy or the disk do.
    """
    from mlflow.store.tracking.dbmodels import models
    from mlflow.utils.file_utils import local_file_uri_to_path
    from mlflow.utils.uri import append_to_uri_path
    from sqlalchemy import insert

    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    folders = []
    try:
        for run in runs:
            uri = append_to_uri_path(location, run.id, store.ARTIFACTS_FOLDER_NAME)
            if run.content.texts:
                folders.append(Path(local_file_uri_to_path(uri)))
                _write(folders[-1], run.content.texts)
            rows["SqlRun"].append(_run(run, int(experiment), uri))
            rows["SqlTag"] += _pairs(run.id, {**run.tags, "mlflow.runName": run.name})
            rows["SqlParam"] += _pairs(run.id, run.content.params)
            metrics = _metrics(run.id, run.content.points)
            rows["SqlMetric"] += metrics
            rows["SqlLatestMetric"] += _latest(metrics)
        with store.ManagedSessionMaker(read_only=False) as session:
            for name, found in rows.items():
                if found:
                    session.execute(insert(getattr(models, name)), found)
    except Exception:
        for folder in folders:
            shutil.rmtree(folder.parent, ignore_errors=True)
        raise


def _run(run: New, experiment: int, uri: str) -> dict[str, Any]:
    now = int(time.time() * 1000)
    return {
        "run_uuid": run.id,
        "name": run.name,
        "source_type": "UNKNOWN",
        "source_name": "",
        "entry_point_name": "",
        "user_id": run.tags["mlflow.user"],
        "status": run.content.status,
        "start_time": run.content.start or now,
        "end_time": run.content.end or now,
        "deleted_time": None,
        "source_version": "",
        "lifecycle_stage": "active",
        "artifact_uri": uri,
        "experiment_id": experiment,
    }


def _pairs(run: str, values: Mapping[str, str]) -> Iterable[dict[str, Any]]:
    return ({"run_uuid": run, "key": key, "value": value} for key, value in values.items())


def _metrics(run: str, points: Iterable[Point]) -> list[dict[str, Any]]:
    """MLflow stores a value that is not a number as 0, with a mark. Points hold no infinities."""
    return [
        {
            "run_uuid": run,
            "key": key,
            "value": 0.0 if math.isnan(value) else value,
            "timestamp": timestamp,
            "step": step,
            "is_nan": math.isnan(value),
        }
        for key, value, timestamp, step in points
    ]


def _latest(metrics: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Of each metric, the point with the largest step, time and value."""
    found: dict[str, dict[str, Any]] = {}
    for point in metrics:
        last = found.get(point["key"])
        if last is None or _order(point) > _order(last):
            found[point["key"]] = point
    return found.values()


def _order(point: Mapping[str, Any]) -> tuple[Any, ...]:
    return point["step"], point["timestamp"], point["value"]


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
