"""Searches as studies of Optuna's, for its importances, its dashboard and its own plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ablate.analysis.search_table import SearchTable, with_values
from ablate.base.quiet import quiet

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, TrialState


@quiet()
def rebuilt(table: SearchTable, variant: str, task: str, storage: str | None = None, name: str = "") -> Study:
    """Returns one search as a study of Optuna's, for its figures and its dashboard.

    In memory, or in a `storage` that Optuna takes, under a `name`. Paths are parameters, and objectives values; a
    setting without a finite value has failed.
    """
    import optuna
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

    facts = table.facts
    directions = []
    for objective in facts.objectives:
        directions.append(
            StudyDirection.MINIMIZE if objective.direction == "min" else StudyDirection.MAXIMIZE
        )
    study = optuna.create_study(storage=storage, study_name=name or None, directions=directions)
    study.set_metric_names([objective.name for objective in facts.objectives])

    settings = table.of(variant, task)
    complete = with_values(settings, facts.objectives).index
    for place, row in settings.iterrows():
        if place in complete:
            state = TrialState.COMPLETE
        elif row["status"] in ("pruned", "invalid"):
            state = TrialState.PRUNED
        else:
            state = TrialState.FAIL
        study.add_trial(_trial(table, place, state))
    return study


def _trial(table: SearchTable, place: int, state: TrialState) -> FrozenTrial:
    """Returns the setting in one row as a trial; only a complete one has values."""
    import optuna

    row = table.trials.loc[place]
    point = table.point(place)
    distributions = {}
    for parameter in table.facts.parameters:
        if parameter.path in point:
            distributions[parameter.path] = parameter.distribution()
    values = None
    if state.name == "COMPLETE":
        values = [float(row[objective.name]) for objective in table.facts.objectives]
    return optuna.create_trial(
        state=state,
        values=values,
        params=point,
        distributions=distributions,
        user_attrs={key: str(row[key]) for key in ("status", "reason", "chosen")},
    )
