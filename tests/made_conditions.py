"""Conditions from arrays of differences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ablate.analysis.conditions import Condition
from ablate.analysis.paired import Differences
from ablate.core.metric import Metric
from ablate.core.reason import Block

SCORE = Metric("max")


def conditions(
    d: ArrayLike, scales: Sequence[float] | None = None, metric: Metric = SCORE
) -> list[Condition]:
    """Returns the conditions of differences of shape (num_seeds, num_conditions)."""
    values = np.asarray(d, float)
    made = []
    for t, one in enumerate(values.T):
        differences = Differences.between(one, 0 * one)
        scale = None if scales is None else scales[t]
        made.append(Condition(f"c{t}", differences, "score", metric, range(len(one)), scale))
    return made


def with_examples(d: ArrayLike) -> list[Condition]:
    """Returns the conditions of differences of shape (num_conditions, num_seeds, num_examples)."""
    made = []
    for t, one in enumerate(np.asarray(d, float)):
        differences = Differences.between(one.mean(axis=1), np.zeros(len(one)), examples=one)
        made.append(Condition(f"c{t}", differences, "score", SCORE, range(len(one))))
    return made


def other_seeds(conditions: Sequence[Condition]) -> list[Condition]:
    """Returns the conditions with seed numbers of which no two share any."""
    made = []
    for t, one in enumerate(conditions):
        made.append(replace(one, seeds=range(100 * t, 100 * t + one.difference.n)))
    return made


def blocked(condition: Condition, *blocks: Block) -> Condition:
    """Returns the condition with these blocks."""
    return replace(condition, difference=replace(condition.difference, blocks=blocks))
