"""From Optuna's storage to one table of searches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ablate.core.metric import sign
from ablate.core.search_table import COLUMNS, Objective, SearchTable, undominated
from ablate.search.result import result_of
from ablate.search.search import Search

OUTCOMES = ("completed", "diverged")
"""Statuses of settings that have a value."""


def table(searches: Sequence[Search], storage: str) -> SearchTable:
    """Returns one row for every trial that has ended; `chosen` is empty."""
    import pandas as pd

    spec = searches[0].spec
    paths = [parameter.path for parameter in spec.space.parameters]
    names = [objective.name for objective in spec.objectives]
    rows: list[dict[str, Any]] = []
    own = False
    for search in searches:
        results = enumerate(map(result_of, search.queue.trials()))
        ended = [(rank, result) for rank, result in results if result]
        mine = [_row(search, rank, result, paths, names) for rank, result in ended]
        own |= any(result.get("own", False) for _, result in ended)
        front = _front(mine, spec.objectives)
        rows += [row | {"front": flag} for row, flag in zip(mine, front, strict=True)]
    frame = pd.DataFrame(rows, columns=list(dict.fromkeys([*COLUMNS, *paths, *names])))
    facts = spec.facts(storage)
    if own:
        objectives = [replace(o, source="own") if o.source == "validation" else o for o in facts.objectives]
        facts = replace(facts, objectives=objectives)
    return SearchTable(facts, frame)


def _row(
    search: Search, rank: int, result: Mapping[str, Any], paths: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
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
        **{name: result.get(name, math.nan) for name in ("spread", "pruned_at", "parameters", "flops")},
        "train_seconds": result["train_seconds"],
        "ids": list(result["ids"]),
        "values": by_seed,
    }
    values, point = result.get("values", {}), result.get("point", {})
    row |= {name: values.get(name, math.nan) for name in names if name not in row}
    return row | {path: point.get(path) for path in paths}


def _front(rows: Sequence[dict[str, Any]], objectives: Sequence[Objective]) -> list[bool]:
    """Whether no other setting is as good in every objective and better in one."""
    signs = [sign(objective) for objective in objectives]
    values = np.array([[row[o.name] for o in objectives] for row in rows], dtype=float)
    values = values.reshape(len(rows), len(objectives)) * np.array(signs)
    flags = np.array([row["status"] in OUTCOMES for row in rows], bool) & np.isfinite(values).all(axis=1)
    flags[flags] = undominated(values[flags])
    return [bool(flag) for flag in flags]


def best(searched: SearchTable, variant: str, task: str, count: int = 1) -> list[int]:
    """Returns the places in the table of the best `count` settings of one search, by the first objective.

    With several objectives they are all on the front, so that each is better than the one before in another objective.
    They may be fewer. A setting that diverged on every seed has the value of guessing, and is not among them.
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
    distinct = order[~order[searched.paths].astype(str).duplicated()]
    return [int(place) for place in distinct.index[:count]]
