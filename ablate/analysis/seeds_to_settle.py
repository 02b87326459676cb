"""The seeds that would settle an open verdict, as its reason names them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ablate.analysis.agreeing import Estimated, main_estimate
from ablate.analysis.over_conditions import InCondition
from ablate.analysis.paired import Differences, seeds_needed
from ablate.analysis.power import LEAST_PAIRS, MAX_SEEDS
from ablate.core.reason import Reason


@dataclass(frozen=True)
class SettlingTest:
    """A test on an estimate that would settle a verdict, in the units of the estimate.

    It is passed where the difference is shown to lie within ±`margin`, or to be other than `other_than`.
    """

    estimate: Estimated
    alpha: float
    margin: float | None = None
    """The bound within which the difference is tested to lie; None where that is not tested."""
    other_than: float | None = 0.0
    """The number from which the difference is tested to differ; None where that is not tested."""
    supports: bool = True
    """True if passing it supports the claim; False if passing it refutes the claim."""
    obstacle: Reason | None = None
    """The reason why no number of seeds can pass it; None where some number may."""

    def seeds(self, observed: Differences) -> float:
        """Returns the number of seeds that pass it, if the true differences are the observed ones."""
        return seeds_needed(observed, self.alpha, self.margin, self.other_than)


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

    A place is a condition, or the one number over all of them. To support the claim every place must pass: where every
    mean is on its side, the largest number is named. One place is enough to refute it: where means are on the other
    side, and nothing stands in their way, the smallest number of these is named. Returned are

        why                   as it is, if its code is not `open`; and for rates, or fewer than three pairs
        the obstacle          the first one, where a place has one and none can refute the claim
        folds                 more folds of the same data are no further evidence
        examples              no number of seeds is enough while there are so few test examples
        open, with a number   else; `MAX_SEEDS` + 1 stands for more

    why: the reason of the place that decides. tests: one for each place that does not support the claim yet; at
    least one.
    """
    if why is None or why.code != "open":
        return why
    refuting = [test for test in tests if not test.supports and test.obstacle is None]
    obstacles = [test.obstacle for test in tests if test.obstacle is not None]
    if obstacles and not refuting:
        return obstacles[0]
    deciding_tests = refuting or tests
    observed = _differences_of([test.estimate for test in deciding_tests])
    if observed is None:
        return why
    unit = observed[0].unit
    if unit == "folds":
        return Reason("folds")

    def seeds_that_settle(observed: Sequence[Differences]) -> float:
        """Returns the number of seeds, if the true differences are the observed ones."""
        seeds = [test.seeds(differences) for test, differences in zip(deciding_tests, observed, strict=True)]
        return min(seeds) if refuting else max(seeds)

    return _reason_naming_seeds(observed, unit, seeds_that_settle)


def with_needed_seeds_in_every(
    why: Reason | None, conditions: Sequence[InCondition], alpha: float
) -> Reason | None:
    """Returns the reason of an open verdict with the number of seeds that would settle it in every condition.

        why                   as it is, if it names no number; and for rates, or fewer than three pairs
        the obstacle          of a condition that no number of seeds gives a verdict
        both_signs            the means lie on both sides of 0, and not all conditions can be equivalent
        examples              no number of seeds is enough while there are so few test examples
        open, with a number   else; `MAX_SEEDS` + 1 stands for more

    why: the reason with the seeds of the condition that decides.
    """
    if why is None or why.code != "open" or not why.numbers:
        return why
    observed = _differences_of([condition.estimate for condition in conditions])
    if observed is None:
        return why
    (unit,) = why.numbers
    blocks = [block for condition in conditions for block in condition.estimate.blocks]
    for block in blocks:
        if block.wholly:
            return block.reason
    # Any other block keeps a condition, and so all together, from being equivalent, whatever the seeds.
    margins = [None if blocks else condition.margin for condition in conditions]
    means = [one.mean for one in observed]
    may_be_equivalent = all(
        margin is not None and abs(mean) < margin for mean, margin in zip(means, margins, strict=True)
    )
    if min(means) < 0 < max(means) and not may_be_equivalent:
        return Reason("both_signs")

    def seeds_that_settle(observed: Sequence[Differences]) -> float:
        """Returns the number of seeds, if the true differences are the observed ones."""
        return _seeds_needed_in_every(observed, margins, alpha)

    return _reason_naming_seeds(observed, unit, seeds_that_settle)


def _differences_of(estimates: Sequence[Estimated]) -> list[Differences] | None:
    """Returns the differences of some estimates; None where one is a rate, or has fewer than `LEAST_PAIRS` pairs."""
    observed: list[Differences] = []
    for estimate in estimates:
        differences = main_estimate(estimate)
        if not isinstance(differences, Differences) or differences.n < LEAST_PAIRS:
            return None
        observed.append(differences)
    return observed


def _reason_naming_seeds(
    observed: Sequence[Differences], unit: str, seeds_that_settle: Callable[[Sequence[Differences]], float]
) -> Reason:
    """Returns the reason of an open verdict with the number of seeds that would settle it.

    Where no number would, the reason is `examples` if one would with as many test examples as anyone likes; else
    `MAX_SEEDS` + 1 stands for more. seeds_that_settle: differences → the seeds that they take, infinite where no number
    up to `MAX_SEEDS` is enough.
    """
    seeds = seeds_that_settle(observed)
    if math.isfinite(seeds):
        return Reason("open", {unit: seeds})
    if math.isfinite(seeds_that_settle([one.without_examples() for one in observed])):
        return Reason("examples")
    return Reason("open", {unit: MAX_SEEDS + 1})


def _seeds_needed_in_every(
    differences: Sequence[Differences], margins: Sequence[float | None], alpha: float
) -> float:
    """Returns the seeds with which all conditions would support one verdict, if the truth were what was observed.

    Infinite where no number up to `MAX_SEEDS` is enough; so it always is where the observed differences lie on both
    sides of 0 and not all within their margins. margins: of equivalence, in the units of each condition.
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
