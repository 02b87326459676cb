"""The seeds that would settle an open verdict, as its reason names them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ablate.analysis.agreeing import Estimated, main_estimate
from ablate.analysis.over_conditions import InCondition
from ablate.analysis.paired import Differences, seeds_needed
from ablate.analysis.power import LEAST_PAIRS, MAX_SEEDS
from ablate.core.reason import Reason


def with_needed_seeds(
    why: Reason | None, estimate: Estimated, *, alpha: float, margin: float | None, x: float | None = 0.0
) -> Reason | None:
    """Returns the reason of an open verdict with the number of seeds that would settle it.

    They settle whether the difference is other than `x`, or lies within `margin`, both in the units of the estimate;
    None leaves out either. Any other reason is returned as it is, and so is that of a rate or of fewer than three
    pairs, which tell of no number of seeds. Of folds no number settles anything.
    """
    differences = main_estimate(estimate)
    if why is None or why.code != "open":
        return why
    if not isinstance(differences, Differences) or differences.n < LEAST_PAIRS:
        return why
    if differences.unit == "folds":
        # More folds of the same data are no further evidence.
        return Reason("folds")
    seeds = seeds_needed(differences, alpha, margin, x)
    if math.isfinite(seeds):
        return Reason("open", {differences.unit: seeds})
    if math.isfinite(seeds_needed(differences.without_examples(), alpha, margin, x)):
        return Reason("examples")
    return Reason("open", {differences.unit: MAX_SEEDS + 1})


def with_needed_seeds_in_every(
    why: Reason | None, conditions: Sequence[InCondition], alpha: float
) -> Reason | None:
    """Returns the reason of an open verdict with the number of seeds that would settle it in every condition.

    why: the reason with the seeds of the condition that decides. It is returned as it is where it names none.
    """
    if why is None or why.code != "open" or not why.numbers:
        return why
    differences = []
    for condition in conditions:
        in_condition = main_estimate(condition.estimate)
        if not isinstance(in_condition, Differences) or in_condition.n < LEAST_PAIRS:
            return why
        differences.append(in_condition)
    (unit,) = why.numbers
    blocks = [block for condition in conditions for block in condition.estimate.blocks]
    for block in blocks:
        if block.wholly:
            return block.reason
    # Any other block keeps its condition from being equivalent, whatever the seeds.
    margins = [None if blocks else condition.margin for condition in conditions]
    seeds = _seeds_needed_in_every(differences, margins, alpha)
    if math.isfinite(seeds):
        return Reason("open", {unit: seeds})
    if min(one.mean for one in differences) < 0 < max(one.mean for one in differences):
        return Reason("both_signs")
    of_these_examples = [one.without_examples() for one in differences]
    if math.isfinite(_seeds_needed_in_every(of_these_examples, margins, alpha)):
        return Reason("examples")
    return Reason("open", {unit: MAX_SEEDS + 1})


def _seeds_needed_in_every(
    differences: Sequence[Differences], margins: Sequence[float | None], alpha: float
) -> float:
    """Returns the seeds with which all conditions would support one verdict, if the truth were what was observed.

    Infinite where the observed differences lie on both sides of 0 and not all within their margins. margins: of
    equivalence, in the units of each condition.
    """
    enough = [math.inf]
    if len({math.copysign(1.0, one.mean) for one in differences}) == 1:
        enough.append(max(seeds_needed(one, alpha) for one in differences))
    if all(margin is not None for margin in margins):
        of_margins = [
            seeds_needed(one, alpha, margin, x=None) for one, margin in zip(differences, margins, strict=True)
        ]
        enough.append(max(of_margins))
    return min(enough)
