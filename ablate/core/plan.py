"""The contract of plans, which decide what a run trains next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ablate.core.cell import Cell
from ablate.core.events import Progress
from ablate.core.record import Record


class Plan(Protocol):
    """Decides what to train next. The driver knows nothing else about what is run."""

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The cells to look up or train now, given the records so far by trial id; empty when the plan is done.

        Every cell gets a record, from the store or by training. A cell that is asked for again is trained again.
        """

    def hear(self, report: Progress) -> bool:
        """Whether a prunable trial ends at this report."""

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""


class FixedPlan:
    """A plan that asks for its cells once."""

    left = 0

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """All cells, the first time; then none."""
        cells, self._cells = self._cells, []
        return cells

    def hear(self, report: Progress) -> bool:
        """Ends no trial."""
        return False
