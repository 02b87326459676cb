"""Tuning with equal budgets as frames: what each variant was given, whether it sufficed, what it changed."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.analysis.compare import confirmatory
from ablate.analysis.contrast import overlap
from ablate.analysis.paired import NAN, Differences, Floats
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence, Facts
from ablate.core.metric import sign
from ablate.core.search_table import Objective, Parameter, SearchTable

EDGE = 0.05
"""Share of a range, on its scale, that counts as its edge."""
LAST = 1 / 3
"""Share of the budget over which the best must have stopped rising."""
UNFINISHED = ("pruned", "failed", "invalid")
"""Statuses of a setting that was not trained to its end on every seed: its value, if it has one, does not count."""
CURVE_COLUMNS = ("variant", "task", "n", "best", "low", "high")
BUDGET_COLUMNS = (
    *("variant", "task", "settings", "seeds", "trainings", "diverged", "pruned", "failed", "invalid"),
    *("seconds", "best", "gain", "rising", "edges"),
)
CHANGE_COLUMNS = (
    *("variant", "task", "untuned_n", "untuned_diff", "untuned_low", "untuned_high"),
    *("n", "diff", "ci_low", "ci_high", "verdict", "shift", "shift_low", "shift_high"),
)


def exhaustive(searched: SearchTable) -> bool:
    """Whether every setting of the space was tried, so that neither their order nor a larger budget matters."""
    return searched.facts.sampler.partition("(")[0] == "grid"


def independent(searched: SearchTable) -> bool:
    """Whether the settings were drawn independently of one another, so that an expected best is defined."""
    return searched.facts.sampler.partition("(")[0] == "random"


def budget_curves(searched: SearchTable, facts: Facts) -> pd.DataFrame:
    """One row per variant, task and n = 1 … N: the best of n settings on the first objective, in its own units.

    Columns: variant, task, n, best, low, high. Of a random search `best` is the expected best of n settings (Tang et
    al. 2020), and low and high are one standard deviation of it away (Dodge et al. 2019), within the values found.
    The settings of other samplers depend on each other, in their order: `best` is then the best of the first n, and
    low and high are NaN.

    Every setting counts. One that was pruned, failed or could not be built, or that diverged and has no value for
    that, is a draw that found nothing better: it counts as the objective's floor or, where that is lower or there is
    no floor, as the worst value found on the task. For a pruned one that is a lower bound. A search without any
    value has no rows.
    """
    target = searched.facts.objectives[0]
    up = sign(target)
    frames = []
    for task in (t.name for t in facts.tasks):
        found = {v.name: up * _values(_rows(searched, v.name, task), target) for v in facts.variants}
        known = [x for values in found.values() for x in values[~np.isnan(values)]]
        worst = min([*known, *([] if target.floor is None else [up * target.floor])], default=NAN)
        for name, values in found.items():
            if np.isnan(values).all():
                continue
            values = np.where(np.isnan(values), worst, values)
            if independent(searched):
                best, sd = expected_best(values)
                bounds = np.clip([best - sd, best + sd], values.min(), values.max())
            else:
                best, bounds = np.maximum.accumulate(values), np.full((2, len(values)), NAN)
            low, high = np.sort(up * bounds, axis=0)
            columns = {"n": np.arange(1, len(values) + 1), "best": up * best, "low": low, "high": high}
            frames.append(pd.DataFrame({"variant": name, "task": task, **columns}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(CURVE_COLUMNS))


def budgets(searched: SearchTable, facts: Facts, curves: pd.DataFrame) -> pd.DataFrame:
    """One row per variant and task, in the order of the study: what its search was given, and what it found.

    Columns are `BUDGET_COLUMNS` and then the searched paths, with the chosen value of each. `settings` tried;
    `seeds` asked for of each; `trainings` of all settings and seeds, of which `diverged` did; `pruned`, `failed` and
    `invalid` settings; `seconds` of training; `best`, the objective of the chosen setting. `gain`: by how much the
    best of n, `curves`, rose over the last third of the budget, oriented; `rising`: by more than the margin, which
    is not judged where none is declared. `edges`: searched path → `lower` or `upper`, where the chosen value is that
    end of its range. A placebo without a search of its own, which is given the baseline's setting, has no row.
    """
    target = searched.facts.objectives[0]
    found = []
    for variant in facts.variants:
        for task in (t.name for t in facts.tasks):
            rows = _rows(searched, variant.name, task)
            if variant.placebo and rows.empty:
                continue
            mine = curves[(curves["variant"] == variant.name) & (curves["task"] == task)]
            gain = NAN if exhaustive(searched) else _last_gain(sign(target) * mine["best"].to_numpy(float))
            chosen = rows[rows["chosen"] == variant.name].head(1)
            known = chosen[searched.paths].dropna(axis=1).to_dict("records")
            values = dict.fromkeys(searched.paths) | dict(*known)
            found.append(
                {
                    "variant": variant.name,
                    "task": task,
                    "settings": len(rows),
                    "seeds": len(searched.facts.seeds),
                    "trainings": int(rows["seeds"].fillna(0).sum()),
                    "diverged": int(rows["diverged"].fillna(0).sum()),
                    **{name: int((rows["status"] == name).sum()) for name in UNFINISHED},
                    "seconds": float(rows["train_seconds"].sum()),
                    "best": float(chosen[target.name].iloc[0]) if len(chosen) else NAN,
                    "gain": gain,
                    "rising": facts.margin is not None and gain > facts.margin,
                    "edges": {
                        p.path: side for p in searched.facts.parameters if (side := edge(p, values[p.path]))
                    },
                    **values,
                }
            )
    return pd.DataFrame(found, columns=[*BUDGET_COLUMNS, *searched.paths])


def edge(parameter: Parameter, value: object) -> str:
    """`lower` or `upper` where `value` lies in that twentieth of its range, on the scale it is searched on, or "".

    Of choices the lowest and the highest number. Words have no edge; nor have two values, which have nothing inside.
    """
    low, high = parameter.low, parameter.high
    if parameter.kind == "choice" and len(parameter.choices) > 2:
        try:
            numbers = [float(label) for label in parameter.choices]
            return {min(numbers): "lower", max(numbers): "upper"}.get(float(str(value)), "")
        except ValueError:
            return ""
    if not isinstance(value, int | float | np.number) or low is None or high is None:
        return ""
    step = parameter.step or (1.0 if parameter.kind == "int" else 0.0)
    if step and high - low < 2 * step:
        return ""
    # With a step the highest value may lie below the end of the range.
    top = low + math.floor((high - low) / step + 1e-9) * step if step else high
    start, end, last, place = map(math.log if parameter.log else float, (low, high, top, float(value)))
    near = EDGE * (end - start)
    return "lower" if place <= start + near else "upper" if place >= last - near else ""


def changes(
    evidence: Evidence,
    comparisons: pd.DataFrame,
    untuned: Evidence | None,
    untuned_comparisons: pd.DataFrame | None,
) -> pd.DataFrame:
    """One row per confirmatory comparison on the primary metric that the untuned variants have too.

    Columns are `CHANGE_COLUMNS`: number of pairs, difference and interval, untuned and tuned, with the tuned verdict.
    `shift` is the mean over the seeds that both have of the tuned difference less the untuned one, with its 95 % t
    interval.
    """
    if untuned is None or untuned_comparisons is None:
        return pd.DataFrame(columns=list(CHANGE_COLUMNS))
    facts, places = evidence.facts, ["variant", "task"]
    before = untuned_comparisons[untuned_comparisons["metric"] == facts.metric]
    before = before[before["n"] > 0]
    names = {"n": "untuned_n", "diff": "untuned_diff", "ci_low": "untuned_low", "ci_high": "untuned_high"}
    after = confirmatory(comparisons)
    after = after[~after["variant"].isin([variant.name for variant in facts.variants if variant.placebo])]
    found = after[[*places, *names, "verdict"]].merge(
        before[[*places, *names]].rename(columns=names), on=places
    )
    runs = Runs(evidence), Runs(untuned)
    shifts = [_shift(*runs, *place) for place in found[places].itertuples(index=False, name=None)]
    bounds = np.reshape([shift.interval() for shift in shifts], (-1, 2))
    found = found.assign(
        shift=[shift.mean for shift in shifts],
        shift_low=bounds[:, 0],
        shift_high=bounds[:, 1],
    )
    return found[list(CHANGE_COLUMNS)]


def _shift(tuned: Runs, untuned: Runs, variant: str, task: str) -> Differences:
    """Of the seeds that both have, by how much the oriented difference is greater once tuned."""
    facts = tuned.facts
    known_task = next(t for t in facts.tasks if t.name == task)
    metric, oriented = known_task.metrics[facts.metric], []
    for runs in (tuned, untuned):
        a, b = (runs.of(name, known_task).scored(facts.metric) for name in (variant, facts.variants[0].name))
        oriented.append(pd.Series(sign(metric) * (a - b), index=runs.seeds))
    known = pd.concat(oriented, axis=1, join="inner").dropna().to_numpy()
    return Differences.between(known[:, 0], known[:, 1], metric.resolution, overlap=overlap(known_task))


def _rows(searched: SearchTable, variant: str, task: str) -> pd.DataFrame:
    """The settings of one search, in the order in which they were asked for."""
    trials = searched.trials
    mine = trials[(trials["variant"] == variant) & (trials["task"] == task)]
    return mine.sort_values("number", kind="stable")


def _values(rows: pd.DataFrame, target: Objective) -> Floats:
    """The objective of each setting (N,); NaN where it was not trained to its end, or has none."""
    values = pd.to_numeric(rows[target.name], errors="coerce").to_numpy(float, na_value=np.nan)
    unfinished = rows["status"].isin(UNFINISHED).to_numpy(bool)
    return np.where(np.isfinite(values) & ~unfinished, values, np.nan)


def _last_gain(best: Floats) -> float:
    """By how much the best of n rose over the last third of n = 1 … N; NaN for fewer than three."""
    last = math.ceil(len(best) * LAST)
    return float(best[-1] - best[-1 - last]) if len(best) > 2 else NAN


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
