"""A side of a comparison that was still improving when training ended, as a value that tables store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ImprovingSide:
    """A variant that was still improving when training ended on a task; a table stores it as an object of JSON."""

    variant: str
    task: str


def sides_as_text(sides: Iterable[ImprovingSide]) -> str:
    """Returns sides as a table stores them: a list in JSON; empty text for none."""
    listed = [asdict(side) for side in sides]
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def sides_in(text: str) -> list[ImprovingSide]:
    """Returns the sides in the text that `sides_as_text` writes."""
    return [ImprovingSide(**side) for side in json.loads(text)] if text else []
