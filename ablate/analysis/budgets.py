"""Tuning with equal budgets as frames: what each variant was given, and whether it sufficed."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.analysis.paired import NAN
from ablate.analysis.search_table import Parameter, SearchTable, with_values
from ablate.analysis.widening import GridSide
from ablate.core.facts import StudyFacts, frame_of
from ablate.core.metric import sign
from ablate.core.rows import frame_of_rows

EDGE = 0.05
"""The share of a range, on its scale, that counts as its edge."""


@dataclass(frozen=True)
class BudgetRow:
    """The budget of the search of a variant on one task, and its outcome."""

    variant: str
    task: str
    settings: int
    """The number of settings that were tried."""
    seeds: int
    """The number of tuning seeds that were asked for of each setting."""
    trainings: int
    """The number of trainings, of all settings and seeds."""
    diverged: int
    """The number of these trainings that diverged."""
    pruned: int
    """The number of settings that were pruned: their value, if there is one, does not count."""
    failed: int
    """The number of settings that failed."""
    invalid: int
    """The number of settings that cannot be built."""
    seconds: float
    """The seconds of all trainings."""
    best: float
    """The first objective of the chosen setting, in its units; NaN where none was chosen."""
    rising: bool
    """Whether the best of random settings is expected to rise over the last third of the budget by more than the
    margin, where one is declared."""
    edges: Mapping[tuple[str, GridSide], object]
    """(searched path, end of its range) → the value there, where it is the chosen one, or that of some seed."""


def budgets(searched: SearchTable, facts: StudyFacts) -> pd.DataFrame:
    """Returns a row a variant and task that were searched, in the order of the study.

    The columns are those of `BudgetRow`, then one for each searched path, with its chosen value. What was not searched,
    such as a placebo that is given the baseline's setting, has no row.
    """
    scores = _scores(searched)
    rows = []
    chosen_values = []
    for (variant, task), settings in searched.trials.groupby(["variant", "task"], sort=False):
        all_chosen = settings[settings["chosen"] == variant]
        chosen = all_chosen.head(1)
        values = _chosen_values(chosen, searched.paths)
        num_by_status = settings["status"].value_counts()
        target = searched.facts.objectives[0].name
        rows.append(
            BudgetRow(
                variant=variant,
                task=task,
                settings=len(settings),
                seeds=len(searched.facts.seeds),
                trainings=int(settings["seeds"].fillna(0).sum()),
                diverged=int(settings["diverged"].fillna(0).sum()),
                pruned=int(num_by_status.get("pruned", 0)),
                failed=int(num_by_status.get("failed", 0)),
                invalid=int(num_by_status.get("invalid", 0)),
                seconds=float(settings["train_seconds"].sum()),
                best=float(chosen[target].iloc[0]) if len(chosen) else NAN,
                rising=_is_rising(scores[settings.index], searched, facts),
                edges=_edges(all_chosen, searched.facts.parameters),
            )
        )
        chosen_values.append(values)
    fixed = frame_of_rows(rows, BudgetRow)
    return pd.concat([fixed, frame_of(chosen_values, searched.paths)], axis=1)


def _chosen_values(chosen: pd.DataFrame, paths: list[str]) -> dict[str, object]:
    """Returns path → the value of the chosen setting, a frame of one row or none; None where it has no value."""
    values: dict[str, object] = dict.fromkeys(paths)
    for setting in chosen[paths].dropna(axis=1).to_dict("records"):
        values |= setting
    return values


def _edges(chosen: pd.DataFrame, parameters: Iterable[Parameter]) -> dict[tuple[str, GridSide], object]:
    """Returns (path, side) → the first value of the chosen settings that lies there.

    chosen: a row for each setting that some seed chose; one where seeds choose alike.
    """
    edges: dict[tuple[str, GridSide], object] = {}
    for parameter in parameters:
        for value in chosen[parameter.path]:
            side = edge(parameter, value)
            if side is not None:
                edges.setdefault((parameter.path, side), value)
    return edges


def _is_rising(scores: pd.Series, searched: SearchTable, facts: StudyFacts) -> bool:
    """Returns whether the last third of the budget is expected to add more than the margin; of random settings."""
    if facts.margin is None or searched.facts.sampler != "random" or len(scores) < 3:
        return False
    rise = scores.max() - expected_best(scores, 2 * len(scores) // 3)
    return bool(rise > facts.margin)


def _scores(searched: SearchTable) -> pd.Series:
    """Returns the first objective of every setting, more being better.

    One without a value found nothing better: it counts as the objective's floor or, where that is lower or there is no
    floor, as the worst value found on the task.
    """
    target = searched.facts.objectives[0]
    trials = searched.trials
    values = with_values(trials, [target])[target.name].astype(float)
    scores = values.reindex(trials.index) * sign(target)
    worst = scores.groupby(trials["task"]).transform("min")
    if target.floor is not None:
        worst = worst.clip(upper=sign(target) * target.floor)
    return scores.fillna(worst)


def expected_best(values: ArrayLike, n: int) -> float:
    """Returns the best that n of these N settings are expected to hold, drawn without replacement; more is better.

    Σ_k v_(k) C(k − 1, n − 1) / C(N, n), v_(1) ≤ … ≤ v_(N): unbiased for every n ≤ N, where draws with replacement are
    too low (Tang et al. 2020, "Showing Your Work Doesn't Always Work").

    `values` (N,): one for each setting, finite, in any order; the settings were drawn independently.
    """
    descending = np.sort(np.asarray(values, float))[::-1]
    num_settings = len(descending)
    # The chance that v_(k) is the best of those drawn: n / N of the largest, and by what the next has less of each.
    k = np.arange(num_settings, 1, -1)
    factors = np.maximum(k - n, 0) / (k - 1)
    chances = n / num_settings * np.cumprod([1.0, *factors])
    return float(chances @ descending)


def edge(parameter: Parameter, value: object) -> GridSide | None:
    """Returns `lower` or `upper` where `value` lies in that twentieth of its range, on its scale; else None.

    Of choices the lowest and the highest number. Words have no edge; nor have two values, which have nothing inside.
    """
    try:
        numbers = sorted(map(float, parameter.ends()))
        place = float(str(value))
    except ValueError:
        return None
    if _has_no_inside(parameter, numbers):
        return None

    low = numbers[0]
    high = numbers[-1]
    if parameter.log:
        low = math.log(low)
        high = math.log(high)
        place = math.log(place)
    width = 0.0 if parameter.kind == "choice" else EDGE * (high - low)
    if place <= low + width:
        return "lower"
    if place >= high - width:
        return "upper"
    return None


def _has_no_inside(parameter: Parameter, numbers: list[float]) -> bool:
    """Returns whether no value lies between the ends of a range; `numbers`: its ends, or all choices, rising."""
    low = numbers[0]
    high = numbers[-1]
    if low == high:
        return True
    if parameter.kind == "choice":
        return len(numbers) < 3
    step = parameter.step or (1.0 if parameter.kind == "int" else 0.0)
    return high - low < 2 * step


def setting_curves(searched: SearchTable, trained: Collection[str]) -> pd.DataFrame:
    """Returns a row a variant, task and setting with a value, of a search over one path of numbers; else none.

    Columns: variant, task, value (at the path), best (the mean of the first objective over the tuning seeds), low and
    high: one standard error away, judged (`chosen`, `rival` where its name is among the `trained`, or nothing).
    """
    parameter = searched.facts.parameters[0]
    target = searched.facts.objectives[0].name
    settings = with_values(searched.trials, searched.facts.objectives)
    settings = settings.assign(
        value=pd.to_numeric(settings[parameter.path], errors="coerce"), best=settings[target].astype(float)
    )
    if len(searched.facts.parameters) > 1 or settings["value"].isna().any():
        settings = settings[:0]
    settings = settings.sort_values("value", kind="stable")

    error = settings["spread"].astype(float).fillna(0.0) / np.sqrt(settings["seeds"].astype(float))
    judged = []
    for row in settings.to_dict("records"):
        name = f"{row['variant']} at {parameter.path}={parameter.label(row[parameter.path])}"
        if row["chosen"] == row["variant"]:
            judged.append("chosen")
        elif name in trained:
            judged.append("rival")
        else:
            judged.append("")
    settings = settings.assign(
        low=settings["best"] - error, high=settings["best"] + error, judged=np.array(judged, str)
    )
    return settings[["variant", "task", "value", "best", "low", "high", "judged"]]
