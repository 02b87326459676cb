"""`ablate show`: one trial as it is known, and the command that repeats it. Imports no torch."""

from __future__ import annotations

import io
import math
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.core.cell import Cell
from ablate.core.record import Record
from ablate.core.search_table import WINNER
from ablate.records.folder import StudyFolder
from ablate.records.store import Store

DEFAULT_RESULTS = Path("results")


def show(given: str, results: Path, warn: Callable[[str], None]) -> str:
    """What is known of the trial whose id is `given`, or begins so; raises `AblateError`."""
    store = Store(results / "store", warn, read_only=True)
    trial_id = _the_id(given, results, store)
    where = [(folder, *found) for folder in StudyFolder.all(results) for found in folder.find(trial_id)]
    record = store.load(trial_id)
    lines = []
    if record is None:
        rows = [(folder.path / file, row) for folder, file, _, row in where if row]
        if not rows:
            raise AblateError(f"{store.trials / trial_id}.json: cannot be used any more; run its study again")
        lines = [
            f"Its record is not in {store.root}: it was trained elsewhere, or dropped.",
            f"What follows is its row of {rows[0][0]}.",
        ]
        record = _from_row(rows[0][1])
    facts = {"id": record.id, "status": record.status, "reason": record.reason, "seed": record.seed}
    if record.started_at:
        facts |= {"started": record.started_at, "finished": record.finished_at, "attempts": record.attempts}
    if record.kept:
        path = store.trials / f"{record.id}.safetensors"
        gone = "" if path.is_file() else ", which is gone"
        facts["weights"] = f"{path}{gone} ({' and '.join(record.kept)})"
    studies = [f"{folder.name}: {_name(cell)}" for folder, _, cell, _ in where]
    sections = {
        "trial": _yaml({name: value for name, value in facts.items() if value != ""}),
        "studies": "\n".join(studies) or "No study refers to it.",
        "metrics": _metrics(record.metrics),
        "config": _yaml(record.config),
        "environment": _yaml(record.environment),
        "data": _yaml(record.data),
        "output": _printable(record.output),
        "traceback": _printable(record.error),
        "to repeat it (and the baseline under its seed)": "\n".join(
            _repeat(folder, file, cell, record) for folder, file, cell, _ in where
        ),
    }
    for title, text in sections.items():
        if text.strip():
            lines += ["", title, *(f"  {line}".rstrip() for line in text.rstrip().splitlines())]
    return "\n".join(lines).lstrip("\n")


def _the_id(given: str, results: Path, store: Store) -> str:
    """The one trial of the store or of a study's table whose id begins with `given`."""
    ids = {path.stem for path in store.trials.glob("[!.]*.json")}
    ids.update(trial for folder in StudyFolder.all(results) for trial in folder.ids())
    if not ids:
        raise AblateError(
            f"{results}: holds no trials; run a study first, or name another folder with --results"
        )
    wanted = given.strip().lower()
    if wanted in ids:
        return wanted
    found = sorted(trial for trial in ids if wanted and trial.startswith(wanted))
    if len(found) == 1:
        return found[0]
    if found:
        problem = Problem(
            f"is the beginning of {len(found)} trials",
            (),
            given,
            listed(found, 8),
            "Give more of it",
            source="ID",
        )
    else:
        allowed = f"the id of one of the {len(ids)} trials in {results}, or its beginning"
        hint = nearest(wanted, ids) or f"The ids are the names of the files in {store.trials}"
        problem = Problem("names no trial", (), given, allowed, hint, source="ID")
    raise AblateError(str(problem))


def _from_row(row: Mapping[str, Any]) -> Record:
    """What a study's table says of a trial; its numbers are its metrics."""
    numbers = {name: value for name, value in row.items() if isinstance(value, float)}
    metrics = {name: None if math.isnan(value) else value for name, value in numbers.items()}
    return Record(row["id"], {}, row["seed"], row["status"], metrics=metrics, reason=row.get("reason") or "")


def _name(cell: Cell) -> str:
    task = f" on {cell.task}" if cell.task else ""
    return f"{cell.variant}{task}, seed {cell.seed}"


def _repeat(folder: StudyFolder, file: str, cell: Cell, record: Record) -> str:
    """The command that trains the trial again, by the study as it was resolved: options of the run included."""
    if not folder.study_file.is_file():
        return f"{folder.study_file} is gone; run {folder.name} again to have it back."
    where = ["--results", str(folder.results)] if folder.results != DEFAULT_RESULTS else []
    swept = folder.search_table_file("sweep")
    found = swept.is_file() and cell.variant.partition("-")[0] == WINNER
    if found or not cell.judged:
        # None of a setting, a winner of a sweep, and a variant before it was tuned, can be asked for alone.
        command = "sweep" if found or file == swept.name else "run"
        again = shlex.join(["ablate", command, str(folder.study_file), *where])
        return f"{again}   # after its record was removed from the store: {record.id}.json"
    words = ["ablate", "run", str(folder.study_file), "--only", cell.variant, "--seed", str(cell.seed)]
    words += ["--fresh", *where]
    words += ["--jobs", "0"] if record.status == "failed" else []
    return shlex.join(words)


def _metrics(metrics: Mapping[str, float | None]) -> str:
    width = max(map(len, metrics), default=0)
    return "\n".join(
        f"{name:{width}}  {'–' if value is None else repr(value)}" for name, value in metrics.items()
    )


def _yaml(data: Mapping[str, Any]) -> str:
    """Plain data as YAML in the order that it has."""
    if not data:
        return ""
    yaml = YAML()
    yaml.width = 1000
    buffer = io.StringIO()
    yaml.dump(dict(data), buffer)
    return buffer.getvalue()


def _printable(text: str) -> str:
    """Text that a trial printed, without what would move the cursor or colour the terminal."""
    plain = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", text)
    return "".join(c for c in plain if c in "\n\t" or c.isprintable())
