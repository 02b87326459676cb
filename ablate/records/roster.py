"""`results/store/studies/<study>.json`: every trial that a study refers to, and the sources of its last report.

The roster is written when a run starts and grows while it searches; until a report is published it keeps what it held,
since a run that was interrupted has left trials. It lies beside the store, so that it outlives the study's folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import digest_of, digest_of_file, write_text
from ablate.core.cell import JUDGED, Cell
from ablate.core.trial import Trial

FORMAT = 1
_PLACE = ("variant", "task", "seed", "name", "role", "levels")


class Roster:
    """The roster of one study; nothing exists before it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.study = path.stem

    def cells(self) -> list[Cell]:
        """The cells, whose trials have an id and a seed, and no config. Raises `AblateError`."""
        return [_cell(entry) for entry in self._read().get("cells", [])]

    def ids(self) -> set[str]:
        """The trials. Raises `AblateError`."""
        state = self._read()
        # An earlier format knew the trials of the last report alone.
        return {entry["id"] for entry in state.get("cells", [])} | set(state.get("trials", []))

    def add(self, cells: Iterable[Cell]) -> None:
        """Adds the cells whose trials are not listed; a roster that cannot be read is replaced."""
        state = self._read(strict=False)
        entries = {entry["id"]: entry for entry in state.get("cells", [])}
        before = len(entries)
        for cell in cells:
            entries.setdefault(cell.id, _entry(cell))
        if len(entries) > before or not self.path.is_file():
            self._write(state | {"cells": list(entries.values())})

    def close(self, cells: Iterable[Cell]) -> None:
        """After a report: lists these cells and no others."""
        state = self._read(strict=False)
        self._write(state | {"cells": [_entry(cell) for cell in first_of_each(cells).values()]})

    def note_report(self, digest: str, trials: Iterable[str], files: Sequence[str]) -> None:
        """Keeps the sources of the report: their digest, and the trials and files beside the study that it covers."""
        report = {"digest": digest, "trials": sorted(set(trials)), "files": list(files)}
        self._write(self._read(strict=False) | {"report": report})

    def report(self) -> Mapping[str, Any]:
        """The sources of the last report, as `note_report` kept them; empty before. Raises `AblateError`."""
        found: Mapping[str, Any] = self._read().get("report", {})
        return found

    def _read(self, *, strict: bool = True) -> dict[str, Any]:
        try:
            state = json.loads(self.path.read_text(encoding="utf-8"))
            if state.get("format", FORMAT) != FORMAT:
                raise ValueError(f"of format {state['format']!r}; this version of ablate reads {FORMAT}")
            for entry in state.get("cells", []):
                _cell(entry)
            return {str(key): value for key, value in state.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if not strict:
                return {}
            hint = f"run {self.study} again, which replaces it"
            raise AblateError(
                f"{self.path}: cannot be read ({type(error).__name__}: {error}); {hint}"
            ) from None

    def _write(self, state: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in state.items() if key in ("cells", "report")}
        write_text(self.path, json.dumps({"format": FORMAT} | kept) + "\n")


def first_of_each(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Trial id → the first of the cells that share it."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(cell.id, cell)
    return found


def digest_with_files(parts: Sequence[Any], files: Sequence[str]) -> str:
    """Changes with the parts, and with the content of the files. Raises `AblateError` for one that cannot be read."""
    content = [digest_of_file(file) for file in files]
    return digest_of(json.dumps([*parts, content]).encode())


def _entry(cell: Cell) -> dict[str, Any]:
    return {"id": cell.id} | {name: getattr(cell, name) for name in _PLACE} | {"levels": dict(cell.levels)}


def _cell(entry: Mapping[str, Any]) -> Cell:
    # An earlier format says no more than whether verdicts rest on a trial.
    known = {"role": JUDGED if entry.get("judged") else "tried", **entry}
    place = {name: known[name] for name in _PLACE}
    return Cell(trial=Trial(entry["id"], {}, entry["seed"]), **place)
