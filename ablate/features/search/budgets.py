"""Tuning with equal budgets as frames: what each variant was given, and whether it sufficed."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.analysis.paired import NAN, Floats
from ablate.core.facts import Facts
from ablate.core.metric import sign
from ablate.features.search.table import Parameter, SearchTable, with_values

# Share of a range, on its scale, that counts as its edge.
EDGE = 0.05
# Share of the budget over which the best must have stopped rising.
LAST = 1 / 3
# Statuses of a setting that was not trained to its end on every seed: its value, if it has one, does not count.
UNFINISHED = ("pruned", "failed", "invalid")
BUDGET_COLUMNS = (
    *("variant", "task", "settings", "seeds", "trainings", "diverged", "pruned", "failed", "invalid"),
    *("seconds", "best", "rising", "edges"),
)


def budget_curves(searched: SearchTable) -> pd.DataFrame:
    """One row per variant, task and n = 1 … N: the expected best of n random settings on the first objective.

    Columns: variant, task, n, best (Tang et al. 2020), low and high: one standard deviation away (Dodge et al. 2019),
    within the values found, in the objective's own units. No rows for other samplers, whose settings depend on one
    another, nor for a search without any value.

    Every setting counts. One that was pruned, failed or could not be built, or that diverged and has no value for
    that, is a draw that found nothing better: it counts as the objective's floor or, where that is lower or there is
    no floor, as the worst value found on the task. For a pruned one that is a lower bound.
    """
    target = searched.facts.objectives[0]
    up, frames = sign(target), [pd.DataFrame(columns=["variant", "task", "n", "best", "low", "high"])]
    rows = searched.trials if searched.facts.sampler == "random" else searched.trials[:0]
    scores = up * pd.to_numeric(with_values(rows, [target])[target.name]).reindex(rows.index).astype(float)
    for task, found in scores.groupby(rows["task"], sort=False):
        worst = min([found.min(), *([] if target.floor is None else [up * target.floor])])
        for variant, values in found.groupby(rows["variant"], sort=False):
            if values.notna().any():
                known = values.fillna(worst)
                best, sd = expected_best(known)
                low, high = np.sort(up * np.clip([best - sd, best + sd], known.min(), known.max()), axis=0)
                columns = {"n": np.arange(1, len(best) + 1), "best": up * best, "low": low, "high": high}
                frames.append(pd.DataFrame({"variant": variant, "task": task, **columns}))
    return pd.concat(frames[1:] or frames, ignore_index=True)


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
    settings = zip(rows["variant"], rows[parameter.path], strict=True)
    near = [
        f"{variant} at {parameter.path}={parameter.label(value)}" in trained for variant, value in settings
    ]
    judged = np.where(rows["chosen"] == rows["variant"], "chosen", np.where(near, "rival", ""))
    columns = ["variant", "task", "value", "best", "low", "high", "judged"]
    return rows.assign(low=rows["best"] - error, high=rows["best"] + error, judged=judged)[columns]


def budgets(searched: SearchTable, facts: Facts, curves: pd.DataFrame) -> pd.DataFrame:
    """One row per variant and task, in the order of the study: what its search was given, and what it found.

    Columns are `BUDGET_COLUMNS` and then the searched paths, with the chosen value of each. `settings` tried;
    `seeds` asked for of each; `trainings` of all settings and seeds, of which `diverged` did; `pruned`, `failed` and
    `invalid` settings; `seconds` of training; `best`, the objective of the chosen setting. `rising`: whether the best
    of n, `curves`, rose over the last third of the budget by more than the margin, where one is declared. `edges`:
    searched path → `lower` or `upper`, where the chosen value is that end of its range. What was not searched, such as
    a placebo that is given the baseline's setting, has no row.
    """
    target, found = searched.facts.objectives[0], []
    for (variant, task), rows in searched.trials.groupby(["variant", "task"], sort=False):
        curve = curves[(curves["variant"] == variant) & (curves["task"] == task)]
        best = sign(target) * curve["best"].to_numpy(float)
        before = math.ceil(len(best) * LAST) + 1
        grows = len(best) > 2 and facts.margin is not None
        chosen = rows[rows["chosen"] == variant].head(1)
        values = dict.fromkeys(searched.paths) | dict(
            *chosen[searched.paths].dropna(axis=1).to_dict("records")
        )
        sides = {p.path: edge(p, values[p.path]) for p in searched.facts.parameters}
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
                "rising": bool(grows and best[-1] - best[-before] > facts.margin),
                "edges": {path: side for path, side in sides.items() if side},
                **values,
            }
        )
    return pd.DataFrame(found, columns=[*BUDGET_COLUMNS, *searched.paths])


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


def expected_best(values: ArrayLike) -> tuple[Floats, Floats]:
    """Mean and standard deviation (N,) of the best of n = 1 … N settings; more is better.

    Dodge et al. 2019 ("Show Your Work") estimate it by n draws with replacement: Σ_k v_(k) [(k/N)ⁿ − ((k − 1)/N)ⁿ],
    v_(1) ≤ … ≤ v_(N). Tang et al. 2020 ("Showing Your Work Doesn't Always Work") show that this is too low on average,
    the more so the nearer n is to N, and that draws without replacement give an unbiased estimate for every n ≤ N:
    Σ_k v_(k) C(k − 1, n − 1) / C(N, n). At n = N that is the best value found.

    `values` (N,): one for each setting, finite, in any order; the settings were drawn independently. The mean is that
    of Tang et al. The standard deviation says how much the best of n differs from one search to the next; it is the
    plug-in estimate of Dodge et al., as that of draws without replacement would be 0 at n = N, where it is known
    least.
    """
    ordered = np.sort(np.asarray(values, float))
    n, k = np.arange(1, len(ordered) + 1)[:, None], np.arange(len(ordered) + 1)
    # The chance that all n draws are among the k smallest: (k / N)ⁿ, and C(k, n) / C(N, n) one draw after the other.
    with_replacement = np.diff((k / len(ordered)) ** n, axis=1)
    without = np.diff(np.cumprod(np.maximum(k - n + 1, 0) / (len(ordered) - n + 1), axis=0), axis=1)
    centre = with_replacement @ ordered
    variance = (with_replacement * (ordered - centre[:, None]) ** 2).sum(axis=1)
    return without @ ordered, np.sqrt(variance)
