"""`results/store/studies/<study>.json`: every trial that a study refers to, and the sources of its last report.

The list is written when a run starts and grows while it searches; until a report is published it keeps what it held,
since a run that was interrupted has left trials. It lies beside the store, so that it outlives the study's folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter

from ablate.base.errors import AblateError, Problem
from ablate.base.files import digest_of_data, write_text
from ablate.base.kept import OBJECT, STRICT, content_of, validated
from ablate.core.overhead import Overhead
from ablate.core.trial import JUDGED, Cell, Level, Trial

FORMAT = 4
"""The format of the list.

Formats 1, without a digest, 2, without `lacks_tracking`, and 3, without `overhead`, are read too.
"""
UNKNOWN_ROLE = ""
"""The role of a cell on which no verdict rests, where an older version has not kept which one it was."""
_OLDER = ConfigDict(extra="ignore", strict=True, defer_build=True)


@dataclass(frozen=True)
class _Entry:
    """A cell as the list keeps it, without the config of its trial."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    id: str
    variant: str
    task: str
    seed: int
    name: str
    role: str
    levels: dict[str, Level]

    @classmethod
    def of(cls, cell: Cell) -> _Entry:
        """Returns the entry of a cell."""
        return cls(
            id=cell.id,
            variant=cell.variant,
            task=cell.task,
            seed=cell.seed,
            name=cell.name,
            role=cell.role,
            levels=dict(cell.levels),
        )

    @property
    def cell(self) -> Cell:
        """The cell, whose trial has no config."""
        return Cell(
            trial=Trial(self.id, {}, self.seed),
            variant=self.variant,
            task=self.task,
            seed=self.seed,
            name=self.name,
            role=self.role,
            levels=self.levels,
        )


@dataclass(frozen=True)
class ReportSources:
    """What the last report was made of; another digest of it means that the report is out of date."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    digest: str
    """The digest of all sources."""
    trials: list[str]
    """The ids of the trials that the report covers."""
    files: dict[str, str]
    """The files beside the study, each with its module."""
    facts: dict[str, Any]
    """The facts of the report, as plain data."""
    variables: dict[str, str]
    """Variables of the environment that its trials have read, each with the digest of its value."""
    lacks_tracking: bool = False
    """Whether MLflow is still to be brought up to date with the report."""
    overhead: Overhead | None = None
    """The overhead of the run that made the report; None in older lists."""


@dataclass(frozen=True)
class _Content:
    """The content of the file."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    format: Literal[2, 3, 4]
    cells: list[_Entry]
    report: ReportSources | None
    digest: str
    """The digest of all other fields."""


@dataclass(frozen=True)
class _OlderEntry:
    """A cell of format 1: its first versions kept only whether it was judged."""

    __pydantic_config__: ClassVar[ConfigDict] = _OLDER

    id: str
    variant: str
    task: str
    seed: int
    name: str = ""
    role: str | None = None
    judged: bool = False
    levels: dict[str, Level] = field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        """The cell, whose trial has no config."""
        unsaid = JUDGED if self.judged else UNKNOWN_ROLE
        fields = {name: value for name, value in asdict(self).items() if name not in ("judged", "role")}
        return _Entry(**fields, role=unsaid if self.role is None else self.role).cell


@dataclass(frozen=True)
class _OlderContent:
    """The content of a file of format 1; the sources of its report were those of another version."""

    __pydantic_config__: ClassVar[ConfigDict] = _OLDER

    format: Literal[1]
    cells: list[_OlderEntry]


@dataclass(frozen=True)
class _EntryId:
    """The id of a listed trial."""

    __pydantic_config__: ClassVar[ConfigDict] = _OLDER

    id: str


@dataclass(frozen=True)
class _ContentIds:
    """The ids in a file of any format."""

    __pydantic_config__: ClassVar[ConfigDict] = _OLDER

    cells: list[_EntryId]


_CONTENT = TypeAdapter(_Content)
_OLDER_CONTENT = TypeAdapter(_OlderContent)
_IDS = TypeAdapter(_ContentIds)


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

    def ids(self) -> set[str]:
        """Returns the ids of the listed trials. Tests no digest, which takes long. Raises `AblateError`."""
        remedy = self._remedy
        text = content_of(self.path, remedy)
        if text is None:
            return set()
        return {entry.id for entry in validated(_IDS, text, self.path, remedy).cells}

    def report(self) -> ReportSources | None:
        """Returns the sources of the last report; None before. Raises `AblateError`."""
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

    def note_report(self, report: ReportSources) -> None:
        """Keeps the sources of a report."""
        cells, _ = self._read_if_readable()
        self._write(cells, report)

    @property
    def _remedy(self) -> str:
        """What to do about a file that cannot be read."""
        return f"Run {self.path.stem} again, which replaces it"

    def _read_if_readable(self) -> tuple[dict[str, Cell], ReportSources | None]:
        """Returns the listed cells by trial id, and the sources of the report; empty where they cannot be read."""
        with suppress(AblateError):
            return self._read()
        return {}, None

    def _read(self) -> tuple[dict[str, Cell], ReportSources | None]:
        """Returns the listed cells by trial id, and the sources of the report. Raises `AblateError`."""
        remedy = self._remedy
        text = content_of(self.path, remedy)
        if text is None:
            return {}, None
        data = validated(OBJECT, text, self.path, remedy)
        if data.get("format") == 1:
            older = validated(_OLDER_CONTENT, text, self.path, remedy)
            return {entry.id: entry.cell for entry in older.cells}, None

        content = validated(_CONTENT, text, self.path, remedy)
        del data["digest"]
        if digest_of_data(data) != content.digest:
            raise AblateError(
                str(Problem("was edited: its digest is another", hint=remedy, source=str(self.path)))
            )
        return {entry.id: entry.cell for entry in content.cells}, content.report

    def _write(self, cells: Mapping[str, Cell], report: ReportSources | None) -> None:
        """Writes the list, and the sources of the report where there are any."""
        entries = [asdict(_Entry.of(cell)) for cell in cells.values()]
        data = {"format": FORMAT, "cells": entries, "report": None if report is None else asdict(report)}
        # As JSON gives it back.
        data = json.loads(json.dumps(data))
        write_text(self.path, json.dumps({**data, "digest": digest_of_data(data)}) + "\n")


def first_of_each(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Returns trial id → the first of the cells that share it."""
    first_cells: dict[str, Cell] = {}
    for cell in cells:
        first_cells.setdefault(cell.id, cell)
    return first_cells
