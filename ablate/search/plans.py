"""The plan of several searches that proceed together, so that all workers are busy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from ablate.core.cell import Cell
from ablate.core.events import Progress
from ablate.core.record import Record
from ablate.search.search import Search
from ablate.search.storage import storage_errors

_POLL = 1.0
"""Seconds between two queries for what other drivers have finished."""


class SearchPlan:
    """See `ablate.core.plan.Plan`. `storage` is the URL of Optuna's storage, for the error when it does not answer."""

    def __init__(self, searches: Sequence[Search], say: Callable[[str], None], storage: str) -> None:
        self.searches = searches
        self.say = say
        self.storage = storage
        self._waited = False

    @property
    def done(self) -> bool:
        """Whether every search has used its budget."""
        return all(search.done for search in self.searches)

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns the cells that the searches need now. Raises `StorageError` if their storage does not answer."""
        with storage_errors(self.storage):
            while True:
                cells = [cell for search in self.searches for cell in search.next(records)]
                if cells or self.done:
                    return cells
                if not self._waited:
                    count = sum(search.elsewhere for search in self.searches)
                    self.say(f"Waiting for {count} settings that other drivers are training …")
                self._waited = True
                time.sleep(_POLL)

    def hear(self, report: Progress) -> bool:
        """Whether a setting that waits ends here."""
        return any(search.hear(report.trial_id, report.step, report.metrics) for search in self.searches)

    @property
    def left(self) -> int:
        """The most trainings that the searches may ask for later."""
        with storage_errors(self.storage):
            return sum(search.left for search in self.searches)
