"""What MLflow holds of a study: the run of a trial, from its cell and its record alone; the parent, from its folder.

The same record always gives the same content, timestamps included, so that a digest tells whether a run is up to date.
"""

import dataclasses
import getpass
import json
import math
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.files import digest_of_data
from ablate.base.text import printable
from ablate.core.record import Record
from ablate.core.short_names import short_name
from ablate.core.trial import RUNNER_UP, Cell
from ablate.records.folder import StudyFolder
from ablate.study.document import read_document

# Limits of MLflow's tracking stores, in characters.
MAX_KEY, MAX_PARAM, MAX_TAG = 250, 6000, 8000

STUDY_TAG, TRIAL_TAG, STATUS_TAG = "ablate.study", "ablate.trial", "ablate.status"
# Digest of the content; an ended run that has it is whole.
DIGEST_TAG = "ablate.complete"
NOTE_TAG, PARENT_TAG = "mlflow.note.content", "mlflow.parentRunId"
# The group of all curves, which MLflow shows before metrics without a group.
CURVES = "Curves"
# Of a record's environment: shown among the metrics.
SIZES = ("parameters", "flops", "training_flops")
# The key of a shared view of the table of runs, which is part of the address that `ablate ui` prints. MLflow keeps the
# columns of a table in the browser, and those of a view that is shared in a tag of the experiment.
VIEW = "ablate"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# Prefix of the metrics of the parent, which count the planned comparisons with each verdict.
COUNT = "comparisons_"

# What follows the setting of a rival in its name.
AFTER = r"( on \S+)? seed \d+$"

# One value of one metric: its key, the value, milliseconds since 1970, and the step.
Point = tuple[str, float, int, int]


@dataclass(frozen=True)
class Content:
    """The run of a trial, except its parent and its user."""

    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    points: Sequence[Point]
    texts: Mapping[str, str]  # file name → content
    status: str
    start: int  # milliseconds since 1970, as the end
    end: int

    @property
    def digest(self) -> str:
        """Changes if any content changes."""
        return digest_of_data(dataclasses.asdict(self))


@dataclass(frozen=True)
class Parent:
    """The parent run of a study that has a report."""

    note: str  # in Markdown; lists show its first sentence
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    artifacts: Sequence[Path]  # files, and folders of files
    view: str  # the order and the columns of the table of runs, as the tag of a view says them


def content_of(name: str, cell: Cell, record: Record) -> Content:
    """The run of a trial."""
    params = flattened(record.config)
    params |= flattened({path: level for path, level in cell.levels.items() if level is not None})
    params |= {"variant": cell.variant, "seed": str(cell.seed), "task": cell.task}
    start = milliseconds(record.started_at or record.finished_at)
    end = max(start, milliseconds(record.finished_at))
    texts = {"traceback.txt": record.error, "output.txt": record.output}
    return Content(
        name=name,
        params=cleaned(params, MAX_PARAM),
        tags=_tags(cell, record),
        points=_points(record, start, end),
        texts={name: printable(text) for name, text in texts.items() if text.strip()},
        status="FAILED" if record.status == "failed" else "FINISHED",
        start=start,
        end=end,
    )


def parent_of(folder: StudyFolder) -> Parent:
    """The parent run of a study that has a report. Raises `AblateError` when the folder cannot be read."""
    study, facts = read_document(folder.study_file).data, folder.facts()
    # Without its title, which is the name of the run, and its figures, which are among the files.
    page = folder.markdown_file.read_text(encoding="utf-8").splitlines()[2:]
    # Planned comparisons only: exploratory ones are not among the verdicts of the study.
    verdicts = Counter(row["verdict"] for row in folder.comparisons() if row["exploratory"] != "True")
    metrics = dict.fromkeys([facts.column, *(name for task in facts.tasks for name in task.metrics)])
    columns = ["params.`seed`", *(f"metrics.`{clean_key(name)}`" for name in metrics)]
    # By any other order than that of time MLflow shows all runs, and folds none below their parent.
    view = {"selectedColumns": columns, "orderByKey": "params.`variant`", "orderByAsc": True}
    given = flattened({key: study[key] for key in ("design", "seeds") if key in study})
    return Parent(
        note=cut("\n".join(line for line in page if not line.startswith("![")), MAX_TAG),
        tags=cleaned(given | source_tags(facts.environment), MAX_TAG),
        metrics={f"{COUNT}{verdict}": float(count) for verdict, count in verdicts.items()},
        artifacts=folder.artifacts(),
        view=json.dumps(view),
    )


def run_names(cells: Mapping[str, Cell], labels: Mapping[str, str]) -> dict[str, str]:
    """Trial id → a name that sorts by task, where there are several, then variant, by its short name, then seed.

    Of a rival it has the setting.
    """
    several = len({cell.task for cell in cells.values()}) > 1
    return {
        trial: " · ".join(
            [cell.task] * several
            + [short_name(cell.variant, labels)]
            + [f"rival{re.sub(AFTER, '', cell.name.removeprefix(cell.variant))}"] * (cell.role == RUNNER_UP)
            + [f"seed {cell.seed:02d}"]
        )[:MAX_KEY]
        for trial, cell in cells.items()
    }


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
    """Turns an ISO 8601 time with its zone into milliseconds since 1970; 0 for an empty string."""
    return round(datetime.fromisoformat(moment).timestamp() * 1000) if moment else 0


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


def _tags(cell: Cell, record: Record) -> dict[str, str]:
    return cleaned(
        {
            TRIAL_TAG: record.id,
            STATUS_TAG: record.status,
            "variant": cell.variant,
            "seed": cell.seed,
            "task": cell.task,
            "id": record.id,
            "stream": record.stream or None,
            "reason": record.reason or None,
            NOTE_TAG: record.reason or None,
            **source_tags(record.environment),
        },
        MAX_TAG,
    )


def _points(record: Record, start: int, end: int) -> tuple[Point, ...]:
    """Curves, then the final metrics and the size of the model at step 0, which MLflow draws as bars and not as lines.

    The times of curves are interpolated between start and end by step. Values that are not finite are NaN on a curve
    (MLflow would show infinity as 1.8e308) and absent among the final metrics, as in the record.
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
    for name, metric in {**{name: record.environment.get(name) for name in SIZES}, **record.metrics}.items():
        if metric is not None and math.isfinite(metric):
            points[name, 0] = (clean_key(name), float(metric), end, 0)
    return tuple(points.values())
