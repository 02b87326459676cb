"""The table of an MLflow experiment: a row a run, or with `--at` a row for each step of a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isclose
from statistics import fmean
from typing import TYPE_CHECKING

from ablate.base.errors import Gather
from ablate.base.once import put_once
from ablate.core.stages import FINAL
from ablate.report.words import message
from ablate.runs.formats.flat_objects import flat_table
from ablate.runs.judged import is_spelled_alike
from ablate.runs.options import AnalysisOptions, reserved_names
from ablate.runs.reader import RunsFound
from ablate.tracking.content import PARENT_TAG, STATUS_TAG

if TYPE_CHECKING:
    from mlflow.entities import Experiment, Run
    from mlflow.tracking import MlflowClient

_PAGE = 1000
"""The most runs that a server sends at once."""
_INFO = ("run_id", "status", "start_time", "end_time")
"""What MLflow says of each run beside its parameters, tags and metrics."""
_STEP = "step"
_OF_MACHINE = "system/"
"""What the names of metrics begin with that MLflow measures of the machine."""


def table_of(client: MlflowClient, experiment: Experiment, options: AnalysisOptions) -> RunsFound:
    """Returns the runs of an experiment, without those that have runs below them. Raises `Invalid`."""
    notes: list[str] = []
    runs = _without_summaries(_runs_of(client, experiment.experiment_id), options, notes)
    with Gather() as at:
        hint = "Deleted runs do not count: restore them in MLflow first"
        at.refuse(not runs, "RUNS", "is an experiment without runs", experiment.name, hint=hint)
    roles = {"status": ["status"]}
    is_of_ablate = all(STATUS_TAG in run.data.tags for run in runs)
    if is_of_ablate:
        roles = {"status": [f"tags.{STATUS_TAG}"]}
        final = [run for run in runs if run.data.tags.get("stage", FINAL) == FINAL]
        if len(final) < len(runs):
            notes.append(message("analyse.final_runs", len(runs), len(final)))
        runs = final

    columns = _columns_of_metrics(runs, options)
    last_steps: dict[str, float] = {}
    rows: list[object] = []
    places = []
    repeated: dict[str, None] = {}
    for run in runs:
        settings = _settings_of(run)
        if not options.at:
            rows.append(settings | _in_columns(run.data.metrics, columns))
            places.append(run.info.run_id)
            last_steps[run.info.run_id] = _last_step(run)
            continue
        for step, values in _history_of(client, run, _needed(columns, options), repeated):
            rows.append({**settings, _STEP: step, **_in_columns(values, columns)})
            places.append(f"{run.info.run_id}, step {step}")
    if options.at:
        roles |= {"step": [_STEP], "run": ["run_id"]}
    if repeated:
        notes.append(message("analyse.step_logged_twice", [*repeated]))
    metrics = [*itertools.chain(*columns.values())]
    kind = f"experiment {experiment.name!r} of MLflow"
    content = [run.info.run_id for run in runs]
    table = flat_table(rows, places)
    return RunsFound(table, kind, roles, metrics, notes, last_steps=last_steps, content=content)


def _runs_of(client: MlflowClient, experiment_id: str) -> list[Run]:
    """Returns the runs of an experiment that are not deleted, the first that started first."""
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs(
            [experiment_id], max_results=_PAGE, order_by=["attributes.start_time ASC"], page_token=token
        )
        runs += page
        token = page.token
        if not token:
            break
    return runs


def _without_summaries(runs: Sequence[Run], options: AnalysisOptions, notes: list[str]) -> list[Run]:
    """Returns the runs that count, of those that are nested in one another, and notes the others.

    A parent with a value of the judged metric that is neither that of a run below it nor their mean is a run, and what
    is nested in it without this metric is a part of it. Any other parent sums up the runs below it.
    """
    below: dict[str, list[Run]] = {}
    for run in runs:
        below.setdefault(run.data.tags.get(PARENT_TAG, ""), []).append(run)
    parents = [run for run in runs if run.info.run_id in below]
    are_runs = {run.info.run_id for run in parents if _has_own_result(run, below, options)}
    summaries = [run for run in parents if run.info.run_id not in are_runs]
    parts = []
    for parent in are_runs:
        parts += [run for run in below[parent] if not _judged_values(run, options)]
    parts = [run for run in parts if run.info.run_id not in below]
    if any(_judged_values(run, options) for run in summaries):
        notes.append(message("analyse.parents", [_name_of(run) for run in summaries]))
    if parts:
        notes.append(message("analyse.nested", [_name_of(run) for run in parts]))
    both = [run for parent in are_runs for run in below[parent] if _judged_values(run, options)]
    if both:
        notes.append(message("analyse.nested_too", [_name_of(run) for run in both]))
    left_out = {run.info.run_id for run in [*summaries, *parts]}
    return [run for run in runs if run.info.run_id not in left_out]


def _has_own_result(parent: Run, below: Mapping[str, Sequence[Run]], options: AnalysisOptions) -> bool:
    """Returns whether a parent has a value of a judged metric that sums up none of the runs below it."""
    of_children = [_judged_values(run, options) for run in below[parent.info.run_id]]
    shared = {*itertools.chain(*of_children)}
    for name, value in _judged_values(parent, options).items():
        if not options.metric and name not in shared:
            continue  # It counts the runs below it, or the like.
        values = [values[name] for values in of_children if name in values]
        summaries = [*values, fmean(values)] if values else []
        if not any(isclose(value, summary, rel_tol=1e-9) for summary in summaries):
            return True
    return False


def _judged_values(run: Run, options: AnalysisOptions) -> dict[str, float]:
    """Returns metric → value of the judged metric of a run, or of all where the call names none."""
    judged = options.metric.removeprefix("metrics.")
    metrics = run.data.metrics
    return {
        name: value
        for name, value in metrics.items()
        if judged in ("", name) or is_spelled_alike(name, judged)
    }


def _name_of(run: Run) -> str:
    return str(run.info.run_name or run.info.run_id)


def _settings_of(run: Run) -> dict[str, object]:
    """Returns what MLflow holds of a run, but for its metrics."""
    info = run.info
    values = (info.run_id, info.status, _time(info.start_time), _time(info.end_time))
    settings: dict[str, object] = dict(zip(_INFO, values, strict=True))
    settings |= {f"params.{name}": value for name, value in run.data.params.items()}
    return settings | {f"tags.{name}": value for name, value in run.data.tags.items()}


def _last_step(run: Run) -> float:
    """Returns the last step at which a run has logged a metric; NaN where it has logged none.

    MLflow numbers what it measures of the machine by samples, not by steps of the training.
    """
    steps = [metric.step for metric in run.data.to_proto().metrics if not metric.key.startswith(_OF_MACHINE)]
    return float(max(steps)) if steps else math.nan


def _time(milliseconds: int | None) -> str:
    """Returns a time of MLflow's as text; empty for none."""
    return "" if milliseconds is None else str(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _columns_of_metrics(runs: Sequence[Run], options: AnalysisOptions) -> dict[str, list[str]]:
    """Returns metric → its columns: its own name, and `metrics.NAME` where the call says so or the name is taken."""
    logged: dict[str, None] = {}
    for run in runs:
        logged |= dict.fromkeys(run.data.metrics)
    words = [options.metric, options.at, *options.where, *options.claim]
    words += [name for _, name in options.columns]
    words += [*options.also]
    said = " ".join(words)
    columns: dict[str, list[str]] = {}
    for name in logged:
        is_taken = name in (*reserved_names(), *_INFO, _STEP) or name.startswith(
            ("params.", "tags.", "metrics.")
        )
        columns[name] = [] if is_taken else [name]
        if is_taken or f"metrics.{name}" in said:
            columns[name].append(f"metrics.{name}")
    return columns


def _in_columns(values: Mapping[str, float], columns: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Returns the values of metrics by the columns that they have."""
    cells: dict[str, object] = {}
    for name, value in values.items():
        for column in columns[name]:
            put_once(cells, column, value)
    return cells


def _needed(columns: Mapping[str, Sequence[str]], options: AnalysisOptions) -> list[str]:
    """Returns the metrics whose histories a call needs, the one that must have a value at a step first."""
    best = options.at.removeprefix("best ").strip() if options.at.startswith("best ") else ""
    wanted = {best, options.metric, *options.also}
    # A metric that the call does not name is guessed, from all.
    needed = [name for name, known in columns.items() if not options.metric or wanted & {*known}]
    return sorted(needed, key=lambda name: (best or options.metric) not in columns[name])


def _history_of(
    client: MlflowClient, run: Run, needed: Sequence[str], repeated: dict[str, None]
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yields the steps of a run at which the first of some metrics has a value, and the values at each.

    A metric that was logged once is of the whole run. Adds to `repeated` each metric of which a step has two values.
    """
    by_step: dict[int, dict[str, float]] = {}
    of_run: dict[str, float] = {}
    steps: set[int] = set()
    for name in needed:
        history = client.get_metric_history(run.info.run_id, name) if name in run.data.metrics else []
        history = sorted(history, key=lambda point: (point.step, point.timestamp))
        if len(history) == 1 and steps:
            of_run[name] = history[0].value
            continue
        steps = steps or {point.step for point in history}
        if len({point.step for point in history}) < len(history):
            repeated[f"{name} of {_name_of(run)}"] = None
        for point in history:
            by_step.setdefault(point.step, {})[name] = point.value
    if not steps:  # A run without the metric has one row all the same, and its status says why.
        yield 0, of_run
    for step in sorted(steps):
        yield step, of_run | by_step[step]
