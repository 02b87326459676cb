"""Which studies refer to which trials, from the results folder alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.core.search_table import SWEEP, TUNING, UNTUNED, SearchTable, setting_name

TABLE = "trials.parquet"


@dataclass(frozen=True)
class Place:
    """Where a trial stands in a study that has been reported."""

    study: str
    row: dict[str, Any]
    """Its row of the table: id, variant, task, seed, factors, status, reason, metrics. Of a search, status and reason
    are those of the setting, and there are no metrics."""
    table: str = TABLE
    "The table, in the folder of the study."

    @property
    def judged(self) -> bool:
        """Whether a verdict rests on it; otherwise it is of a search, or of a variant before it was tuned."""
        return self.table == TABLE


def study_folders(results: Path) -> list[Path]:
    """The folders of `results` that a run of a study has written to."""
    found = {path.parent for name in (TABLE, "study.yaml") for path in results.glob(f"*/{name}")}
    return sorted(folder for folder in found if folder.name != "store")


def reported(folder: Path) -> list[str]:
    """The trials in the tables of a study's folder; none when it has not been reported. Raises `AblateError`."""
    judged = [path for path in (folder / TABLE, folder / UNTUNED / TABLE) if path.is_file()]
    found = [row["id"] for path in judged for row in _rows(path, ["id"])]
    return found + [
        trial for path in _searches(folder) for row in _rows(path, ["ids"]) for trial in row["ids"]
    ]


def _searches(folder: Path) -> list[Path]:
    return [path for name in (SWEEP, TUNING) if (path := folder / name).is_file()]


def places(results: Path, trial_id: str) -> list[Place]:
    """Where a trial stands in the studies that have been reported. Raises `AblateError`."""
    found = []
    for folder in study_folders(results):
        if trial_id not in reported(folder):
            continue
        for table, note in ((TABLE, ""), (f"{UNTUNED}/{TABLE}", " untuned")):
            rows = _rows(folder / table) if (folder / table).is_file() else []
            found += [
                Place(folder.name, row | {"variant": f"{row['variant']}{note}"}, table)
                for row in rows
                if row["id"] == trial_id
            ]
        for path in _searches(folder):
            found += [Place(folder.name, row, path.name) for row in _settings(path, trial_id)]
    return found


def _settings(path: Path, trial_id: str) -> Iterator[dict[str, Any]]:
    """What a table of trials would say of a trial, for each setting of a search that it belongs to."""
    searched, swept = SearchTable.load(path), path.name == SWEEP
    if searched is None:
        return
    rows = searched.trials.to_dict("records")
    ended = {
        (setting_name(row["variant"], row["number"], swept), row["task"]): {
            name: row[name] for name in ("status", "reason")
        }
        for row in rows
    }
    for found, name, task, seed, levels in searched.runs(swept):
        if found == trial_id:
            yield {"id": trial_id, "variant": name, "task": task, "seed": seed, **levels, **ended[name, task]}


def remembered(root: Path) -> dict[str, list[str]]:
    """Study → the trials of its last complete report, as the store at `root` knows them. Raises `AblateError`."""
    found = {}
    for path in sorted((root / "studies").glob("*.json")):
        try:
            found[path.stem] = [
                str(trial) for trial in json.loads(path.read_text(encoding="utf-8"))["trials"]
            ]
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = f"run {path.stem} again, which writes it anew"
            raise AblateError(f"{path}: cannot be read ({type(error).__name__}: {error}); {hint}") from None
    return found


def _rows(path: Path, columns: list[str] | None = None) -> list[dict[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path, columns=columns).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        first = str(error).partition("\n")[0]
        raise AblateError(
            f"{path}: is not a table of trials ({first}); restore it, or run the study again"
        ) from None
    return rows
