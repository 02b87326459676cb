"""The rows of runs over their steps, in which each step has the last value of each metric until then."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ablate.base.errors import Invalid
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.runs.roles import STEPS
from ablate.runs.run_names import CONFIG, named
from ablate.runs.steps import LAST

Row = Mapping[str, str]
_MAX_CELLS = 40_000_000
_MAX_NAMES = 6
_ROW = "row"
"""The column that numbers the rows of a run, where they have no step."""


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
    status: str = ""
    end: Row = field(default_factory=dict)
    """The values of the run as a whole, which count where no row has them."""


def table_of(
    runs: Sequence[RunHistory], kind: str, options: AnalysisOptions, notes: Sequence[str]
) -> RunsFound:
    """Returns a row for each run and step, with the last value of each metric until then. Raises `Invalid`.

    A later row counts for what an earlier one said of the same step. A run without a number has failed.
    """
    step = _step_of(runs)
    of_runs = [_joined_by_step(run, step) for run in runs]
    metrics = [*dict.fromkeys(itertools.chain(*(row for rows in of_runs for row in rows.values())))]
    columns = [
        {"run": run.name, **run.known, **{CONFIG + name: value for name, value in run.settings.items()}}
        for run in runs
    ]
    head = pd.DataFrame(columns, dtype=str).fillna("")
    overrides = [run.overrides for run in runs if run.overrides is not None]
    names = named(head, options, overrides if len(overrides) == len(runs) else ())
    head = head.assign(**names.columns)

    is_failed = [not any(rows.values()) for rows in of_runs]
    head["status"] = [
        "failed" if failed and not run.status else run.status
        for run, failed in zip(runs, is_failed, strict=True)
    ]
    metrics = [name for name in metrics if name != step and name not in head]
    of_runs = _bounded(of_runs, len(head.columns) + len(metrics), options)
    lengths = [len(rows) for rows in of_runs]
    table = head.iloc[[run for run, length in enumerate(lengths) for _ in range(length)]]
    values: dict[str, list[str]] = {name: [] for name in metrics}
    steps: list[str] = []
    places: list[str] = []
    for run, rows in zip(runs, of_runs, strict=True):
        for number, row in rows.items():
            steps.append(f"{number:.15g}")
            places.append(f"{run.place}, {step} {number:.15g}" if len(rows) > 1 else run.place)
            for name, column in values.items():
                column.append(row.get(name, ""))
    table = table.set_axis(places).assign(**{step: steps}, **values)
    # What was measured comes before the settings, which may be many.
    table = table[sorted(table, key=lambda name: name.startswith(CONFIG))]

    roles = {**names.roles, "status": ["status"]}
    if "variant" in head and "variant" not in roles:
        roles["variant"] = ["variant"]
    if max(lengths) > 1:
        roles["step"] = [step]
    else:
        table = table.drop(columns=step) if step == _ROW else table
    all_notes = [*notes, *names.notes, *_doubts(runs, of_runs, is_failed, step)]
    return RunsFound(table, kind, roles, metrics, [*dict.fromkeys(all_notes)])


def _step_of(runs: Sequence[RunHistory]) -> str:
    """Returns the name of what numbers the steps of all runs: the first that each run with several rows has."""
    of_runs = []
    for run in runs:
        if len(run.rows) > 1:
            of_runs.append({*itertools.chain(*run.rows)})
    if not of_runs:
        return _ROW
    common = set.intersection(*of_runs)
    found = {name.lower(): name for name in common}
    return next((found[name] for name in STEPS if name in found), _ROW)


def _joined_by_step(run: RunHistory, step: str) -> dict[float, dict[str, str]]:
    """Returns step → the last value of each metric until then, in the order of the steps.

    A row without a step belongs to that of the row before it.
    """
    of_step: dict[float, dict[str, str]] = {}
    number = 0.0
    for place, row in enumerate(run.rows, start=1):
        if step == _ROW:
            number = float(place)
        elif number_in(row.get(step, "")) == number_in(row.get(step, "")):
            number = number_in(row[step])
        of_row = {name: value for name, value in row.items() if value != "" and name != step}
        of_step.setdefault(number, {}).update(of_row)
    joined: dict[float, dict[str, str]] = {}
    latest: dict[str, str] = {}
    for number in sorted(of_step):
        latest = latest | of_step[number]
        joined[number] = latest
    joined = joined or {0.0: {}}
    final = max(joined)
    joined[final] = {name: value for name, value in run.end.items() if value != ""} | joined[final]
    return joined


def _bounded(
    of_runs: Sequence[dict[float, dict[str, str]]], num_columns: int, options: AnalysisOptions
) -> list[dict[float, dict[str, str]]]:
    """Returns the rows of runs; the last of each alone where there are very many. Raises `Invalid`."""
    num_cells = sum(map(len, of_runs)) * num_columns
    if num_cells <= _MAX_CELLS:
        return [*of_runs]
    if options.where or options.at not in ("", LAST):
        rule = f"has {num_cells:,} cells, of which at most {_MAX_CELLS:,} are read with --at or --where"
        raise Invalid("RUNS", rule, hint="Read the last step of each run, or fewer runs")
    return [{max(rows): rows[max(rows)]} for rows in of_runs]


def _doubts(
    runs: Sequence[RunHistory],
    of_runs: Sequence[dict[float, dict[str, str]]],
    is_failed: Sequence[bool],
    step: str,
) -> list[str]:
    """Returns the sentences on runs without numbers, on rows without steps, and on runs that ended early."""
    notes = []
    failed = [run.name for run, failed in zip(runs, is_failed, strict=True) if failed]
    if failed:
        notes.append(message("analyse.without_numbers", failed))
    if step == _ROW and max(map(len, of_runs)) > 1:
        notes.append(message("analyse.rows_are_steps"))
    if step == _ROW:
        return notes
    ends = {}
    for run, rows in zip(runs, of_runs, strict=True):
        if any(step in row for row in run.rows):
            ends[run.name] = max(rows)
    last = max(ends.values(), default=0.0)
    early = [f"{name} ({end:.15g})" for name, end in ends.items() if end < last]
    if early:
        notes.append(message("analyse.ended_early", early, step, f"{last:.15g}"))
    return notes
