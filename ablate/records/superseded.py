"""`store/superseded.jsonl`: trainings whose results do not count, since their trials were trained again.

A trial that fails is tried again by the next run, and its record replaced; `--fresh` and a record that was removed
have trials trained again, too. Where runs fail because they go badly, those that are left are better than the variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import TypeAdapter

from ablate.base.kept import STRICT, Journal
from ablate.base.locks import exclusive
from ablate.core.record import Record
from ablate.core.same_numbers import have_same_numbers

_NAME = "superseded.jsonl"
_REMEDY = "Restore it, or remove it: how often trials failed or were trained again is then no longer known"
Why = Literal["failed", "replaced"]


@dataclass(frozen=True)
class Superseded:
    """A line of the file: a training that does not count."""

    __pydantic_config__: ClassVar[object] = STRICT

    trial: str
    """The id of its trial."""
    why: Why
    """The reason: it `failed`, or it had a result and was `replaced` by a later training with another."""
    moment: str
    """The start of the failed training, or of the one that replaced it: by both, a line is known again."""


_LINE = TypeAdapter(Superseded)


def superseded_in(root: Path) -> list[Superseded]:
    """Returns the trainings of a store that do not count. Raises `AblateError` for a damaged file."""
    return _journal(root).lines


def superseded_by(record: Record, earlier: Record | None) -> list[Superseded]:
    """Returns the trainings that do not count once a record is stored: failed ones, and one with another result.

    earlier: the record that it replaces.
    """
    lines: list[Superseded] = []
    if earlier is not None and earlier.status == "failed":
        lines.append(Superseded(record.id, "failed", earlier.started_at))
    elif earlier is not None and _has_other_result(earlier, record):
        lines.append(Superseded(record.id, "replaced", record.started_at))
    if record.status == "failed":
        lines.append(Superseded(record.id, "failed", record.started_at))
    return lines


def _has_other_result(earlier: Record, record: Record) -> bool:
    """Returns whether an earlier record of a trial had a result, and another one than the record after it."""
    return earlier.status in ("completed", "diverged") and not have_same_numbers(
        earlier.metrics, record.metrics
    )


def note_superseded(root: Path, lines: Iterable[Superseded], say: Callable[[str], None]) -> None:
    """Keeps trainings that do not count, each once; other drivers of the store wait. Raises `AblateError`."""
    trainings = dict.fromkeys(lines)
    if not trainings:
        return
    with exclusive(root, _NAME, say):
        journal = _journal(root)
        kept = {*journal.lines}
        added = [line for line in trainings if line not in kept]
        if added:
            journal.add(*added)


def _journal(root: Path) -> Journal[Superseded]:
    return Journal(root / _NAME, _LINE, _REMEDY)
