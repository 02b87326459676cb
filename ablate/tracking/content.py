"""One trial in MLflow: name, parameters, tags, metrics and texts, from its cell and its record alone.

The same record always gives the same content, timestamps included, so that a digest tells whether a run is up to date.
"""

from __future__ import annotations

import getpass
import json
import math
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ablate.base.text import printable
from ablate.core.cell import Cell
from ablate.core.record import Record
from ablate.records.roster import digest_with_files

# Limits of MLflow's tracking stores, in characters.
MAX_KEY, MAX_PARAM, MAX_TAG = 250, 6000, 8000

STUDY_TAG, TRIAL_TAG, STATUS_TAG = "ablate.study", "ablate.trial", "ablate.status"
# Digest of the content; an ended run that has it is whole.
DIGEST_TAG = "ablate.complete"
NOTE_TAG, PARENT_TAG = "mlflow.note.content", "mlflow.parentRunId"
# The group of all curves.
CURVES = "Curves"
# Of a record's environment: shown among the metrics.
SIZES = ("parameters", "flops", "training_flops")

# One value of one metric: its key, the value, milliseconds since 1970, and the step.
Point = tuple[str, float, int, int]


@dataclass(frozen=True)
class Content:
    """Everything in a run except its name, its parent and its user."""

    params: Mapping[str, str]
    tags: Mapping[str, str]
    points: tuple[Point, ...]
    texts: Mapping[str, str]  # file name → content
    status: str
    start: int  # milliseconds since 1970, as the end
    end: int

    @property
    def digest(self) -> str:
        """Changes if any content changes."""
        named = (sorted(part.items()) for part in (self.params, self.tags, self.texts))
        return digest_with_files([*named, self.points, self.status, self.start, self.end], [])


def run_name(cell: Cell, with_task: bool) -> str:
    """A name that sorts by task, then variant, then seed."""
    task = f"{cell.task} · " if with_task and cell.task else ""
    return f"{task}{cell.variant} · seed {cell.seed:02d}"[:MAX_KEY]


def content_of(study: str, cell: Cell, record: Record) -> Content:
    """The run of a trial under `study`."""
    params = flattened(record.config)
    params |= flattened({path: level for path, level in cell.levels.items() if level is not None})
    params |= {"variant": cell.variant, "seed": str(cell.seed), "task": cell.task}
    start = milliseconds(record.started_at or record.finished_at)
    end = max(start, milliseconds(record.finished_at))
    texts = {"traceback.txt": record.error, "output.txt": record.output}
    return Content(
        params=cleaned(params, MAX_PARAM),
        tags=_tags(study, cell, record),
        points=_points(record, start, end),
        texts={name: printable(text) for name, text in texts.items() if text.strip()},
        status="FAILED" if record.status == "failed" else "FINISHED",
        start=start,
        end=end,
    )


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A config as dotted paths; a part is the value of its own path: `norm: {name: batch}` is `norm` = `batch`.

    >>> flattened({"model": {"d_model": 32, "value": {"name": "low_rank", "rank": 8}}})
    {'model.d_model': '32', 'model.value': 'low_rank', 'model.value.rank': '8'}
    """
    flat: dict[str, str] = {}
    for key, value in config.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if key == "name" and prefix and not isinstance(value, Mapping):
            path = prefix
        if isinstance(value, Mapping):
            flat |= flattened(value, path)
        else:
            flat[path] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat


def cleaned(values: Mapping[str, Any], limit: int) -> dict[str, str]:
    """Returns names and values that MLflow accepts; values are cut to `limit` characters, and None is left out."""
    return {
        clean_key(key): cut(printable(str(value)), limit)
        for key, value in values.items()
        if value is not None
    }


def clean_key(name: str) -> str:
    """Returns a name that MLflow accepts: `accuracy@far` is shown as `accuracy/far`, in a group of its own.

    >>> clean_key("accuracy@far"), clean_key("../loss (train)")
    ('accuracy/far', 'loss _train_')
    """
    key = re.sub(r"[^\w.\-/ ]", "_", name.replace("@", "/"))[:MAX_KEY]
    return posixpath.normpath("/" + key).lstrip("/") or "_"


def cut(text: str, limit: int) -> str:
    """Returns the whole lines of `text` that fit into `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[: limit - 2]
    return f"{head.rpartition(chr(10))[0] or head}\n…"


def milliseconds(moment: str) -> int:
    """Turns an ISO 8601 time, in UTC if it has no zone, into milliseconds since 1970; 0 for an empty string."""
    if not moment:
        return 0
    time = datetime.fromisoformat(moment)
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def user() -> str:
    """Returns the name of the user, which containers may lack."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def source_tags(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the command and its commit."""
    commit, dirty = environment.get("commit"), environment.get("dirty")
    return {
        "commit": commit,
        "dirty": None if dirty is None else json.dumps(dirty),
        "mlflow.source.type": "LOCAL",
        "mlflow.source.name": environment.get("command"),
        "mlflow.source.git.commit": commit,
    }


def _tags(study: str, cell: Cell, record: Record) -> dict[str, str]:
    traceback = f"\n\n```\n{record.error[-3000:]}\n```" if record.error else ""
    tags = {
        STUDY_TAG: study,
        TRIAL_TAG: record.id,
        STATUS_TAG: record.status,
        "variant": cell.variant,
        "seed": cell.seed,
        "task": cell.task,
        "id": record.id,
        "stream": record.stream or None,
        "reason": record.reason or None,
        NOTE_TAG: (record.reason + traceback).strip() or None,
        **source_tags(record.environment),
    }
    return cleaned(tags, MAX_TAG)


def _points(record: Record, start: int, end: int) -> tuple[Point, ...]:
    """Curves, then the final metrics and the size of the model at step 0, which MLflow draws as bars and not as lines.

    Curves have a group of their own, which MLflow shows before metrics without a group. Their times are interpolated
    between start and end by step. Values that are not finite are NaN on a curve (MLflow would show infinity as
    1.8e308) and absent among the final metrics, as in the record.
    """
    last = max((int(curve.steps[-1]) for curve in record.curves.values() if len(curve.steps)), default=0)
    points: dict[tuple[str, int], Point] = {}
    for name, curve in record.curves.items():
        key = clean_key(f"{CURVES}/{name}")
        for step, value in zip(
            curve.steps.tolist(), np.asarray(curve.values, dtype=float).tolist(), strict=True
        ):
            at = start + round((end - start) * step / (last + 1))
            points[key, step] = (key, value if math.isfinite(value) else math.nan, at, step)
    sizes = {name: record.environment.get(name) for name in SIZES}
    for name, metric in {**sizes, **record.metrics}.items():
        if metric is not None and math.isfinite(metric):
            points[name, 0] = (clean_key(name), float(metric), end, 0)
    return tuple(points.values())
