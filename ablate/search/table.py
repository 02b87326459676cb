"""From searches to one table of their settings; from a table to the best settings, and to a study of Optuna's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ablate.core.metric import sign
from ablate.core.search_table import COLUMNS, Objective, Parameter, SearchTable, undominated
from ablate.search.search import Search
from ablate.search.wrapped import directions, quiet, versions

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

OUTCOMES = ("completed", "diverged")
"""Statuses of settings that have a value."""
STATES = {"completed": "COMPLETE", "diverged": "COMPLETE", "failed": "FAIL"}
"""Optuna's states of settings by their statuses; all others are pruned."""


def table(searches: Sequence[Search]) -> SearchTable:
    """Returns one row for every setting that has been tried; `chosen` is empty."""
    facts = replace(searches[0].spec.facts(), versions=versions())
    if any(row.get("own") for search in searches for row in search.rows):
        own = [replace(o, source="own") if o.source == "validation" else o for o in facts.objectives]
        facts = replace(facts, objectives=own)
    rows: list[dict[str, Any]] = []
    for search in searches:
        front = _front(search.rows, facts.objectives)
        rows += [
            {"chosen": "", "diverged": 0, "values": [], **row, "front": flag}
            for row, flag in zip(search.rows, front, strict=True)
        ]
    names = [*COLUMNS, *(p.path for p in facts.parameters), *(o.name for o in facts.objectives)]
    return SearchTable(facts, pd.DataFrame(rows, columns=list(dict.fromkeys(names))))


def _front(rows: Sequence[dict[str, Any]], objectives: Sequence[Objective]) -> list[bool]:
    """Whether no other setting is as good in every objective and better in one."""
    signs = np.array([sign(objective) for objective in objectives])
    values = np.array([[row.get(o.name, math.nan) for o in objectives] for row in rows], dtype=float)
    values = values.reshape(len(rows), len(objectives)) * signs
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
    ascending = [objective.direction == "min" for objective in objectives]
    order = mine.sort_values(
        [*(o.name for o in objectives), "number"], ascending=[*ascending, True], kind="stable"
    )
    if len(objectives) > 1:
        order = order[order["front"].astype(bool)]
    distinct = order[~order[searched.paths].astype(str).duplicated()]
    return [int(place) for place in distinct.index[:count]]


@quiet()
def rebuilt(
    searched: SearchTable, variant: str, task: str, storage: str | None = None, name: str = ""
) -> Study:
    """The study of Optuna's that one search of a table was, for its figures and its dashboard.

    In memory, or in a `storage` that Optuna takes, under a `name`. Paths are parameters, and objectives values; a
    setting without a finite value has failed.
    """
    import optuna

    objectives = searched.facts.objectives
    mine = searched.trials[(searched.trials["variant"] == variant) & (searched.trials["task"] == task)]
    study = optuna.create_study(storage=storage, study_name=name or None, directions=directions(objectives))
    study.set_metric_names([o.name for o in objectives])
    for row in mine.sort_values("number", kind="stable").to_dict("records"):
        has = [p for p in searched.facts.parameters if not pd.isna(row[p.path])]
        values = [float(row[o.name]) for o in objectives]
        state = STATES.get(row["status"], "PRUNED")
        if state == "COMPLETE" and not np.isfinite(values).all():
            state = "FAIL"
        study.add_trial(
            optuna.create_trial(
                state=optuna.trial.TrialState[state],
                values=values if state == "COMPLETE" else None,
                params={p.path: _plain(p, row[p.path]) for p in has},
                distributions={p.path: _distribution(p, _plain(p, row[p.path])) for p in has},
                user_attrs={key: str(row[key]) for key in ("status", "reason", "chosen")},
            )
        )
    return study


def _plain(parameter: Parameter, value: Any) -> Any:
    kinds: dict[str, type] = {"int": int, "float": float, "choice": str}
    return kinds[parameter.kind](value)


def _distribution(parameter: Parameter, value: Any) -> BaseDistribution:
    """The values that a parameter could have, and the one that it has where a search of before had others."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if parameter.kind == "choice":
        return CategoricalDistribution(list(dict.fromkeys([*parameter.choices, value])))
    low, high = parameter.bounds
    low, high = min(low, value), max(high, value)
    if parameter.kind == "int":
        return IntDistribution(int(low), int(high), log=parameter.log)
    return FloatDistribution(low, high, log=parameter.log)
