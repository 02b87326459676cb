"""What each form of a verdict over conditions can detect, before anything is trained.

`each` judges every variant in every condition, at 0.05/(rows · T); `mean`, `every` and a trend judge a variant once, at
0.05/rows. In every one of T conditions an effect is found with 80 % power where each finds it with 0.8^(1/T): of
conditions that share their seeds, with that power at least. Of runs that are known, `mde` of an estimate over
conditions and `prospects.seeds_to_detect` say the same of `mean` and of a trend.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.power import ALPHA, POWER, detectable_effect

LEAST_CONDITIONS_FOR_MEAN = 5
"""Conditions from which on `mean` is proposed."""


@dataclass(frozen=True)
class FormEffects:
    """The effects that are found with 80 % power, in standard deviations of a difference in one condition."""

    each: float
    """In any one condition, each judged alone."""
    mean: float
    """Of the mean over conditions."""
    every: float
    """In all conditions, each of which has it."""
    trend: float | None
    """Per doubling; None where no sizes are given."""


def effects_of_forms(
    num_seeds: int,
    num_conditions: int,
    num_rows: int,
    *,
    correlation: float = 0.0,
    sizes: Sequence[float] = (),
    num_rows_of_each: int | None = None,
    share: float = 1.0,
) -> FormEffects:
    """Returns what num_seeds ≥ 2 seeds detect by each form.

    num_rows: the planned rows, with the claims that are none of them. correlation: that of the differences of two
    conditions under one seed. sizes: the number of a trend in each condition. num_rows_of_each: the rows and claims of
    all conditions, as `each` judges them; not given: num_rows in each condition. share: that of the level which the
    last look at the seeds has.
    """
    alpha = ALPHA * share / num_rows
    of_each = num_rows * num_conditions if num_rows_of_each is None else num_rows_of_each
    alone = detectable_effect(num_seeds, alpha)
    sd_of_mean = math.sqrt(correlation + (1 - correlation) / num_conditions)
    trend = None
    if sizes:
        doublings = np.log2(np.array(sizes, float))
        spread = float(((doublings - doublings.mean()) ** 2).sum())
        trend = alone * math.sqrt((1 - correlation) / spread)
    return FormEffects(
        each=detectable_effect(num_seeds, ALPHA * share / of_each),
        mean=alone * sd_of_mean,
        every=detectable_effect(num_seeds, alpha, POWER ** (1 / num_conditions)),
        trend=trend,
    )
