"""One estimate where several must agree: at other settings of its sides, or on other grids.

    p(x) = max over the estimates of p_i(x)

is the p-value of the union of their hypotheses: all must be rejected (intersection-union test; Berger 1982,
Technometrics 24, 295–300). The number itself is that of the main estimate.

Which setting a few tuning seeds choose is luck, so that a verdict must hold at the runner-ups that could overturn it.
The estimate is (A − B) − (A′ − B′); a plain comparison has no A′ and B′.

    to lie above x   the runner-ups of B and A′, which are subtracted, must agree: `low`
    to lie below x   the runner-ups of A and B′, which are added, must agree: `high`

in all combinations; the other sides keep the setting that was chosen.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ablate.analysis.estimates import Rate
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.runs import Runs
from ablate.analysis.search_table import SearchFacts
from ablate.core.facts import TaskFacts
from ablate.core.reason import Block, Interval, Reason

Plain = Differences | Rate
Groups = Sequence[Sequence[str]]
"""The variants of each side, as `Claim.sides` has them."""
Other = tuple[Reason, Plain]
"""An estimate that must agree with the main one, and the reason that is given where it does not."""

ADDED = (0, 3)
"""A and B′, by their places in `Claim.sides`: A, B, A′, B′."""
SUBTRACTED = (1, 2)
"""B and A′."""
MAX_COMBINATIONS = 4096
"""Combinations of settings that are estimated."""


@dataclass(frozen=True)
class IntersectionUnion:
    """An estimate (see `core.reason.Estimate`) whose p is small only where that of several others is small too."""

    main: Plain
    low: Sequence[Other]
    """Others that must agree where the estimate is to lie above a value."""
    high: Sequence[Other]
    """Others that must agree where it is to lie below a value."""
    lacking: tuple[Reason | None, Reason | None] = (None, None)
    """Why some that belong in `low`, and in `high`, are not known; None where all are."""

    @property
    def n(self) -> int:
        """Number of pairs of the main estimate."""
        return self.main.n

    @property
    def mean(self) -> float:
        """Mean difference of the main estimate."""
        return self.main.mean

    @property
    def blocks(self) -> Sequence[Block]:
        """Blocks of the main estimate."""
        return self.main.blocks

    def above(self, x: float) -> float:
        """Returns the p of the main estimate, and each of `low`, lying above `x`: the largest."""
        return max([self.main.above(x), *(other.above(x) for _, other in self.low)])

    def below(self, x: float) -> float:
        """Returns the p of the main estimate, and each of `high`, lying below `x`: the largest."""
        return max([self.main.below(x), *(other.below(x) for _, other in self.high)])

    def interval(self, alpha: float) -> Interval | None:
        """Returns the smallest lower bound of `low` and the largest upper bound of `high`; None for rates.

        So the interval says what `above` and `below` say.
        """
        interval = self.main.interval(alpha)
        if interval is None:
            return None
        lower, upper = interval
        for _, other in self.low:
            bounds = other.interval(alpha)
            if bounds is not None:
                lower = min(lower, bounds[0])
        for _, other in self.high:
            bounds = other.interval(alpha)
            if bounds is not None:
                upper = max(upper, bounds[1])
        return lower, upper

    def mde(self, alpha: float, n: int | None = None) -> float:
        """Returns the largest minimum detectable difference of the main estimate and those of `low`."""
        return max([self.main.mde(alpha, n), *(other.mde(alpha, n) for _, other in self.low)])


Estimated = Differences | Rate | IntersectionUnion


def lacks_pairs(estimates: Iterable[Estimated]) -> bool:
    """Returns whether at least one of the estimates lacks planned pairs, which no further seed makes good.

    Of an `IntersectionUnion` only the main estimate is asked: pairs that are missing at a runner-up are not seen.
    """
    codes: set[str] = set()
    for estimate in estimates:
        codes.update(block.reason.code for block in estimate.blocks)
    return "incomplete" in codes


def main_estimate(estimate: Estimated) -> Plain:
    """Returns the estimate at the chosen settings."""
    return estimate.main if isinstance(estimate, IntersectionUnion) else estimate


def binding_resolution(estimate: Estimated) -> float:
    """Returns the resolution that counts as the standard deviation of the differences, which is less; else NaN."""
    differences = main_estimate(estimate)
    return differences.binding_resolution if isinstance(differences, Differences) else NAN


def over_settings(
    runs: Runs,
    tasks: Sequence[TaskFacts],
    groups: Groups,
    estimate_of: Callable[[Sequence[Groups]], Plain],
    *,
    has_both_signs: bool = False,
) -> Estimated:
    """Returns the estimate of `groups` on some tasks, with the estimates at their runner-ups where there are any.

    estimate_of: is given the groups on each task. Settings that were tuned on one task for all are varied on all at
    once, others on each task. has_both_signs: whether some tasks are added and others subtracted, so that the settings
    of all groups are varied.
    """
    if len(tasks) > 1 and _are_tuned_at_one(runs):

        def estimate_on_all(groups_by_task: Sequence[Groups]) -> Plain:
            return estimate_of([groups_by_task[0]] * len(tasks))

        return over_settings(runs, tasks[:1], groups, estimate_on_all, has_both_signs=has_both_signs)

    main = estimate_of([groups] * len(tasks))
    both = (*ADDED, *SUBTRACTED)
    subtracted = both if has_both_signs else SUBTRACTED
    added = both if has_both_signs else ADDED
    low, lacking_low = _at_runner_ups(runs, tasks, groups, varied=subtracted, estimate_of=estimate_of)
    high, lacking_high = _at_runner_ups(runs, tasks, groups, varied=added, estimate_of=estimate_of)
    if low or high or lacking_low or lacking_high:
        return IntersectionUnion(main, low, high, (lacking_low, lacking_high))
    return main


def _are_tuned_at_one(runs: Runs) -> bool:
    """Returns whether variants were tuned on one task for all."""
    tuned = runs.facts.of(SearchFacts)
    return tuned is not None and bool(tuned.at)


def _at_runner_ups(
    runs: Runs,
    tasks: Sequence[TaskFacts],
    groups: Groups,
    *,
    varied: Sequence[int],
    estimate_of: Callable[[Sequence[Groups]], Plain],
) -> tuple[list[Other], Reason | None]:
    """Returns the estimates at all other combinations of settings, and why some are not known.

    varied: the indices of the groups whose settings are varied; the others stay at the chosen ones.
    """
    settings = []
    for task in tasks:
        for index, group in enumerate(groups):
            for name in group:
                runner_ups = runs.runner_ups(name, task) if index in varied else []
                settings.append([name, *runner_ups])
    lacking = None
    if math.prod(len(names) for names in settings) > MAX_COMBINATIONS:
        if len(tasks) > 1:
            return [], Reason("combinations")
        lacking = Reason("several")

    others: list[Other] = []
    # The first combination is that of the chosen settings.
    for combination in islice(product(*settings), 1, MAX_COMBINATIONS):
        names = iter(combination)
        estimate = estimate_of([_grouped(names, groups) for _ in tasks])
        lost = [block.reason for block in estimate.blocks if block.wholly]
        lost = [reason for reason in lost if reason.code in ("incomplete", "unstable")]
        if lost:
            lacking = lost[0]
        else:
            others.append((Reason("rivals"), estimate))
    return others, lacking


def _grouped(names: Iterator[str], groups: Groups) -> Groups:
    """Returns the next names in groups of the same sizes."""
    return [list(islice(names, len(group))) for group in groups]
