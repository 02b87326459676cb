"""Searches as studies of Optuna's, for its importances, its dashboard and its own plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ablate.analysis.search_table import SearchTable, with_values
from ablate.base.quiet import quiet

if TYPE_CHECKING:
    from optuna import Study


@quiet()
def rebuilt(table: SearchTable, variant: str, task: str, storage: str | None = None, name: str = "") -> Study:
    """The study of Optuna's that one search was, for its figures and its dashboard.

    In memory, or in a `storage` that Optuna takes, under a `name`. Paths are parameters, and objectives values; a
    setting without a finite value has failed.
    """
    import optuna

    objectives = table.facts.objectives
    study = optuna.create_study(
        storage=storage,
        study_name=name or None,
        directions=["minimize" if o.direction == "min" else "maximize" for o in objectives],
    )
    study.set_metric_names([o.name for o in objectives])
    mine = table.of(variant, task)
    states = mine["status"].map({"pruned": "PRUNED", "invalid": "PRUNED"}).fillna("FAIL")
    states[with_values(mine, objectives).index] = "COMPLETE"
    for (place, row), state in zip(mine.iterrows(), states, strict=True):
        point, values = table.point(place), [float(row[o.name]) for o in objectives]
        study.add_trial(
            optuna.create_trial(
                state=optuna.trial.TrialState[state],
                values=values if state == "COMPLETE" else None,
                params=point,
                distributions={p.path: p.distribution() for p in table.facts.parameters if p.path in point},
                user_attrs={key: str(row[key]) for key in ("status", "reason", "chosen")},
            )
        )
    return study
