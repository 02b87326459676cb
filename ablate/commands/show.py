"""`ablate show`: one trial, and the command that repeats it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.text import at_results, safe, typed
from ablate.commands._console import RESULTS, warn

if TYPE_CHECKING:
    from ablate.core.record import Record
    from ablate.core.trial import Cell
    from ablate.records.folder import StudyFolder

    Reference = tuple[StudyFolder, Cell]  # A study that refers to the trial, and the place that it has there.


@click.command("show")
@click.argument("trial", metavar="ID")
@RESULTS
def command(trial: str, results: Path) -> None:
    """Show one trial and the command that repeats it.

    ID is the id of the trial, or its first characters where no other trial has the same. The command shows the
    metrics, config, environment and output of the trial.
    """
    click.echo(show(trial, results, warn))


def show(given: str, results: Path, warn: Callable[[str], None]) -> str:
    """Returns the trial whose id is `given`, or starts with it, as text. Raises `AblateError`."""
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store

    store = Store(results / "store", warn, read_only=True)
    folders = StudyFolder.all(results)
    trial_id = _full_id(given, results, store.trials, folders)
    references: list[Reference] = []
    for folder in folders:
        references += [(folder, cell) for cell in folder.find(trial_id)]
    record = store.load(trial_id)
    if record is None:
        raise AblateError(
            f"{store.trials / trial_id}.json: is not there or cannot be read: trained elsewhere, or removed; run its "
            "study again"
        )

    shown = []
    for title, text in _sections(record, references, store.trials).items():
        if text.strip():
            lines = [f"  {line}".rstrip() for line in text.rstrip().splitlines()]
            shown.append("\n".join([title, *lines]))
    return safe("\n\n".join(shown))


def _full_id(given: str, results: Path, trials: Path, folders: Sequence[StudyFolder]) -> str:
    """Returns the only trial of the store or of a study's tables whose id starts with `given`.

    Raises `AblateError` where there is none, or are several.
    """
    from ablate.records.store import stored

    ids = {trial_id for trial_id, files in stored(trials).items() if files[0].suffix == ".json"}
    for folder in folders:
        ids |= folder.ids()
    if not ids:
        raise AblateError(
            f"{results}: holds no trials; run a study first, or name another folder with --results"
        )
    start = given.strip().lower()
    matches = sorted(trial_id for trial_id in ids if start and trial_id.startswith(start))
    if len(matches) == 1:
        return matches[0]
    if matches:
        rule = f"matches {len(matches)} trials"
        allowed = listed(matches, 8)
        hint = "Give more characters of the id"
    else:
        rule = "matches no trial"
        allowed = f"an id of the {len(ids)} trials in {results}, or its start"
        hint = nearest(start, ids) or f"The ids are the names of the files in {trials}"
    problem = Problem(rule, given=given, allowed=allowed, hint=hint, source="ID")
    raise AblateError(str(problem))


def _sections(record: Record, references: Sequence[Reference], trials: Path) -> dict[str, str]:
    """Returns the title and the text of each section, empty where there is nothing to say."""
    studies = [_place(folder, cell) for folder, cell in references]
    commands = [_repeat(folder, cell, record) for folder, cell in references]
    return {
        "trial": _yaml(_facts(record, trials)),
        "studies": "\n".join(studies) or "No study refers to this trial.",
        "metrics": _yaml(record.metrics),
        "config": _yaml(record.config),
        "environment": _yaml(record.environment),
        "data": _yaml(record.data),
        "output": record.output,
        "traceback": record.error,
        "to repeat it, with the baseline of the same seed": "\n".join(commands),
    }


def _facts(record: Record, trials: Path) -> dict[str, str | int]:
    """Returns the short facts of a trial that are known, by name."""
    from ablate.core.record import why
    from ablate.external.snapshot import RUNS

    facts: dict[str, str | int] = {
        "id": record.id,
        "status": record.status,
        "reason": why(record.status, record.reason),
        "seed": record.seed,
        "started": record.started_at,
        "finished": record.finished_at,
        "attempts": record.attempts,
    }
    if record.kept:
        facts["weights"] = f"{trials / record.id}.safetensors ({' and '.join(record.kept)})"
    written = trials.parent / RUNS / record.id
    if written.is_dir():
        facts["folder"] = str(written)
    return {name: value for name, value in facts.items() if value != ""}


def _place(folder: StudyFolder, cell: Cell) -> str:
    """Returns where a study has the trial: variant, task if it has tasks, and seed."""
    task = f" on {cell.task}" if cell.task else ""
    return f"{folder.name}: {cell.variant}{task}, seed {cell.seed}"


def _repeat(folder: StudyFolder, cell: Cell, record: Record) -> str:
    """Returns the command that trains the trial again, from the resolved study with the options of its run."""
    at = at_results(folder.results)
    facts = folder.reported_facts()
    of_sweep = facts is not None and facts.plan.searched == "sweep"
    if of_sweep or not cell.judged:
        # `--only` cannot name a winner, or what no verdict rests on.
        command = typed("sweep" if of_sweep else "run", folder.study_file, *at)
        return f"{command}   # remove its record from the store first: {record.id}.json"
    condition = ["--condition", cell.task] if facts is not None and len(facts.tasks) > 1 else []
    options = ["--only", cell.variant, *condition, "--seed", str(cell.seed), "--fresh", *at]
    if record.status == "failed":
        options += ["--jobs", "0"]  # Where a debugger can follow it.
    return typed("run", folder.study_file, *options)


def _yaml(data: Mapping[str, Any]) -> str:
    """Returns plain data as YAML, in its own order; empty for no data."""
    from ruamel.yaml import YAML

    if not data:
        return ""
    yaml = YAML()
    yaml.width = 1000
    buffer = io.StringIO()
    yaml.dump(dict(data), buffer)
    return buffer.getvalue()
