"""Which studies refer to which trials, from the results folder alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.errors import AblateError

TABLE = "trials.parquet"


@dataclass(frozen=True)
class Place:
    """Where a trial stands in a study that has been reported."""

    study: str
    row: dict[str, Any]
    "Its row of the study's table of trials: id, variant, task, seed, factors, status, reason, metrics."


def study_folders(results: Path) -> list[Path]:
    """The folders of `results` that a run of a study has written to."""
    found = {path.parent for name in (TABLE, "study.yaml") for path in results.glob(f"*/{name}")}
    return sorted(folder for folder in found if folder.name != "store")


def reported(folder: Path) -> list[str]:
    """The trials in the table of a study's folder; none when it has not been reported. Raises `AblateError`."""
    path = folder / TABLE
    return [row["id"] for row in _rows(path, ["id"])] if path.is_file() else []


def places(results: Path, trial_id: str) -> list[Place]:
    """Where a trial stands in the studies that have been reported. Raises `AblateError`."""
    return [
        Place(folder.name, row)
        for folder in study_folders(results)
        if trial_id in reported(folder)
        for row in _rows(folder / TABLE)
        if row["id"] == trial_id
    ]


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
