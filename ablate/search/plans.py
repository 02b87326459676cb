"""The plan of a study that is searched: its searches first, then the trials that judge what they have found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from ablate.core.events import Progress
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.search.search import Search
from ablate.search.storage import storage_errors

_POLL = 1.0
"""Seconds between two looks at what other drivers have finished."""


class SearchPlan:
    """Searches in step with one another, so that all workers are busy; then what `judged` gives.

    `judged` is called once, when every search is done. `asked` hears of every trial that is asked for. `storage` is the
    URL of theirs, for what is said when it is gone.
    """

    def __init__(
        self,
        searches: Sequence[Search],
        judged: Callable[[], Sequence[Trial]],
        asked: Callable[[Search | None, Sequence[Trial]], None],
        say: Callable[[str], None],
        storage: str = "",
    ) -> None:
        self.searches = searches
        self.judged = judged
        self.asked = asked
        self.say = say
        self.storage = storage
        self._judging: list[Trial] | None = None
        self._waited = False

    def ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        """The trials that the searches need now; when these are done, those that judge, once.

        Raises `StorageError` when their storage does not answer any more.
        """
        with storage_errors(self.storage):
            return self._ask(records)

    def _ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        while self._judging is None:
            found: dict[str, Trial] = {}
            for search in self.searches:
                needed = search.next(records)
                if needed:
                    self.asked(search, needed)
                found |= {trial.id: trial for trial in needed}
            if found:
                return list(found.values())
            if all(search.done for search in self.searches):
                self._judging = list({trial.id: trial for trial in self.judged()}.values())
                self.asked(None, self._judging)
                return self._judging
            self._wait()
        return []

    def _wait(self) -> None:
        if not self._waited:
            count = sum(search.elsewhere for search in self.searches)
            self.say(f"Waiting for {count} trials of the search that another driver is at …")
        self._waited = True
        time.sleep(_POLL)

    def decide(self, event: Progress) -> bool:
        """Whether a trial that waits shall stop."""
        return any(search.hear(event.trial_id, event.step, event.metrics) for search in self.searches)

    @property
    def expected(self) -> int:
        """Trainings that the searches will have asked for in the end, at most."""
        with storage_errors(self.storage):
            return sum(search.expected for search in self.searches)
