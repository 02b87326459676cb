"""Importances of the searched paths, with the name of the evaluator and the spread over resampled trials.

Two evaluators of Optuna answer different questions. fANOVA (Hutter et al. 2014) is the share of the variance over the
whole space that a parameter explains alone, by a forest of regression trees. PED-ANOVA (Watanabe et al. 2023) is how
much the best settings differ from all settings in that parameter. Each is divided by its sum over the parameters that
are judged together, as in `optuna.importance.get_param_importances`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ablate.base.streams import numpy_stream
from ablate.core.search_table import Objective, Parameter, SearchTable
from ablate.search.quiet import quiet

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution

COLUMNS = ("objective", "parameter", "evaluator", "importance", "low", "high", "trials", "condition")
EVALUATORS = ("fanova", "ped_anova")
MIN_TRIALS = 8
"The least number of settings with a value."
RESAMPLES = 40
"For up to 100 settings; fewer for more settings, down to half as many, because their cost grows."
TREES = 64
"In the forest that gives the importances: Optuna's default."
TREES_RESAMPLED = 8
"In the forest of each resample; so few make the spread a little too wide rather than too narrow."
PERCENTILES = (5.0, 95.0)
TOP_SHARE = 0.1
TOP_TRIALS = 5
"""PED-ANOVA looks at the best tenth, but at no fewer settings than this, the least that its authors advise, and at no
more than half."""


def importances(searched: SearchTable, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Returns the importance of each searched path: one row for each objective, parameter and evaluator.

    Columns: objective; parameter; evaluator, fanova or ped_anova; importance, from 0 to 1; low and high, its 5th and
    95th percentile over bootstrap resamples of the settings; trials, the number of settings it rests on; condition
    under which the parameter is searched. A parameter with a condition is judged on the settings that have it,
    together with all other parameters that they have. Settings without a finite value are left out. There are no rows
    if fewer than `MIN_TRIALS` are left, or all have the same value.
    """
    import pandas as pd

    table = searched.trials
    ended = table["status"].isin(["completed", "diverged"])
    rows: list[tuple[Any, ...]] = []
    for objective in (o for o in searched.facts.objectives if o.source != "cost"):
        values = pd.to_numeric(table[objective.name], errors="coerce")
        usable = table[ended & np.isfinite(values)]
        for judged, together in _groups(usable, searched.facts.parameters):
            has = usable[usable[together[0].path].notna()]
            y = has[objective.name].to_numpy(float)
            if len(has) < MIN_TRIALS or not np.ptp(y) > 0:
                continue
            rng = numpy_stream(0, "importances", objective.name, together[0].path)
            num_resamples = max(resamples // 2, min(resamples, 100 * resamples // len(y)))
            drawn = rng.integers(0, len(y), (num_resamples, len(y)))
            with quiet():
                spread = list(_spread(has, together, objective, drawn))
            rows += [
                (objective.name, parameter.path, name, *shares, len(has), parameter.when)
                for name, found in spread
                for parameter, shares in zip(judged, found, strict=False)  # those judged come first
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _groups(
    usable: pd.DataFrame, parameters: Sequence[Parameter]
) -> Iterator[tuple[list[Parameter], list[Parameter]]]:
    """Yields the parameters that the same settings have, and all that those settings have: the former, then others."""
    groups: dict[bytes, list[Parameter]] = {}
    for parameter in parameters:
        has = usable[parameter.path].notna().to_numpy()
        if has.any():
            groups.setdefault(has.tobytes(), []).append(parameter)
    for judged in groups.values():
        has = usable[judged[0].path].notna()
        others = [p for p in parameters if p not in judged and usable.loc[has, p.path].notna().all()]
        yield judged, [*judged, *others]


def _axis(parameter: Parameter, values: pd.Series) -> tuple[BaseDistribution, list[Any]]:
    """Returns the distribution of a searched path and the coordinate of each setting: on a log scale, the logarithm.

    fANOVA weighs a range evenly: without the logarithm, nine tenths of a learning rate from 1e-4 to 1e-2 would be above
    1e-3.
    """
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if parameter.kind == "choice":
        return CategoricalDistribution(list(dict.fromkeys([*parameter.choices, *values]))), values.tolist()
    numbers = values.to_numpy(float)
    known = [end for end in (parameter.low, parameter.high) if end is not None]
    low, high = min(*known, *numbers), max(*known, *numbers)
    if parameter.log:
        return FloatDistribution(float(np.log(low)), float(np.log(high))), np.log(numbers).tolist()
    if parameter.kind == "int":
        return IntDistribution(int(low), int(high)), numbers.astype(int).tolist()
    return FloatDistribution(low, high), numbers.tolist()


def _spread(
    has: pd.DataFrame,
    parameters: Sequence[Parameter],
    objective: Objective,
    drawn: NDArray[np.int64],
) -> Iterator[tuple[str, list[tuple[float, float, float]]]]:
    """Yields, for each evaluator, the importance, low and high of every parameter.

    Low and high are percentiles over the resamples `drawn` (resamples × settings).
    """
    import optuna
    from optuna.importance import FanovaImportanceEvaluator, PedAnovaImportanceEvaluator

    axes = {p.path: _axis(p, has[p.path]) for p in parameters}
    distributions = {path: distribution for path, (distribution, _) in axes.items()}
    values = has[objective.name].to_numpy(float)
    trials = [
        optuna.create_trial(
            params=dict(zip(axes, row, strict=True)), distributions=distributions, value=value
        )
        for *row, value in zip(*(column for _, column in axes.values()), values.tolist(), strict=True)
    ]

    direction = optuna.study.StudyDirection[f"{objective.direction}imize".upper()]

    def shares(name: str, trees: int, rows: Sequence[int]) -> list[float]:
        """The importances on these rows, which may repeat; their sum is 1, or all are 0."""
        study = optuna.create_study(direction=direction)
        study.add_trials(trials[row] for row in rows)
        best = max(TOP_SHARE, min(0.5, TOP_TRIALS / len(values)))
        fanova = FanovaImportanceEvaluator(n_trees=trees, seed=0)
        evaluator = fanova if name == "fanova" else PedAnovaImportanceEvaluator(target_quantile=best)
        found = evaluator.evaluate(study, params=list(distributions))
        total = sum(found.values())
        return [float(found[path] / total) if total > 0 else 0.0 for path in distributions]

    # A resample whose settings all have one value has no importances.
    told = drawn[np.ptp(values[drawn], axis=1) > 0].tolist()
    for name in EVALUATORS:
        again = [shares(name, TREES_RESAMPLED, rows) for rows in told] or [[np.nan] * len(axes)]
        low, high = np.percentile(again, PERCENTILES, axis=0).tolist()
        yield name, list(zip(shares(name, TREES, range(len(values))), low, high, strict=True))
