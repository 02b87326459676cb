"""From Optuna's storage to one table of searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ablate.core.search_table import COLUMNS, Objective, SearchTable, undominated
from ablate.search.queue import RESULT
from ablate.search.search import Search

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

OUTCOMES = ("completed", "diverged")
"""Statuses of settings that have a value."""


def table(searches: Sequence[Search], storage: str) -> SearchTable:
    """One row for every trial that has ended; `chosen` is empty."""
    import pandas as pd

    spec = searches[0].spec
    paths = [parameter.path for parameter in spec.space.parameters]
    names = [objective.name for objective in spec.objectives]
    rows: list[dict[str, Any]] = []
    own = False
    for search in searches:
        ended = [(rank, t) for rank, t in enumerate(search.queue.trials()) if RESULT in t.user_attrs]
        mine = [_row(search, rank, trial, paths, names) for rank, trial in ended]
        own |= any(trial.user_attrs[RESULT].get("own", False) for _, trial in ended)
        front = _front(mine, spec.objectives)
        rows += [row | {"front": flag} for row, flag in zip(mine, front, strict=True)]
    columns = dict.fromkeys([*COLUMNS, *paths, *names])
    frame = pd.DataFrame(rows, columns=list(columns))
    facts = spec.facts(storage)
    if own:
        objectives = [_own(objective) for objective in facts.objectives]
        facts = type(facts)(**{**vars(facts), "objectives": objectives})
    return SearchTable(facts, frame)


def _own(objective: Objective) -> Objective:
    source = "own" if objective.source == "validation" else objective.source
    return Objective(objective.name, objective.direction, source, objective.floor)


def _row(
    search: Search, rank: int, trial: FrozenTrial, paths: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    result = trial.user_attrs[RESULT]
    point = result.get("point", {})
    by_seed = [math.nan if value is None else float(value) for value in result.get("by_seed", [])]
    row: dict[str, Any] = {
        "variant": search.variant,
        "task": search.task,
        "number": rank,
        "status": result["status"],
        "reason": result.get("reason", ""),
        "chosen": "",
        "seeds": len(result["ids"]),
        "diverged": result.get("diverged", 0),
        "spread": result.get("spread", math.nan),
        "pruned_at": result.get("pruned_at", math.nan),
        "parameters": result.get("parameters", math.nan),
        "flops": result.get("flops", math.nan),
        "train_seconds": result["train_seconds"],
        "ids": list(result["ids"]),
        "values": by_seed,
    }
    values = result.get("values", {})
    costs = [name for name in names if name in row]
    row |= {name: values.get(name, math.nan) for name in names if name not in costs}
    return row | {path: point.get(path) for path in paths}


def _front(rows: Sequence[dict[str, Any]], objectives: Sequence[Objective]) -> list[bool]:
    """Whether no other setting is as good in every objective and better in one."""
    signs = np.array([1.0 if objective.direction == "max" else -1.0 for objective in objectives])
    values = np.array([[row[o.name] for o in objectives] for row in rows], dtype=float).reshape(
        len(rows), len(objectives)
    )
    values = values * signs
    counts = np.array([row["status"] in OUTCOMES for row in rows], dtype=bool) & np.isfinite(values).all(
        axis=1
    )
    flags = counts.copy()
    flags[counts] = undominated(values[counts])
    return [bool(flag) for flag in flags]


def best(searched: SearchTable, variant: str, task: str, count: int = 1) -> list[int]:
    """Places in the table of the best settings of one search, by the first objective; with several objectives of the
    front alone, so that each is better than the one before in another. No more than there are; none where nothing
    has a value of its own: a setting that diverged on every seed has that of guessing.
    """
    frame, objectives = searched.trials, searched.facts.objectives
    mine = frame[(frame["variant"] == variant) & (frame["task"] == task) & frame["status"].isin(OUTCOMES)]
    finite = np.isfinite(mine[[o.name for o in objectives]].to_numpy(float)).all(axis=1)
    mine = mine[finite & (mine["diverged"] < mine["seeds"])]
    if not len(mine):
        return []
    ascending = [objective.direction == "min" for objective in objectives]
    order = mine.sort_values(
        [*(o.name for o in objectives), "number"], ascending=[*ascending, True], kind="stable"
    )
    if len(objectives) > 1:
        order = order[order["front"]]
    paths = searched.paths
    distinct = order[~order[paths].astype(str).duplicated()]
    return [int(place) for place in distinct.index[:count]]
