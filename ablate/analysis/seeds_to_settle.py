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
class SettlingTest:
    """The tests of an estimate, in its units, either of which settles a verdict on it."""

    estimate: Estimated
    alpha: float
    margin: float | None = None
    """The difference lies within ±`margin`; None: that is not tested."""
    other_than: float | None = 0.0
    """The difference is other than this number; None: that is not tested."""
    supports: bool = True
    """True if passing it supports the claim; False if passing it refutes the claim."""
    obstacle: Reason | None = None
    """The reason why no number of seeds can pass it; None where some number may."""


def with_needed_seeds(
    why: Reason | None, estimate: Estimated, *, alpha: float, margin: float | None, x: float | None = 0.0
) -> Reason | None:
    """Returns the reason of an open verdict on one estimate with the number of seeds that would settle it.

    They settle whether the difference is other than `x`, or lies within ±`margin`, both in the units of the estimate;
    None leaves out either. Other reasons are as in `with_needed_seeds_of_claim`.
    """
    return with_needed_seeds_of_claim(why, [SettlingTest(estimate, alpha, margin, x)])


def with_needed_seeds_of_claim(why: Reason | None, tests: Sequence[SettlingTest]) -> Reason | None:
    """Returns the reason of an open claim with the number of seeds that would settle it.

    Where the means of all places support the claim, all must pass: the largest number counts. Where some speak against
    it, one of these refutes it: the smallest counts. Returned are

        why                   as it is, if it is no `open`; and for rates, or fewer than three pairs
        the obstacle          of a place that would have to support the claim and cannot
        folds                 more folds of the same data are no further evidence
        examples              no number of seeds is enough while there are so few test examples
        open, with a number   else; `MAX_SEEDS` + 1 stands for more

    why: the reason of the place that decides. tests: those of each place; at least one.
    """
    if why is None or why.code != "open":
        return why
    refuting = [test for test in tests if not test.supports and test.obstacle is None]
    obstacles = [test.obstacle for test in tests if test.obstacle is not None]
    if obstacles and not refuting:
        return obstacles[0]
    counted = refuting or tests
    counted_differences: list[Differences] = []
    for test in counted:
        differences = main_estimate(test.estimate)
        if not isinstance(differences, Differences) or differences.n < LEAST_PAIRS:
            return why
        counted_differences.append(differences)
    unit = counted_differences[0].unit
    if unit == "folds":
        return Reason("folds")

    def seeds_that_settle(observed: Sequence[Differences]) -> float:
        """Returns the number of seeds, if the true differences are the observed ones."""
        seeds = [
            seeds_needed(differences, test.alpha, test.margin, test.other_than)
            for differences, test in zip(observed, counted, strict=True)
        ]
        return min(seeds) if refuting else max(seeds)

    seeds = seeds_that_settle(counted_differences)
    if math.isfinite(seeds):
        return Reason("open", {unit: seeds})
    if math.isfinite(seeds_that_settle([one.without_examples() for one in counted_differences])):
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
