"""A run that trained for another length than the others of its variant, as a value that tables store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class UnequalRun:
    """A run that ended before the others of its variant, or after them; a table stores it as an object of JSON."""

    variant: str
    seed: int
    counted: str
    """What its length is counted in: `step`, `epochs_trained`."""
    reached: float
    usual: float
    """How far the others of its variant came, or most runs of other variants."""

    @property
    def ended_early(self) -> bool:
        """Whether it ended before the others."""
        return self.reached < self.usual


def as_text(runs: Iterable[UnequalRun]) -> str:
    """Returns runs as a table stores them: a list in JSON; empty text for none."""
    listed = [asdict(run) for run in runs]
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def runs_in(text: str) -> list[UnequalRun]:
    """Returns the runs in the text that `as_text` writes."""
    return [UnequalRun(**run) for run in json.loads(text)] if text else []
