"""How long trainings will take, by those of the same variants that have run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from ablate.core.cell import Cell
from ablate.core.search_table import SearchTable
from ablate.records.store import Store

Place = tuple[str, str]
"""A variant and a task."""
MOST_RECORDS = 5
"""Of each place, that are read for their seconds."""


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
    if searched is not None:
        for (variant, task), rows in searched.trials.groupby(["variant", "task"]):
            count, seconds = int(rows["seeds"].sum()), float(rows["train_seconds"].sum())
            if count and seconds and not found.get((variant, task)):
                found[variant, task] = [seconds / count]
    return {place: fmean(mine) for place, mine in found.items() if mine}


def seconds_left(
    places: Sequence[Place], known: Mapping[Place, float], jobs: int, total: int
) -> float | None:
    """Seconds that `total` trainings at these places take on `jobs` workers; None where no training is known.

    By the seconds that are known there, or anywhere.
    """
    costs = [known[place] for place in places if place in known] or list(known.values())
    return fmean(costs) * total / max(1, min(jobs, total)) if costs else None
