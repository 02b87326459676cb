"""The rows of runs over their steps, in which each step has the last value of each metric until then."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pandas as pd

from ablate.base.errors import Invalid
from ablate.base.numerals import in_one_form
from ablate.base.once import put_once
from ablate.core.ending import UNKNOWN, Ending
from ablate.report.words import message
from ablate.runs.cells import BLANK, number_in
from ablate.runs.formats.parts_in_rows import are_tasks
from ablate.runs.formats.run_names import CONFIG, RunNames, named
from ablate.runs.histories import ROW
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.roles import STEPS
from ablate.runs.steps import LAST

Row = Mapping[str, str]
History = dict[float, dict[str, str]]
"""Step → the last value of each metric until then, in the order of the steps."""
NO_NUMBER = "has no number"
"""Why a run has failed in which nothing was measured, although nothing says so."""
_MAX_CELLS = 40_000_000


@dataclass(frozen=True)
class RunHistory:
    """One run: its settings, and what it measured at each step, in the order in which it was written."""

    name: str
    place: str
    """Where it was read, for messages."""
    rows: Sequence[Row]
    """The values of each row; those of steps, such as `epoch`, among them."""
    settings: Row = field(default_factory=dict)
    known: Row = field(default_factory=dict)
    """The variant and the seed, as far as the run itself names them."""
    overrides: Mapping[str, str] | None = None
    """The settings by which its call names it, as that of Hydra does."""
    ended: Ending = UNKNOWN
    end: Row = field(default_factory=dict)
    """The values of the run as a whole, which count where no row has them."""
    content: str = ""
    """The digest of its files."""
    labels: Sequence[Row | None] = ()
    """What tells each row from those of other parts of the data, by column; None of a row that belongs to all parts."""
    part: Row = field(default_factory=dict)
    """The part of the data, of a history of one part."""


def table_of(
    runs: Sequence[RunHistory], kind: str, options: AnalysisOptions, notes: Sequence[str]
) -> RunsFound:
    """Returns a row for each run and step, with the last value of each metric until then. Raises `Invalid`.

    A later row counts for what an earlier one said of the same step and part of the data. A run without a number has
    failed.
    """
    _refuse_one_name(runs)
    of_parts = [_by_part(run) for run in runs]
    histories_of = [*itertools.chain(*of_parts)]
    step = _step_of(histories_of)
    histories = [_joined_by_step(run, step) for run in histories_of]
    is_failed = [not any(map(_has_value, history.values())) for history in histories]
    head, names = _named_runs(of_parts, is_failed, options)
    parts = _add_parts(head, histories_of, names, options)
    metrics: dict[str, None] = {}
    for history in histories:
        metrics |= dict.fromkeys(itertools.chain(*history.values()))
    measured = [name for name in metrics if name != step and name not in head]
    histories = _bounded(histories, len(head.columns) + len(measured), options)
    table = _by_step(head, histories_of, histories, step=step, metrics=measured)
    places = _places_of_runs(table, histories)
    endings: dict[str, Ending] = {}
    last_steps: dict[str, float] = {}
    for run, history, failed, of_run in zip(histories_of, histories, is_failed, places, strict=True):
        endings |= dict.fromkeys(of_run, _end_of(run, is_failed=failed))
        if step == ROW or any(step in row for row in run.rows):
            last_steps |= dict.fromkeys(of_run, max(history))

    roles = {**names.roles, "status": ["status"]}
    if len(table) > len(histories_of):
        roles["step"] = [step]
    elif step == ROW:
        table = table.drop(columns=step)
    all_notes = [*notes, *names.notes, *_doubts(histories_of, histories, is_failed, step)]
    return RunsFound(
        table,
        kind,
        roles,
        measured,
        [*dict.fromkeys(all_notes)],
        endings=endings,
        last_steps=last_steps,
        content=[run.content for run in runs],
        parts=parts,
    )


def _by_part(run: RunHistory) -> list[RunHistory]:
    """Returns the history of each part of the data; the run itself where its rows have no labels."""
    rows_of: dict[tuple[str, ...], list[Row]] = {}
    labels: dict[tuple[str, ...], Row] = {}
    for label in run.labels:
        if label is not None:
            labels.setdefault(tuple(label.values()), label)
    for row, label in zip(run.rows, run.labels, strict=bool(run.labels)):
        for key in labels if label is None else [tuple(label.values())]:
            rows_of.setdefault(key, []).append(row)
    if not rows_of:
        return [run]
    histories = []
    for key, rows in rows_of.items():
        place = f"{run.place}, {' '.join(filter(None, key)) or 'no part'}"
        histories.append(replace(run, rows=rows, part=labels[key], place=place, labels=()))
    return histories


def _add_parts(
    head: pd.DataFrame, runs: Sequence[RunHistory], names: RunNames, options: AnalysisOptions
) -> list[str]:
    """Adds the columns of the parts of the data to the head, takes tasks for those, and returns these columns."""
    parts: list[str] = []
    for name in dict.fromkeys(itertools.chain(*(run.part for run in runs))):
        column = f"row.{name}" if name in head else name
        values = [run.part.get(name, "") for run in runs]
        head[column] = values
        parts.append(column)
        if are_tasks(name, values) and "task" not in options.named_roles:
            names.roles.setdefault("task", []).append(column)
            names.notes.append(message("analyse.tasks_of_rows", column))
    return parts


def _places_of_runs(table: pd.DataFrame, histories: Sequence[History]) -> list[list[str]]:
    """Returns the places of the rows of each run, of a table that has a row for each step of its history."""
    places = iter(table.index)
    return [[*itertools.islice(places, len(history))] for history in histories]


def _refuse_one_name(runs: Sequence[RunHistory]) -> None:
    """Raises `TwiceError` for two runs of one name, of which one would hide the other."""
    places: dict[str, str] = {}
    for run in runs:
        put_once(places, run.name, run.place)


def _has_value(row: Row) -> bool:
    return any(value not in BLANK for value in row.values())


def _named_runs(
    of_parts: Sequence[Sequence[RunHistory]], is_failed: Sequence[bool], options: AnalysisOptions
) -> tuple[pd.DataFrame, RunNames]:
    """Returns a row a history, with its name, variant, seed, status and settings; and the roles of these columns.

    of_parts: the histories of each run. is_failed: whether each history has failed.
    """
    rows = []
    runs = [histories[0] for histories in of_parts]
    for run in runs:
        settings = {CONFIG + name: value for name, value in run.settings.items()}
        rows.append({"run": run.name, **run.known, **settings})
    head = pd.DataFrame(rows, dtype=str).fillna("")
    overrides = [run.overrides for run in runs if run.overrides is not None]
    names = named(head, options, overrides if len(overrides) == len(runs) else ())
    head = head.assign(**names.columns)
    positions = [place for place, histories in enumerate(of_parts) for _ in histories]
    histories_of = itertools.chain(*of_parts)
    ends = [_end_of(run, is_failed=failed).kind for run, failed in zip(histories_of, is_failed, strict=True)]
    return head.iloc[positions].reset_index(drop=True).assign(status=ends), names


def _end_of(run: RunHistory, *, is_failed: bool) -> Ending:
    """Returns how a run ended; one without a number that nothing is known of has failed."""
    if is_failed and run.ended.what_counts == "its number":
        return Ending("failed", NO_NUMBER, run.ended.source)
    return run.ended


def _by_step(
    head: pd.DataFrame,
    runs: Sequence[RunHistory],
    histories: Sequence[History],
    *,
    step: str,
    metrics: Sequence[str],
) -> pd.DataFrame:
    """Returns the rows of runs, once for each of their steps, with the metrics; settings come last."""
    values: dict[str, list[str]] = {name: [] for name in (step, *metrics)}
    positions: list[int] = []
    places: list[str] = []
    for position, (run, history) in enumerate(zip(runs, histories, strict=True)):
        for number, row in history.items():
            numeral = repr(number).removesuffix(".0")
            positions.append(position)
            places.append(f"{run.place}, {step} {numeral}" if len(history) > 1 else run.place)
            values[step].append(numeral)
            for name in metrics:
                values[name].append(row.get(name, ""))
    table = head.iloc[positions].set_axis(places).assign(**values)
    return table[sorted(table, key=lambda name: name.startswith(CONFIG))]


def _step_of(runs: Sequence[RunHistory]) -> str:
    """Returns the name of what numbers the steps of all runs: the first that each run with several rows has.

    One that starts again in each epoch gives way to one that grows throughout.
    """
    of_runs = []
    for run in runs:
        if len(run.rows) > 1:
            of_runs.append({*itertools.chain(*run.rows)})
    if not of_runs:
        return ROW
    common = set.intersection(*of_runs)
    spelled = {name.lower(): name for name in common}
    candidates = [spelled[name] for name in STEPS if name in spelled]
    growing = [name for name in candidates if all(_is_growing(run.rows, name) for run in runs)]
    return next(iter([*growing, *candidates]), ROW)


def _is_growing(rows: Sequence[Row], step: str) -> bool:
    numbers = [number_in(row[step]) for row in rows if step in row]
    return all(one <= other for one, other in pairwise(numbers))


def _joined_by_step(run: RunHistory, step: str) -> History:
    """Returns step → the last value that each metric had until then, in the order of the steps.

    The last step also has the results that the run wrote once, at its end.
    """
    of_step: History = {}
    for name, points in _points_of(run, step).items():
        for number, value in _without_undone_steps(points).items():
            values = of_step.setdefault(number, {})
            if name != step:
                values[name] = value
    joined: History = {}
    latest: dict[str, str] = {}
    for number in sorted(of_step):
        latest = latest | of_step[number]
        joined[number] = latest
    joined = joined or {0.0: {}}
    final = max(joined)
    joined[final] = {name: value for name, value in run.end.items() if value != ""} | joined[final]
    return joined


def _points_of(run: RunHistory, step: str) -> dict[str, list[tuple[float, str]]]:
    """Returns metric, and the step itself → its steps and values in a run in the order in which they were written.

    A row without a step belongs to that of the row before it.
    """
    points: dict[str, list[tuple[float, str]]] = {}
    number = 0.0
    for place, row in enumerate(run.rows, start=1):
        if step == ROW:
            number = float(place)
        elif number_in(row.get(step, "")) == number_in(row.get(step, "")):
            number = number_in(row[step])
        for name, value in row.items():
            if value != "":
                points.setdefault(name, []).append((number, value))
    return points


def _without_undone_steps(points: Sequence[tuple[float, str]]) -> dict[float, str]:
    """Returns step → value, without those that a run which went back to an earlier step has undone.

    points: in the order in which they were written. Where most steps fall, that order says nothing, and the later of
    two values at one step counts.
    """
    num_falls = sum(one > other for (one, _), (other, _) in pairwise(points))
    is_in_order = 2 * num_falls < len(points)
    values: dict[float, str] = {}
    before = -math.inf
    for number, value in points:
        if is_in_order and number < before:
            values = {earlier: of_step for earlier, of_step in values.items() if earlier < number}
        values[number] = value
        before = number
    return values


def _is_written_twice(run: RunHistory, step: str) -> bool:
    """Returns whether a run wrote a value of a metric that does not count, since a later one does.

    The same value at the same step, as checkpoints repeat it, is no other.
    """
    for name, points in _points_of(run, step).items():
        if name == step:
            continue  # Files of two parts of the data have the steps of each.
        in_one_form_each = [(number, in_one_form(value)) for number, value in points]
        if {*_without_undone_steps(in_one_form_each).items()} != {*in_one_form_each}:
            return True
    return False


def _bounded(histories: Sequence[History], num_columns: int, options: AnalysisOptions) -> list[History]:
    """Returns the rows of runs; the last of each alone where there are very many. Raises `Invalid`."""
    num_cells = sum(map(len, histories)) * num_columns
    if num_cells <= _MAX_CELLS:
        return [*histories]
    if options.where or options.at not in ("", LAST):
        rule = f"has {num_cells:,} cells, of which at most {_MAX_CELLS:,} are read with --at or --where"
        raise Invalid("RUNS", rule, hint="Read the last step of each run, or fewer runs")
    return [{max(rows): rows[max(rows)]} for rows in histories]


def _doubts(
    runs: Sequence[RunHistory],
    histories: Sequence[History],
    is_failed: Sequence[bool],
    step: str,
) -> list[str]:
    """Returns the sentences on runs without numbers and on rows without steps."""
    notes = []
    failed = [run.name for run, failed in zip(runs, is_failed, strict=True) if failed]
    if failed:
        notes.append(message("analyse.without_numbers", [*dict.fromkeys(failed)]))
    if step == ROW and max(map(len, histories)) > 1:
        notes.append(message("analyse.rows_are_steps"))
    if step == ROW:
        return notes
    twice = [run.name for run in runs if _is_written_twice(run, step)]
    if twice:
        notes.append(message("analyse.written_twice", step, [*dict.fromkeys(twice)]))
    return notes
