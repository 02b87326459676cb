"""Tuning with equal budgets as frames: what each variant was given, and whether it sufficed."""

import math
from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.analysis.paired import NAN
from ablate.analysis.search_table import Parameter, SearchTable, with_values
from ablate.core.facts import StudyFacts
from ablate.core.metric import sign

# Share of a range, on its scale, that counts as its edge.
EDGE = 0.05
# Statuses of a setting that was not trained to its end on every seed: its value, if it has one, does not count.
UNFINISHED = ("pruned", "failed", "invalid")
BUDGET_COLUMNS = (
    *("variant", "task", "settings", "seeds", "trainings", "diverged", "pruned", "failed", "invalid"),
    *("seconds", "best", "rising", "edges"),
)


def setting_curves(searched: SearchTable, trained: Collection[str]) -> pd.DataFrame:
    """One row per variant, task and setting with a value, of a search over one path of numbers; else none.

    Columns: variant, task, value (at the path), best (the mean of the first objective over the tuning seeds), low and
    high: one standard error away, judged (`chosen`, `rival` where its name is among the `trained`, or nothing).
    """
    (parameter, *more), target = searched.facts.parameters, searched.facts.objectives[0].name
    rows = with_values(searched.trials, searched.facts.objectives)
    rows = rows.assign(
        value=pd.to_numeric(rows[parameter.path], errors="coerce"), best=rows[target].astype(float)
    )
    rows = rows[:0] if more or rows["value"].isna().any() else rows.sort_values("value", kind="stable")
    error = rows["spread"].astype(float).fillna(0.0) / np.sqrt(rows["seeds"].astype(float))
    near = [
        f"{variant} at {parameter.path}={parameter.label(value)}" in trained
        for variant, value in zip(rows["variant"], rows[parameter.path], strict=True)
    ]
    judged = np.where(rows["chosen"] == rows["variant"], "chosen", np.where(near, "rival", ""))
    columns = ["variant", "task", "value", "best", "low", "high", "judged"]
    return rows.assign(low=rows["best"] - error, high=rows["best"] + error, judged=judged)[columns]


def budgets(searched: SearchTable, facts: StudyFacts) -> pd.DataFrame:
    """One row per variant and task, in the order of the study: what its search was given, and what it found.

    Columns are `BUDGET_COLUMNS` and then the searched paths, with the chosen value of each. `settings` tried;
    `seeds` asked for of each; `trainings` of all settings and seeds, of which `diverged` did; `pruned`, `failed` and
    `invalid` settings; `seconds` of training; `best`, the objective of the chosen setting. `rising`: whether the best
    of random settings is expected to rise over the last third of the budget by more than the margin, where one is
    declared. `edges`: searched path → `lower` or `upper`, where the chosen value is that end of its range. What was not
    searched, such as a placebo that is given the baseline's setting, has no row.
    """
    target, found, scores = searched.facts.objectives[0], [], _scores(searched)
    allowed = math.inf if facts.margin is None or searched.facts.sampler != "random" else facts.margin
    for (variant, task), rows in searched.trials.groupby(["variant", "task"], sort=False):
        chosen = rows[rows["chosen"] == variant].head(1)
        values = dict.fromkeys(searched.paths) | dict(
            *chosen[searched.paths].dropna(axis=1).to_dict("records")
        )
        sides = {p.path: edge(p, values[p.path]) for p in searched.facts.parameters}
        mine = scores[rows.index]
        rise = mine.max() - expected_best(mine, 2 * len(mine) // 3) if len(mine) > 2 else 0.0
        found.append(
            {
                "variant": variant,
                "task": task,
                "settings": len(rows),
                "seeds": len(searched.facts.seeds),
                "trainings": int(rows["seeds"].fillna(0).sum()),
                "diverged": int(rows["diverged"].fillna(0).sum()),
                **{name: int((rows["status"] == name).sum()) for name in UNFINISHED},
                "seconds": float(rows["train_seconds"].sum()),
                "best": float(chosen[target.name].iloc[0]) if len(chosen) else NAN,
                "rising": bool(rise > allowed),
                "edges": {path: side for path, side in sides.items() if side},
                **values,
            }
        )
    return pd.DataFrame(found, columns=[*BUDGET_COLUMNS, *searched.paths])


def _scores(searched: SearchTable) -> pd.Series:
    """The first objective of every setting, more being better.

    One without a value found nothing better: it counts as the objective's floor or, where that is lower or there is no
    floor, as the worst value found on the task.
    """
    target, trials = searched.facts.objectives[0], searched.trials
    known = with_values(trials, [target])[target.name].astype(float).reindex(trials.index) * sign(target)
    worst = known.groupby(trials["task"]).transform("min")
    return known.fillna(worst if target.floor is None else worst.clip(upper=sign(target) * target.floor))


def expected_best(values: ArrayLike, n: int) -> float:
    """The best that n of these N settings are expected to hold, drawn without replacement; more is better.

    Σ_k v_(k) C(k − 1, n − 1) / C(N, n), v_(1) ≤ … ≤ v_(N): unbiased for every n ≤ N, where draws with replacement are
    too low (Tang et al. 2020, "Showing Your Work Doesn't Always Work").

    `values` (N,): one for each setting, finite, in any order; the settings were drawn independently.
    """
    ordered = np.sort(np.asarray(values, float))
    # The chance that v_(k) is the best of those drawn: n / N of the largest, and by what the next has less of each.
    k = np.arange(len(ordered), 1, -1)
    return float((n / len(ordered) * np.cumprod([1.0, *(np.maximum(k - n, 0) / (k - 1))])) @ ordered[::-1])


def edge(parameter: Parameter, value: object) -> str:
    """`lower` or `upper` where `value` lies in that twentieth of its range, on the scale it is searched on, or "".

    Of choices the lowest and the highest number. Words have no edge; nor have two values, which have nothing inside.
    """
    try:
        numbers = sorted(map(float, parameter.ends()))
        place = float(str(value))
    except ValueError:
        return ""
    step = parameter.step or (1.0 if parameter.kind == "int" else 0.0)
    low, high = numbers[0], numbers[-1]
    if len({*numbers}) < 2 or (parameter.kind == "choice" and len(numbers) < 3) or high - low < 2 * step:
        return ""
    if parameter.log:
        low, high, place = map(math.log, (low, high, place))
    near = 0.0 if parameter.kind == "choice" else EDGE * (high - low)
    return "lower" if place <= low + near else "upper" if place >= high - near else ""
