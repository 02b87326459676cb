"""Rivals: the settings that a few tuning seeds cannot tell from the one that they chose."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ablate.analysis.paired import ROUNDING
from ablate.analysis.search_table import SearchTable

MOST = 3  # Of one setting.


def rivals(table: SearchTable, task: str) -> dict[str, list[int]]:
    """Variant → the places of the settings that tuning cannot tell from its best: at most three, best first.

    Those within `resolved` of it in the mean over seeds, of which no training diverged.
    """
    trials = table.trials
    means, diverged = trials[table.facts.objectives[0].name], trials["diverged"] > 0
    searched = trials.loc[trials["task"] == task, "variant"].unique()
    every = {variant: table.best(variant, task, len(trials)) for variant in searched}
    near = resolved([[*trials["values"][[p for p in of if not diverged[p]]]] for of in every.values()])
    return {
        variant: [p for p in others if not diverged[p] and abs(means[best] - means[p]) <= near][:MOST]
        for variant, (best, *others) in ((name, places) for name, places in every.items() if places)
    }


def resolved(searches: Iterable[Sequence[Sequence[float]]]) -> float:
    """2·s·√(2/k): the difference of two means over k tuning seeds that chance explains.

    `searches`: of each variant of a task L settings × k seeds. s² is the sum of squared residuals, without the means of
    setting and seed within each variant, over Σ (k − 1)(L − 1).
    """
    squares, freedom, k = 0.0, 0, 1
    for values in (np.array(of, float) for of in searches if len(of)):
        rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        k = values.shape[1]
        squares, freedom = squares + float((rest**2).sum()), freedom + (len(values) - 1) * (k - 1)
    return 2 * math.sqrt(2 * squares / (k * max(freedom, 1))) + ROUNDING
