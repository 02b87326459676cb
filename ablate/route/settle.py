"""Seeds until it is settled: a plan that asks for the seeds of the next look where the last has left something open.

What a look decides follows from the records of its seeds alone, so that a kill, or another number of jobs, changes no
decision: the same command takes the same looks again, from the store, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ablate.analysis.claims import Place, unsettled
from ablate.core.events import Progress
from ablate.core.facts import Evidence
from ablate.core.record import Record
from ablate.core.trial import Cell

Until = Mapping[Place, int]
"""The number of seeds that each variant was asked for on each task."""
Gather = Callable[[Sequence[Cell], int, Until, Mapping[str, Record]], Evidence]
"""The evidence of the first seeds, so many of them, from the records of some cells."""


class Settling:
    """A plan over `cells` on `seeds` that ends with the look at which nothing is open; see `core.plan.Plan`."""

    def __init__(
        self, cells: Sequence[Cell], seeds: Sequence[int], looks: Sequence[int], gather: Gather
    ) -> None:
        """`looks`: the number of seeds at each. Cells on other seeds, as those that tune, are asked for at once."""
        self.cells, self.looks, self.gather = list(cells), list(looks), gather
        self._number = {seed: number for number, seed in enumerate(seeds)}
        self.until: dict[Place, int] = {}
        self.taken = 0
        "Looks that have been asked for."
        self._open = {_place(cell) for cell in cells if cell.seed in self._number}

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The cells of the next look where the last has left something open; none where nothing is, or none is left."""
        if self.taken:
            used = self.looks[self.taken - 1]
            self._open &= unsettled(self.gather(self.used, used, self.until, records))
        if not self._open or self.taken == len(self.looks):
            self._open = set()
            return []
        before = {id(cell) for cell in self.used if self.taken}
        self.taken += 1
        self.until |= dict.fromkeys(self._open, self.looks[self.taken - 1])
        return [cell for cell in self.used if id(cell) not in before]

    @property
    def used(self) -> list[Cell]:
        """The cells that have been asked for."""
        return [c for c in self.cells if self._number.get(c.seed, -1) < self.until.get(_place(c), 0)]

    def hear(self, report: Progress) -> bool:
        """Ends no trial."""
        return False

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""
        used = {cell.id for cell in self.used}
        return len({cell.id for cell in self.cells if _place(cell) in self._open} - used)


def _place(cell: Cell) -> Place:
    """Of a variant that is tuned, and its runs as the study gives it, the same."""
    return cell.variant.removesuffix(UNTUNED), cell.task


UNTUNED = " untuned"
"""Ends the names of the runs of a tuned variant as the study gives it."""
