"""What MLflow holds of a study: the run of a trial, from its cell and its record alone; the parent, from its folder.

The same record and cell always give the same content, timestamps included, so that a digest of them tells whether a run
is up to date.
"""

import getpass
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from ablate.base.files import digest_of_data
from ablate.base.text import printable
from ablate.core.facts import StudyFacts
from ablate.core.record import Curve, Record
from ablate.core.short_names import short_name, short_names
from ablate.core.stages import TRIED, stage_of
from ablate.core.trial import RUNNER_UP, Cell
from ablate.core.undeclared import undeclared_of
from ablate.records.folder import StudyFolder
from ablate.study.document import read_document
from ablate.tracking.names import CURVES, MAX_KEY, MAX_PARAM, MAX_TAG, clean_key, cleaned, cut
from ablate.tracking.view import view_of

# Counts up where `content_of` changes, so that all runs are written again.
CONTENT_FORMAT = 1

STUDY_TAG = "ablate.study"
TRIAL_TAG = "ablate.trial"
STATUS_TAG = "ablate.status"
# The key of a trial, or the digest of a whole study; an ended run that has it is whole.
DIGEST_TAG = "ablate.complete"
# The digest of the report that a parent shows.
REPORT_TAG = "ablate.report"
# The artifacts that MLflow shows as tables.
TABLES_TAG = "mlflow.loggedArtifacts"
NOTE_TAG = "mlflow.note.content"
PARENT_TAG = "mlflow.parentRunId"
# What a record's environment says of the size of the model → its name among the metrics.
SIZES = {
    "parameters": "parameters",
    "flops": "flops_per_example",
    "training_flops": "training_flops_per_example",
}
# Prefix of the metrics of the parent, which count the planned comparisons with each verdict.
COUNT = "comparisons_"

# The columns of the table of comparisons.
COLUMNS = (
    *("label", "metric", "verdict", "diff", "ci_low", "ci_high", "task", "n", "level", "reason"),
    *("mean_variant", "mean_baseline", "mde", "p", "exploratory", "variant", "baseline"),
)

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


@dataclass(frozen=True)
class Parent:
    """The parent run of a study that has a report."""

    note: str  # in Markdown; lists show its first sentence
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    artifacts: Sequence[Path]  # files, and folders of files
    tables: Mapping[str, str]  # file name → content, which MLflow shows as a table
    view: str  # the order and the columns of the table of runs, as the tag of a view says them


def content_of(cell: Cell, record: Record, *, name: str, label: str) -> Content:
    """Returns what MLflow holds of a trial; `label`: its variant for readers."""
    levels = {path: level for path, level in cell.levels.items() if level is not None}
    params = flattened(record.config) | flattened(levels)
    params |= {"variant": cell.variant, "seed": str(cell.seed), "task": cell.task}
    texts = {"traceback.txt": record.error, "output.txt": record.output}
    start = milliseconds(record.started_at or record.finished_at)
    end = max(start, milliseconds(record.finished_at))
    return Content(
        name=name,
        params=cleaned(params, MAX_PARAM),
        tags=_tags(cell, record, label),
        points=_points(record, start, end),
        texts={file: printable(text) for file, text in texts.items() if text.strip()},
        status="FAILED" if record.status == "failed" else "FINISHED",
        start=start,
        end=end,
    )


def key_of(cell: Cell, record: str, *, name: str, label: str) -> str:
    """Returns a key that changes whenever the content of a trial's run does.

    record: the digest of the file of the trial's record, which holds that of its arrays.
    """
    shown = [cell.variant, cell.task, cell.seed, cell.name, cell.role, dict(cell.levels)]
    return digest_of_data([CONTENT_FORMAT, record, name, label, shown])


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
        tables={"comparisons.json": _comparisons(folder, facts)},
        view=view_of(facts),
    )


def _note(folder: StudyFolder) -> str:
    """Returns the page of a report in Markdown, cut to the length of a tag.

    It lacks its title, which is the name of the run, and its figures, which are among the files.
    """
    lines = folder.markdown_file.read_text(encoding="utf-8").splitlines()
    below_title = lines[2:]
    return cut("\n".join(line for line in below_title if not line.startswith("![")), MAX_TAG)


def _comparisons(folder: StudyFolder, facts: StudyFacts) -> str:
    """Returns the comparisons in the form that `mlflow.log_table` writes, planned ones first.

    Columns without a value are left out, and numbers are rounded: the CSV file beside it has all digits.
    """
    rows = []
    names = short_names(facts)
    for row in sorted(folder.comparisons(), key=lambda row: row["exploratory"] == "True"):
        label = names.get(row["variant"], row["variant"])
        rows.append({"label": label, **row})
    columns = [name for name in COLUMNS if any(row.get(name) for row in rows)]
    data = [[_plain(row.get(name, "")) for name in columns] for row in rows]
    return json.dumps({"columns": columns, "data": data})


def _plain(text: str) -> float | str:
    """Returns a cell of a CSV file as a number of four digits, or as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    return float(f"{number:.4g}") if math.isfinite(number) else text


def _counts_of_verdicts(folder: StudyFolder) -> dict[str, float]:
    """Returns how many planned comparisons have each verdict; others are no verdicts of the study."""
    planned = [row for row in folder.comparisons() if row["exploratory"] != "True"]
    counts = Counter(row["verdict"] for row in planned if row["verdict"])
    return {f"{COUNT}{verdict}": float(count) for verdict, count in counts.items()}


def variant_labels(cells: Iterable[Cell], labels: Mapping[str, str]) -> dict[str, str]:
    """Returns the name for readers of each variant, without its setting; no two alike.

    labels: the names that the study gives.
    """
    variants = {variant_of(cell): short_name(variant_of(cell), labels) for cell in cells}
    counts = Counter(variants.values())
    return {name: short if counts[short] == 1 else name for name, short in variants.items()}


def variant_of(cell: Cell) -> str:
    """Returns the variant of a cell, without the setting at which a search has tried it."""
    return cell.variant.partition(" · ")[0]


def _setting_of(cell: Cell) -> str:
    """Returns the setting of a trial, where it is not its variant's own: `setting 002`, `at training.lr=0.01`."""
    if cell.role == RUNNER_UP:
        return re.sub(TASK_AND_SEED, "", cell.name.removeprefix(cell.variant)).strip()
    stressed = re.search(r" seed \d+ (at .+)$", cell.name)
    if stressed is not None:
        return stressed[1]
    _, _, setting = cell.variant.partition(" · ")
    return setting


def run_name(cell: Cell, label: str, *, task: bool) -> str:
    """Returns the name of a trial's run.

    Names sort by task, where the study has several, then by variant, and then by seed. That of a trial which is not a
    final one has its stage or setting.
    """
    words = [label]
    if task:
        words.insert(0, cell.task)
    setting = _setting_of(cell)
    if cell.role == TRIED and setting:
        words.append(setting)
    elif not cell.judged:
        words.append(f"{stage_of(cell.role)} {setting}".strip())
    words.append(f"seed {cell.seed:02d}")
    return " · ".join(words)[:MAX_KEY]


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


def _tags(cell: Cell, record: Record, label: str) -> dict[str, str]:
    """Returns the tags of a trial's run."""
    tags: dict[str, object] = {
        TRIAL_TAG: record.id,
        STATUS_TAG: record.status,
        "variant": variant_of(cell),
        "label": label,
        "stage": stage_of(cell.role),
        "setting": _setting_of(cell) or None,
        "seed": cell.seed,
        "task": cell.task,
        "id": record.id,
        "stream": record.stream or None,
        "reason": record.reason or None,
        NOTE_TAG: record.reason or None,
    }
    return cleaned(tags | source_tags(record.environment) | _system_tags(record.environment), MAX_TAG)


def _system_tags(environment: Mapping[str, object]) -> dict[str, object]:
    """Returns the tags that say on which machine a trial ran, and with which versions."""
    tags = {f"system.{name}": environment.get(name) for name in ("machine", "kind")}
    versions = environment.get("versions")
    if isinstance(versions, Mapping):
        tags |= {f"system.{name}": version for name, version in versions.items()}
    return tags


def _points(record: Record, start: int, end: int) -> tuple[Point, ...]:
    """Returns the points of curves, then final metrics and the size of the model, from `start` to `end` of a trial.

    The times of curves are interpolated between start and end by step. Their values that are not finite are NaN:
    MLflow would show infinity as 1.8e308. Final metrics that are not finite are absent, as in the record. Final
    metrics stand at step 0, and MLflow draws them as bars and not as lines.
    """
    curves = {**_undeclared_curves(record), **record.curves}
    last_step = 0
    for curve in curves.values():
        if len(curve.steps):
            last_step = max(last_step, int(curve.steps[-1]))

    points: dict[tuple[str, int], Point] = {}
    for name, curve in curves.items():
        key = clean_key(f"{CURVES}/{name}")
        values = np.asarray(curve.values, dtype=float)
        for step, value in zip(curve.steps.tolist(), values.tolist(), strict=True):
            moment = start + round((end - start) * step / (last_step + 1))
            finite = value if math.isfinite(value) else math.nan
            points[key, step] = (key, finite, moment, step)

    sizes = {shown: record.environment.get(name) for name, shown in SIZES.items()}
    last = {name: float(curve.values[-1]) for name, curve in undeclared_of(record).items()}
    for name, metric in (last | sizes | record.metrics).items():
        if metric is not None and math.isfinite(metric):
            points[name, 0] = (clean_key(name), float(metric), end, 0)
    return tuple(points.values())


def _undeclared_curves(record: Record) -> dict[str, Curve]:
    """Returns the undeclared numbers that were reported more than once."""
    return {name: curve for name, curve in undeclared_of(record).items() if len(curve.steps) > 1}
