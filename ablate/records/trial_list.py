"""`results/store/studies/<study>.json`: every trial that a study refers to, and the sources of its last report.

The list is written when a run starts and grows while it searches; until a report is published it keeps what it held,
since a run that was interrupted has left trials. It lies beside the store, so that it outlives the study's folder.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.files import write_text
from ablate.core.trial import Cell, Trial

FORMAT = 1
_PLACE = ("variant", "task", "seed", "name", "role")


class TrialList:
    """That of one study; nothing exists before it is written. What cannot be read is replaced when it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cells(self) -> list[Cell]:
        """The cells, whose trials have an id and a seed, and no config. Raises `AblateError`."""
        return list(self._read()[0].values())

    def report(self) -> Mapping[str, Any]:
        """The sources of the last report, as `note_report` kept them; empty before. Raises `AblateError`."""
        return self._read()[1]

    def add(self, cells: Iterable[Cell]) -> None:
        """Adds the cells whose trials are not listed."""
        known, report = self._known()
        found = first_of_each([*known.values(), *cells])
        if len(found) > len(known) or not self.path.is_file():
            self._write(found, report)

    def keep_only(self, cells: Iterable[Cell]) -> None:
        """After a report: lists these cells and no others."""
        self._write(first_of_each(cells), self._known()[1])

    def note_report(
        self, digest: str, trials: Iterable[str], files: Mapping[str, str], facts: Mapping[str, Any]
    ) -> None:
        """Keeps the sources of the report: their digest, the trials that it covers, and the files beside the study,
        each with its module; and its facts.
        """
        self._write(
            self._known()[0],
            {"digest": digest, "trials": sorted(set(trials)), "files": dict(files), "facts": facts},
        )

    def _known(self) -> tuple[dict[str, Cell], dict[str, Any]]:
        with suppress(AblateError):
            return self._read()
        return {}, {}

    def _read(self) -> tuple[dict[str, Cell], dict[str, Any]]:
        try:
            state = json.loads(self.path.read_text(encoding="utf-8"))
            if state["format"] != FORMAT:
                raise ValueError(f"of format {state['format']!r}; this version of ablate reads {FORMAT}")
            cells = [
                Cell(trial=Trial(e["id"], {}, e["seed"]), levels=e["levels"], **{n: e[n] for n in _PLACE})
                for e in state.get("cells", [])
            ]
            return {cell.id: cell for cell in cells}, dict(state.get("report", {}))
        except FileNotFoundError:
            return {}, {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AblateError(
                f"{self.path}: cannot be read ({type(error).__name__}: {error}); run {self.path.stem} again, which "
                "replaces it"
            ) from None

    def _write(self, cells: Mapping[str, Cell], report: Mapping[str, Any]) -> None:
        entries = [
            {"id": cell.id} | {n: getattr(cell, n) for n in _PLACE} | {"levels": dict(cell.levels)}
            for cell in cells.values()
        ]
        state = {"format": FORMAT, "cells": entries} | ({"report": report} if report else {})
        write_text(self.path, json.dumps(state) + "\n")


def first_of_each(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Trial id → the first of the cells that share it."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(cell.id, cell)
    return found
