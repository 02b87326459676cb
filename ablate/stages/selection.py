"""Which trials of a study are to be trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ablate.base.errors import Problem, StudyError, listed, nearest
from ablate.core.cell import Cell
from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.records.store import Store


def chosen(cells: list[Cell], only: Sequence[str] = (), seed: int | None = None) -> list[Cell]:
    """All cells, or those of the variants in `only` (with the baseline) and of one seed. Raises `StudyError`."""
    names = list(dict.fromkeys(cell.variant for cell in cells))
    problems = [
        Problem(
            "names no variant", given=name, allowed=listed(names), hint=nearest(name, names), source="--only"
        )
        for name in only
        if name not in names
    ]
    seeds = {cell.seed for cell in cells}
    if seed is not None and seed not in seeds:
        allowed = f"0 to {max(seeds)}"
        problems.append(Problem("is not a seed of the study", given=seed, allowed=allowed, source="--seed"))
    if problems:
        raise StudyError(problems)
    wanted = {BASELINE, *only} if only else set(names)
    return [c for c in cells if c.variant in wanted and seed in (None, c.seed)]


def finished(
    cells: Iterable[Cell],
    records: Mapping[str, Record],
    store: Store,
    wanted: Iterable[Cell],
    fresh: bool = False,
) -> tuple[dict[str, Record], int]:
    """The records of the trials that need no training, and how many do only because their weights are not there.

    Weights are needed of those that are `wanted`; with `fresh` these are all trained. A failed trial is no
    outcome, nor is one that a search gave up: it is trained, and until then its record stands.
    """
    done: dict[str, Record] = {}
    asked = {cell.trial.id for cell in wanted}
    without = 0
    for trial in {cell.trial.id: cell.trial for cell in cells}.values():
        record = records.get(trial.id)
        if record is None or (fresh and trial.id in asked):
            continue
        if store.is_finished(record, trial.checkpoint if trial.id in asked else "none"):
            done[trial.id] = record
        elif store.is_finished(record):
            without += 1
    return done, without
