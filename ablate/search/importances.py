"""Which searched path mattered: importances with their evaluator named, and their spread over resampled trials.

Two evaluators of Optuna, which answer different questions. fANOVA (Hutter et al. 2014) is the share of the
variance over the whole space that a parameter explains alone, by a forest of regression trees. PED-ANOVA (Watanabe et
al. 2023) is how much the best settings differ from all in that parameter. Each is divided by its sum over the
parameters that are judged together, as `optuna.importance.get_param_importances` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ablate.base.streams import numpy_stream
from ablate.core.searched import ObjectiveFacts, ParameterFacts, Searched
from ablate.search.quiet import quiet

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray
    from optuna.distributions import BaseDistribution
    from optuna.importance import BaseImportanceEvaluator

IMPORTANCES = "importances.csv"
"The file beside the table of a sweep."
Shares = dict[str, float]
"Path → importance."
COLUMNS = ("objective", "parameter", "evaluator", "importance", "low", "high", "trials", "condition")
EVALUATORS = ("fanova", "ped_anova")
MIN_TRIALS = 8
"Settings with a value below which nothing is said."
RESAMPLES = 40
"Of up to 100 settings; of more, fewer, down to half as many: their cost grows with the settings."
TREES = 64
"Of the forest that gives the importances: Optuna's default."
TREES_RESAMPLED = 8
"Of the forest of each resample, which makes its spread a little too wide rather than too narrow."
PERCENTILES = (5.0, 95.0)
TOP_SHARE = 0.1
TOP_TRIALS = 5
"""PED-ANOVA looks at the best tenth, or at as many settings as this (but at most half) where that is fewer: the least
that its authors advise."""


def importances(searched: Searched, resamples: int = RESAMPLES) -> pd.DataFrame:
    """How much each searched path matters to each objective: one row per objective, parameter and evaluator.

    Columns: objective; parameter; evaluator, fanova or ped_anova; importance, from 0 to 1; low and high, its 5th and
    95th percentile over bootstrap resamples of the settings; trials, on how many settings it rests; condition, under
    which the parameter is searched. A parameter that is searched under a condition is judged on the settings that
    have it, together with all others that they have. Settings without a finite value are left out. There are no rows
    where fewer than `MIN_TRIALS` are left, or all have the same value.
    """
    import pandas as pd

    table = searched.trials
    ended = table["status"].isin(["completed", "diverged"])
    rows: list[dict[str, Any]] = []
    for objective in (o for o in searched.facts.objectives if o.source != "cost"):
        values = pd.to_numeric(table[objective.name], errors="coerce")
        usable = table[ended & np.isfinite(values)]
        for judged, together in _groups(usable, searched.facts.parameters):
            has = usable[usable[together[0].path].notna()]
            y = has[objective.name].to_numpy(float)
            if len(has) < MIN_TRIALS or not np.ptp(y) > 0:
                continue
            rng = numpy_stream(0, "importances", objective.name, together[0].path)
            drawn = rng.integers(
                0, len(y), (max(resamples // 2, min(resamples, 100 * resamples // len(y))), len(y))
            )
            with quiet():
                spread = list(_spread(has, together, objective, drawn))
            for name, shares, low, high in spread:
                rows += [
                    {
                        "objective": objective.name,
                        "parameter": parameter.path,
                        "evaluator": name,
                        "importance": shares[parameter.path],
                        "low": low[parameter.path],
                        "high": high[parameter.path],
                        "trials": len(has),
                        "condition": parameter.when,
                    }
                    for parameter in judged
                ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def save_importances(searched: Searched, folder: Path) -> None:
    """Computes the importances of a sweep and writes them beside its table, whole or not at all."""
    from ablate.base.files import replacing

    found = importances(searched)
    with replacing(folder / IMPORTANCES) as path:
        found.to_csv(path, index=False)


def load_importances(folder: Path) -> pd.DataFrame | None:
    """Reads what `save_importances` wrote; None when there is none. Raises `AblateError` when it cannot be read."""
    import pandas as pd

    from ablate.base.errors import AblateError

    path = folder / IMPORTANCES
    if not path.is_file():
        return None
    try:
        return pd.read_csv(path, keep_default_na=False, na_values={"low": [""], "high": [""]})[list(COLUMNS)]
    except (OSError, ValueError, KeyError) as error:
        raise AblateError(f"{path}: cannot be read ({error}); run the sweep again") from error


def _groups(
    usable: pd.DataFrame, parameters: Sequence[ParameterFacts]
) -> Iterator[tuple[list[ParameterFacts], list[ParameterFacts]]]:
    """Parameters that the same settings have, with all that those settings have; the former stand first in these."""
    groups: dict[bytes, list[ParameterFacts]] = {}
    for parameter in parameters:
        has = usable[parameter.path].notna().to_numpy()
        if has.any():
            groups.setdefault(has.tobytes(), []).append(parameter)
    for judged in groups.values():
        has = usable[judged[0].path].notna()
        others = [p for p in parameters if p not in judged and usable.loc[has, p.path].notna().all()]
        yield judged, [*judged, *others]


def _axis(parameter: ParameterFacts, values: pd.Series) -> tuple[BaseDistribution, list[Any]]:
    """The distribution of a searched path, and the coordinate of each setting on it: on a log scale, the logarithm.

    fANOVA weighs all of a range alike: without the logarithm, nine tenths of a learning rate from 1e-4 to 1e-2 would
    be above 1e-3.
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
    parameters: Sequence[ParameterFacts],
    objective: ObjectiveFacts,
    drawn: NDArray[np.int64],
) -> Iterator[tuple[str, Shares, Shares, Shares]]:
    """Of each evaluator, its importances and their percentiles over the resamples `drawn` (resamples × settings)."""
    import optuna
    from optuna.study import StudyDirection

    axes = {p.path: _axis(p, has[p.path]) for p in parameters}
    distributions = {path: distribution for path, (distribution, _) in axes.items()}
    values = has[objective.name].to_numpy(float)
    trials = [
        optuna.create_trial(
            params=dict(zip(axes, row, strict=True)), distributions=distributions, value=value
        )
        for *row, value in zip(*(column for _, column in axes.values()), values.tolist(), strict=True)
    ]
    direction = StudyDirection.MAXIMIZE if objective.direction == "max" else StudyDirection.MINIMIZE

    def shares(evaluator: BaseImportanceEvaluator, rows: Sequence[int]) -> Shares:
        """The importances by these rows, which may repeat; they add up to 1, or are all 0."""
        study = optuna.create_study(direction=direction)
        study.add_trials(trials[row] for row in rows)
        found = evaluator.evaluate(study, params=list(distributions))
        total = sum(found.values())
        return {path: float(found[path] / total) if total > 0 else 0.0 for path in distributions}

    # A resample in which all settings have one value says nothing.
    told = drawn[np.ptp(values[drawn], axis=1) > 0].tolist()
    for name in EVALUATORS:
        rough = _evaluator(name, len(values), TREES_RESAMPLED)
        again = [list(shares(rough, rows).values()) for rows in told] or [[np.nan] * len(axes)]
        low, high = np.percentile(again, PERCENTILES, axis=0).tolist()
        found = shares(_evaluator(name, len(values), TREES), range(len(values)))
        yield name, found, dict(zip(axes, low, strict=True)), dict(zip(axes, high, strict=True))


def _evaluator(name: str, trials: int, trees: int) -> BaseImportanceEvaluator:
    from optuna.importance import FanovaImportanceEvaluator, PedAnovaImportanceEvaluator

    if name == "fanova":
        return FanovaImportanceEvaluator(n_trees=trees, seed=0)
    return PedAnovaImportanceEvaluator(target_quantile=max(TOP_SHARE, min(0.5, TOP_TRIALS / trials)))
