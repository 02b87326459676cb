"""What a run trains next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ablate.core.record import Record
from ablate.core.trial import Trial


class Plan(Protocol):
    """Decides what to train next. The driver knows nothing else about what is run."""

    def ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        """The trials to train now, given the finished ones by id; none when the plan is done."""


class FixedPlan:
    """A list of trials, asked for once, without those that are already there."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = list({trial.id: trial for trial in trials}.values())
        self._asked = False

    def ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        """All trials without a record, the first time; then none."""
        if self._asked:
            return []
        self._asked = True
        return [trial for trial in self.trials if trial.id not in records]
