"""What is known of a study before it is trained: its trials and reports, and how long trainings take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from statistics import fmean

from ablate.core.search_table import SearchTable
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.study.experiment import Experiment
from ablate.study.sections.seeds import PILOT_SEEDS_FROM

Place = tuple[str, str]
"""A variant and a task."""
MOST_RECORDS = 5
"""Of each place, that are read for their seconds."""


@dataclass(frozen=True)
class Known:
    """A study, and where its trials and reports are."""

    experiment: Experiment
    folder: StudyFolder
    store: Store
    warn: Callable[[str], None]

    @property
    def pilot_seeds(self) -> Iterator[int]:
        """The seeds of a pilot that the store has."""

        def ran(seed: int) -> bool:
            return any(self.store.has(cell.id) for cell in self.experiment.cells([seed]))

        return takewhile(ran, count(PILOT_SEEDS_FROM))

    @property
    def folders(self) -> list[StudyFolder]:
        """The folder of the study, and of those that it repeats or differs from."""
        names = dict.fromkeys([self.folder.name, self.experiment.study.confirms or self.folder.name])
        found = [StudyFolder(self.folder.results, name) for name in names]
        return [*found, *(each.written for each in found if each.written is not None)]


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
        trained, seconds = int(rows["seeds"].sum()), float(rows["train_seconds"].sum())
        if trained and seconds and not found.get(place):
            found[place] = [seconds / trained]
    return {place: fmean(mine) for place, mine in found.items() if mine}
