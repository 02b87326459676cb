"""The seeds that would settle an open verdict, as its reason names them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.analysis.agreeing import Estimated, main_estimate
from ablate.analysis.over_conditions import InCondition
from ablate.analysis.paired import Differences, seeds_needed
from ablate.analysis.power import LEAST_PAIRS, MAX_SEEDS
from ablate.core.reason import Reason


@dataclass(frozen=True)
class ToShow:
    """What an estimate must be shown to be, in its units, for a verdict to be settled: either of two is enough."""

    estimate: Estimated
    alpha: float
    margin: float | None = None
    """The difference is to be shown to lie within ±`margin`; None where that settles nothing."""
    x: float | None = 0.0
    """The difference is to be shown to be other than `x`; None where that settles nothing."""
    supports: bool = True
    """Whether that would support a claim, and not refute it."""
    barred: Reason | None = None
    """Why it cannot be shown, whatever the seeds; None where it can."""


def with_needed_seeds(
    why: Reason | None, estimate: Estimated, *, alpha: float, margin: float | None, x: float | None = 0.0
) -> Reason | None:
    """Returns the reason of an open verdict with the number of seeds that would settle it.

    They settle whether the difference is other than `x`, or lies within `margin`, both in the units of the estimate;
    None leaves out either. Any other reason is returned as it is, and so is that of a rate or of fewer than three
    pairs, which tell of no number of seeds. Of folds no number settles anything.
    """
    return with_needed_seeds_of_claim(why, [ToShow(estimate, alpha, margin, x)])


def with_needed_seeds_of_claim(why: Reason | None, to_show: Sequence[ToShow]) -> Reason | None:
    """Returns the reason of an open claim with the number of seeds that would settle it at all its places together.

    It is supported where all places support it, and refuted where one refutes it. why: the reason of the place that
    decides; what else is returned, as by `with_needed_seeds`. to_show: a place each; at least one.
    """
    if why is None or why.code != "open":
        return why
    refuting = [one for one in to_show if not (one.supports or one.barred)]
    barred = [one.barred for one in to_show if one.barred is not None]
    if barred and not refuting:
        return barred[0]
    needed = refuting or to_show
    differences = []
    for one in needed:
        in_place = main_estimate(one.estimate)
        if not isinstance(in_place, Differences) or in_place.n < LEAST_PAIRS:
            return why
        differences.append(in_place)
    unit = differences[0].unit
    if unit == "folds":
        # More folds of the same data are no further evidence.
        return Reason("folds")
    together = min if refuting else max

    def seeds_for(differences: Sequence[Differences]) -> float:
        """Returns the seeds that settle the claim, if the truth were what was observed."""
        pairs = zip(differences, needed, strict=True)
        return together(seeds_needed(one, shown.alpha, shown.margin, shown.x) for one, shown in pairs)

    seeds = seeds_for(differences)
    if math.isfinite(seeds):
        return Reason("open", {unit: seeds})
    if math.isfinite(seeds_for([one.without_examples() for one in differences])):
        return Reason("examples")
    return Reason("open", {unit: MAX_SEEDS + 1})


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
