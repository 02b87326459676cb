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

import numpy as np

from ablate.base.files import digest_of_data
from ablate.base.text import printable
from ablate.core.facts import StudyFacts
from ablate.core.record import Record
from ablate.core.short_names import short_name
from ablate.core.trial import RUNNER_UP, Cell
from ablate.records.folder import StudyFolder
from ablate.study.document import read_document

# Limits of MLflow's tracking stores, in characters.
MAX_KEY = 250
MAX_PARAM = 6000
MAX_TAG = 8000

STUDY_TAG = "ablate.study"
TRIAL_TAG = "ablate.trial"
STATUS_TAG = "ablate.status"
# Digest of the content; an ended run that has it is whole.
DIGEST_TAG = "ablate.complete"
NOTE_TAG = "mlflow.note.content"
PARENT_TAG = "mlflow.parentRunId"
# The group of all curves, which MLflow shows before metrics without a group.
CURVES = "Curves"
# What a record's environment says of the size of the model, which is shown among the metrics.
SIZES = ("parameters", "flops", "training_flops")
# The key of a shared view of the table of runs, which is part of the address that `ablate ui` prints. MLflow keeps the
# columns of a table in the browser, and those of a view that is shared in a tag of the experiment.
VIEW = "ablate"
VIEW_TAG = f"mlflow.sharedViewState.{VIEW}"
# Prefix of the metrics of the parent, which count the planned comparisons with each verdict.
COUNT = "comparisons_"

# The task and the seed, which follow the setting of a rival in its name.
TASK_AND_SEED = r"( on \S+)? seed \d+$"

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
        """A digest that changes if any content changes."""
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
    """Returns what MLflow holds of a trial."""
    levels = {path: level for path, level in cell.levels.items() if level is not None}
    params = flattened(record.config) | flattened(levels)
    params |= {"variant": cell.variant, "seed": str(cell.seed), "task": cell.task}
    texts = {"traceback.txt": record.error, "output.txt": record.output}
    start = milliseconds(record.started_at or record.finished_at)
    end = max(start, milliseconds(record.finished_at))
    return Content(
        name=name,
        params=cleaned(params, MAX_PARAM),
        tags=_tags(cell, record),
        points=_points(record, start, end),
        texts={file: printable(text) for file, text in texts.items() if text.strip()},
        status="FAILED" if record.status == "failed" else "FINISHED",
        start=start,
        end=end,
    )


def parent_of(folder: StudyFolder) -> Parent:
    """Makes the content of a study's parent run from its report. Raises `AblateError` for an unreadable folder."""
    study = read_document(folder.study_file).data
    facts = folder.facts()
    planned = flattened({key: study[key] for key in ("design", "seeds") if key in study})
    return Parent(
        note=_note(folder),
        tags=cleaned(planned | source_tags(facts.environment), MAX_TAG),
        metrics=_counts_of_verdicts(folder),
        artifacts=folder.artifacts(),
        view=_view(facts),
    )


def _note(folder: StudyFolder) -> str:
    """Returns the page of a report in Markdown, cut to the length of a tag.

    It lacks its title, which is the name of the run, and its figures, which are among the files.
    """
    lines = folder.markdown_file.read_text(encoding="utf-8").splitlines()
    below_title = lines[2:]
    return cut("\n".join(line for line in below_title if not line.startswith("![")), MAX_TAG)


def _counts_of_verdicts(folder: StudyFolder) -> dict[str, float]:
    """Returns how many planned comparisons have each verdict; exploratory ones are no verdicts of the study."""
    planned = [row for row in folder.comparisons() if row["exploratory"] != "True"]
    counts = Counter(row["verdict"] for row in planned)
    return {f"{COUNT}{verdict}": float(count) for verdict, count in counts.items()}


def _view(facts: StudyFacts) -> str:
    """Returns the view of the table of runs that shows the metrics of the study."""
    metrics = [facts.column]
    for task in facts.tasks:
        metrics.extend(task.metrics)
    columns = ["params.`seed`"]
    columns += [f"metrics.`{clean_key(metric)}`" for metric in dict.fromkeys(metrics)]
    # By any other order than that of time MLflow shows all runs, and folds none below their parent.
    return json.dumps({"selectedColumns": columns, "orderByKey": "params.`variant`", "orderByAsc": True})


def run_names(cells: Mapping[str, Cell], labels: Mapping[str, str]) -> dict[str, str]:
    """Returns the name of each trial's run, by trial id.

    Names sort by task, where there are several, then by variant, which has its short name, and then by seed. That of a
    rival has its setting.
    """
    num_tasks = len({cell.task for cell in cells.values()})
    names = {}
    for trial_id, cell in cells.items():
        words = [short_name(cell.variant, labels)]
        if num_tasks > 1:
            words.insert(0, cell.task)
        if cell.role == RUNNER_UP:
            setting = re.sub(TASK_AND_SEED, "", cell.name.removeprefix(cell.variant))
            words.append(f"rival{setting}")
        words.append(f"seed {cell.seed:02d}")
        names[trial_id] = " · ".join(words)[:MAX_KEY]
    return names


def flattened(config: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Returns a config as dotted paths; a part is the value of its own path.

    `norm: {name: batch}` is `norm` = `batch`.

    >>> flattened({"model": {"d_model": 32, "value": {"name": "low_rank", "rank": 8}}})
    {'model.d_model': '32', 'model.value': 'low_rank', 'model.value.rank': '8'}
    """
    flat: dict[str, str] = {}
    for key, value in config.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping):
            flat |= flattened(value, path)
            continue

        if key == "name" and prefix:
            path = prefix
        flat[path] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat


def cleaned(values: Mapping[str, object], limit: int) -> dict[str, str]:
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
    whole_lines, _, _ = head.rpartition("\n")
    return f"{whole_lines or head}\n…"


def milliseconds(moment: str) -> int:
    """Turns an ISO 8601 time with its zone into milliseconds since 1970; 0 for an empty string."""
    if not moment:
        return 0
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def user() -> str:
    """Returns the user's name; `unknown` where the system has none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def source_tags(environment: Mapping[str, object]) -> dict[str, object]:
    """Returns the tags that say which command was run, and at which commit."""
    commit = environment.get("commit")
    return {
        "commit": commit,
        "dirty": _flag(environment.get("dirty")),
        "ablate_commit": environment.get("ablate_commit"),
        "ablate_dirty": _flag(environment.get("ablate_dirty")),
        "mlflow.source.type": "LOCAL",
        "mlflow.source.name": environment.get("command"),
        "mlflow.source.git.commit": commit,
    }


def _flag(value: object) -> str | None:
    """Returns a flag as a tag; None for none."""
    return None if value is None else json.dumps(value)


def _tags(cell: Cell, record: Record) -> dict[str, str]:
    """Returns the tags of a trial's run."""
    tags: dict[str, object] = {
        TRIAL_TAG: record.id,
        STATUS_TAG: record.status,
        "variant": cell.variant,
        "seed": cell.seed,
        "task": cell.task,
        "id": record.id,
        "stream": record.stream or None,
        "reason": record.reason or None,
        NOTE_TAG: record.reason or None,
    }
    return cleaned(tags | source_tags(record.environment), MAX_TAG)


def _points(record: Record, start: int, end: int) -> tuple[Point, ...]:
    """Returns the points of curves, then final metrics and the size of the model, from `start` to `end` of a trial.

    The times of curves are interpolated between start and end by step. Their values that are not finite are NaN:
    MLflow would show infinity as 1.8e308. Final metrics that are not finite are absent, as in the record. Final
    metrics stand at step 0, and MLflow draws them as bars and not as lines.
    """
    last_step = 0
    for curve in record.curves.values():
        if len(curve.steps):
            last_step = max(last_step, int(curve.steps[-1]))

    points: dict[tuple[str, int], Point] = {}
    for name, curve in record.curves.items():
        key = clean_key(f"{CURVES}/{name}")
        values = np.asarray(curve.values, dtype=float)
        for step, value in zip(curve.steps.tolist(), values.tolist(), strict=True):
            moment = start + round((end - start) * step / (last_step + 1))
            finite = value if math.isfinite(value) else math.nan
            points[key, step] = (key, finite, moment, step)

    sizes = {name: record.environment.get(name) for name in SIZES}
    for name, metric in (sizes | record.metrics).items():
        if metric is not None and math.isfinite(metric):
            points[name, 0] = (clean_key(name), float(metric), end, 0)
    return tuple(points.values())
