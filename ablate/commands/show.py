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
    """The trial whose id is `given`, or starts with it, as text. Raises `AblateError`."""
    from ablate.core.record import why
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store

    store, folders = Store(results / "store", warn, read_only=True), StudyFolder.all(results)
    trial = _the_id(given, results, store.trials, folders)
    where = [(folder, cell) for folder in folders for cell in folder.find(trial)]
    record = store.load(trial)
    if record is None:
        raise AblateError(
            f"{store.trials / trial}.json: is not there or cannot be read: trained elsewhere, or removed; run its "
            "study again"
        )
    facts = {
        "id": record.id,
        "status": record.status,
        "reason": why(record.status, record.reason),
        "seed": record.seed,
        "started": record.started_at,
        "finished": record.finished_at,
        "attempts": record.attempts,
        "weights": f"{store.trials / trial}.safetensors ({' and '.join(record.kept)})" if record.kept else "",
    }
    sections = {
        "trial": _yaml({name: value for name, value in facts.items() if value != ""}),
        "studies": "\n".join(
            f"{folder.name}: {cell.variant}{cell.task and f' on {cell.task}'}, seed {cell.seed}"
            for folder, cell in where
        )
        or "No study refers to this trial.",
        "metrics": _yaml(record.metrics),
        "config": _yaml(record.config),
        "environment": _yaml(record.environment),
        "data": _yaml(record.data),
        "output": record.output,
        "traceback": record.error,
        "to repeat it, with the baseline of the same seed": "\n".join(
            _repeat(folder, cell, record) for folder, cell in where
        ),
    }
    shown = [
        "\n".join([title, *(f"  {line}".rstrip() for line in text.rstrip().splitlines())])
        for title, text in sections.items()
        if text.strip()
    ]
    return safe("\n\n".join(shown))


def _the_id(given: str, results: Path, trials: Path, folders: Sequence[StudyFolder]) -> str:
    """The only trial of the store or of a study's tables whose id starts with `given`."""
    from ablate.records.store import stored

    ids = {trial for trial, (first, *_) in stored(trials).items() if first.suffix == ".json"}
    ids.update(trial for folder in folders for trial in folder.ids())
    if not ids:
        raise AblateError(
            f"{results}: holds no trials; run a study first, or name another folder with --results"
        )
    wanted = given.strip().lower()
    found = sorted(i for i in ids if wanted and i.startswith(wanted))
    if len(found) == 1:
        return found[0]
    rule, allowed, hint = f"matches {len(found)} trials", listed(found, 8), "Give more characters of the id"
    if not found:
        rule, allowed = "matches no trial", f"an id of the {len(ids)} trials in {results}, or its start"
        hint = nearest(wanted, ids) or f"The ids are the names of the files in {trials}"
    raise AblateError(str(Problem(rule, (), given, allowed, hint, source="ID")))


def _repeat(folder: StudyFolder, cell: Cell, record: Record) -> str:
    """The command that trains the trial again, from the resolved study with the options of its run."""
    study, where = folder.study_file, at_results(folder.results)
    of_sweep = folder.has_report and folder.facts().searched == "sweep"
    if of_sweep or not cell.judged:
        # `--only` cannot name a winner, or what no verdict rests on.
        again = typed("sweep" if of_sweep else "run", study, *where)
        return f"{again}   # remove its record from the store first: {record.id}.json"
    debug = ["--jobs", "0"] if record.status == "failed" else []
    return typed("run", study, "--only", cell.variant, "--seed", str(cell.seed), "--fresh", *where, *debug)


def _yaml(data: Mapping[str, Any]) -> str:
    """Plain data as YAML, in its own order; empty for no data."""
    from ruamel.yaml import YAML

    yaml, buffer = YAML(), io.StringIO()
    yaml.width = 1000
    if data:
        yaml.dump(dict(data), buffer)
    return buffer.getvalue()
