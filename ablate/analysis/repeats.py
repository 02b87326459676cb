"""Whether seeds spread more than a repeat of one seed does: else they may not reach the code.

With s² the variance of the baseline's seeds, and r_i the difference of two runs under one seed,

    s² < mean r_i²

of five seeds and three repeats holds in 0.74, 0.48, 0.07 and 0.001 of studies where the standard deviation of seeds is
0, 1, 3 and 10 times that of a repeat. It is a note: that seeds matter cannot be shown so.
"""

from __future__ import annotations

import numpy as np

from ablate.analysis.paired import Floats, sd_of
from ablate.core.facts import BASELINE, Evidence, TaskFacts
from ablate.core.repeats import REPEATS

LEAST = 2
"""The seeds, and the repeats, below which nothing is said."""


def spread_no_more(seeds: Floats, repeats: Floats) -> bool:
    """Returns whether seeds spread less than repeats of one seed.

    seeds: the values of the runs, shape (num_seeds,). repeats: the differences of two runs under one seed.
    """
    if len(seeds) < LEAST or len(repeats) < LEAST:
        return False
    return bool(sd_of(seeds) ** 2 < np.mean(repeats**2))


def is_seed_unheard(evidence: Evidence, task: TaskFacts) -> bool:
    """Returns whether the seeds of the baseline spread no more on a task than a repeat of one seed."""
    column = evidence.facts.column
    again = evidence.other_trials(REPEATS, ("task", "seed", "status", column))
    trials = evidence.trials
    if again.empty or column not in trials or column not in again:
        return False
    first = trials[(trials["variant"] == BASELINE) & (trials["task"] == task.name)]
    first = first[first["status"] == "completed"].set_index("seed")[column].astype(float).dropna()
    second = again[(again["task"] == task.name) & (again["status"] == "completed")]
    second = second.set_index("seed")[column].astype(float)
    differences = (second - first).dropna()
    return spread_no_more(first.to_numpy(), differences.to_numpy())
