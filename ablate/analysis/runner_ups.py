"""Runner-ups: the settings that a few tuning seeds cannot tell from the one that they chose."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ablate.analysis.paired import ROUNDING
from ablate.analysis.search_table import SearchTable

MAX_RUNNER_UPS = 3
"""The most runner-ups of one variant on a task."""


def runner_ups(table: SearchTable, task: str) -> dict[str, list[int]]:
    """Returns variant → the places in the table of its runner-ups on a task, best first, at most three.

    They lie within `resolvable_difference` of the best setting in the mean over seeds, and none of their trainings
    diverged.
    """
    trials = table.trials
    means = trials[table.facts.objectives[0].name]
    diverged = trials["diverged"] > 0
    searched = trials.loc[trials["task"] == task, "variant"].unique()
    ranking = {variant: table.best(variant, task, len(trials)) for variant in searched}
    searches = []
    for ranked in ranking.values():
        searches.append([trials["values"][place] for place in ranked if not diverged[place]])
    resolvable = resolvable_difference(searches)

    by_variant: dict[str, list[int]] = {}
    for variant, ranked in ranking.items():
        if not ranked:
            continue
        best, *others = ranked
        close = [
            place for place in others if not diverged[place] and abs(means[best] - means[place]) <= resolvable
        ]
        by_variant[variant] = close[:MAX_RUNNER_UPS]
    return by_variant


def resolvable_difference(searches: Iterable[Sequence[Sequence[float]]]) -> float:
    """Returns 2·s·√(2/k), the difference of two means over k tuning seeds that chance explains.

    searches: the values of each variant of a task, L settings × k seeds. s² is the sum of squared residuals, without
    the means of setting and seed within each variant, over Σ (k − 1)(L − 1).
    """
    squares = 0.0
    freedom = 0
    num_seeds = 1
    for settings in searches:
        if not len(settings):
            continue
        values = np.array(settings, float)
        residuals = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        num_seeds = values.shape[1]
        squares += float((residuals**2).sum())
        freedom += (len(values) - 1) * (num_seeds - 1)
    return 2 * math.sqrt(2 * squares / (num_seeds * max(freedom, 1))) + ROUNDING
