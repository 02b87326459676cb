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


class TrialList:
    """The list of one study, which does not exist before it is written.

    A file that cannot be read is replaced when the list is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def cells(self) -> list[Cell]:
        """Returns the cells, whose trials have an id and a seed, and no config. Raises `AblateError`."""
        cells, _ = self._read()
        return list(cells.values())

    def report(self) -> Mapping[str, Any]:
        """Returns the sources of the last report, as `note_report` kept them; empty before. Raises `AblateError`."""
        _, report = self._read()
        return report

    def add(self, cells: Iterable[Cell]) -> None:
        """Adds the cells whose trials are not listed."""
        listed, report = self._read_if_readable()
        extended = first_of_each([*listed.values(), *cells])
        if len(extended) > len(listed) or not self.path.is_file():
            self._write(extended, report)

    def keep_only(self, cells: Iterable[Cell]) -> None:
        """Lists these cells and no others, after a report."""
        _, report = self._read_if_readable()
        self._write(first_of_each(cells), report)

    def note_report(
        self,
        digest: str,
        trials: Iterable[str],
        files: Mapping[str, str],
        facts: Mapping[str, Any],
        variables: Mapping[str, str],
    ) -> None:
        """Keeps the sources of a report.

        digest: of the sources.
        trials: the ids of the trials that the report covers.
        files: the files beside the study, each with its module.
        facts: those of the report.
        variables: variables of the environment that its trials have read, each with the digest of its value.
        """
        cells, _ = self._read_if_readable()
        report = {"digest": digest, "trials": sorted(set(trials)), "files": dict(files), "facts": facts}
        if variables:
            report["variables"] = dict(variables)
        self._write(cells, report)

    def _read_if_readable(self) -> tuple[dict[str, Cell], dict[str, Any]]:
        """Returns the listed cells by trial id, and the sources of the report; empty where they cannot be read."""
        with suppress(AblateError):
            return self._read()
        return {}, {}

    def _read(self) -> tuple[dict[str, Cell], dict[str, Any]]:
        """Returns the listed cells by trial id, and the sources of the report. Raises `AblateError`."""
        try:
            state = json.loads(self.path.read_text(encoding="utf-8"))
            if state["format"] != FORMAT:
                raise ValueError(f"of format {state['format']!r}; this version of ablate reads {FORMAT}")
            cells = [_cell(entry) for entry in state.get("cells", [])]
            return {cell.id: cell for cell in cells}, dict(state.get("report", {}))
        except FileNotFoundError:
            return {}, {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise AblateError(
                f"{self.path}: cannot be read ({type(error).__name__}: {error}); run {self.path.stem} again, which "
                "replaces it"
            ) from None

    def _write(self, cells: Mapping[str, Cell], report: Mapping[str, Any]) -> None:
        """Writes the list, and the sources of the report where there are any."""
        state: dict[str, Any] = {"format": FORMAT, "cells": [_entry(cell) for cell in cells.values()]}
        if report:
            state["report"] = report
        write_text(self.path, json.dumps(state) + "\n")


def _entry(cell: Cell) -> dict[str, Any]:
    """Returns the entry of a cell in the list of trials, which lacks the config of its trial."""
    return {
        "id": cell.id,
        "variant": cell.variant,
        "task": cell.task,
        "seed": cell.seed,
        "name": cell.name,
        "role": cell.role,
        "levels": dict(cell.levels),
    }


def _cell(entry: Mapping[str, Any]) -> Cell:
    """Returns the cell of an entry of the file, whose trial has no config."""
    return Cell(
        trial=Trial(entry["id"], {}, entry["seed"]),
        variant=entry["variant"],
        task=entry["task"],
        seed=entry["seed"],
        name=entry["name"],
        role=entry["role"],
        levels=entry["levels"],
    )


def first_of_each(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Returns trial id → the first of the cells that share it."""
    first_cells: dict[str, Cell] = {}
    for cell in cells:
        first_cells.setdefault(cell.id, cell)
    return first_cells
