"""How long trainings will take, by those of the same variants that have run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ablate.core.cell import Cell
from ablate.core.search_table import SearchTable
from ablate.records.store import Store

Place = tuple[str, str]
"""A variant and a task."""
MOST_RECORDS = 5
"""Of each place, that are read for their seconds."""


@dataclass(frozen=True)
class Pace:
    """How fast trainings go."""

    seconds: Mapping[Place, float]
    "Of one training at each place where some have run."
    jobs: int
    "Workers that a run has."

    def left(self, places: Sequence[Place], total: int) -> float | None:
        """Seconds that `total` trainings at these places take; None where no training is known.

        By the seconds that are known there, or anywhere.
        """
        costs = [self.seconds[place] for place in places if place in self.seconds] or [*self.seconds.values()]
        return fmean(costs) * total / max(1, min(self.jobs, total)) if costs else None


def seconds_each(
    cells: Sequence[Cell], places: Sequence[Place], store: Store, searched: SearchTable | None = None
) -> float | None:
    """Mean seconds of one training at `places`; None where none of `cells` has run at any of them."""
    known = seconds_known(cells, store, searched)
    costs = [known[place] for place in places if place in known]
    return fmean(costs) if costs else None


def seconds_known(
    cells: Sequence[Cell], store: Store, searched: SearchTable | None = None
) -> dict[Place, float]:
    """Mean seconds of the trainings that have run at each place; of those of its settings where there is no other."""
    found: dict[Place, list[float]] = {}
    for cell in cells:
        mine = found.setdefault((cell.variant, cell.task), [])
        if len(mine) < MOST_RECORDS and store.has(cell.id) and (record := store.load(cell.trial)) is not None:
            mine += [seconds] if (seconds := record.metrics.get("train_seconds")) else []
    for place, rows in searched.trials.groupby(["variant", "task"]) if searched is not None else ():
        count, seconds = int(rows["seeds"].sum()), float(rows["train_seconds"].sum())
        if count and seconds and not found.get(place):
            found[place] = [seconds / count]
    return {place: fmean(mine) for place, mine in found.items() if mine}
