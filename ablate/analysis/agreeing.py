"""One estimate where several must agree: at other settings of its sides, or on other grids.

Which setting a few tuning seeds choose is luck. So a value above x must be shown at every setting that tuning cannot
tell from the chosen one of each side that enters negatively, and one below x of each that enters positively, in all
combinations; the other sides stay as they were chosen. The number itself is that of the chosen settings.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ablate.analysis.estimates import Rate
from ablate.analysis.paired import Differences
from ablate.analysis.runs import Runs
from ablate.core.facts import TaskFacts
from ablate.core.reason import Block, Interval, Reason

Plain = Differences | Rate
Groups = Sequence[Sequence[str]]
Other = tuple[Reason, Plain]  # With what is to be said where it does not agree.
# Places among groups, as `Claim.sides` has them, that enter the estimate positively, and negatively.
POSITIVE, NEGATIVE = (0, 3), (1, 2)
MOST = 4096  # Combinations of settings that are looked at.


@dataclass(frozen=True)
class IntersectionUnion:
    """An estimate (see `core.reason.Estimate`), and others of the same: small p must be small in all of them."""

    main: Plain
    low: Sequence[Other]  # Those that bear on whether it lies above a value; `high` on whether below.
    high: Sequence[Other]
    lacking: tuple[Reason | None, Reason | None] = (None, None)  # Why some of either are not known.

    @property
    def n(self) -> int:
        """Pairs."""
        return self.main.n

    @property
    def mean(self) -> float:
        """That of the main estimate."""
        return self.main.mean

    @property
    def blocks(self) -> Sequence[Block]:
        """Those of the main estimate."""
        return self.main.blocks

    def above(self, x: float) -> float:
        """The largest p."""
        return max([self.main.above(x), *(one.above(x) for _, one in self.low)])

    def below(self, x: float) -> float:
        """The largest p."""
        return max([self.main.below(x), *(one.below(x) for _, one in self.high)])

    def interval(self, alpha: float) -> Interval | None:
        """From the smallest lower bound of `low` to the largest upper bound of `high`, so that it says what `above` and
        `below` do; None of rates.
        """
        if (own := self.main.interval(alpha)) is None:
            return None
        lower, upper = (
            [ends for _, one in others if (ends := one.interval(alpha))] for others in (self.low, self.high)
        )
        return min([own[0], *(low for low, _ in lower)]), max([own[1], *(high for _, high in upper)])

    def mde(self, alpha: float, n: int | None = None) -> float:
        """At least this, by the one that varies most."""
        return max([self.main.mde(alpha, n), *(one.mde(alpha, n) for _, one in self.low)])


Estimated = Differences | Rate | IntersectionUnion


def main_estimate(estimate: Estimated) -> Plain:
    """Returns the estimate at the chosen settings."""
    return estimate.main if isinstance(estimate, IntersectionUnion) else estimate


def over_settings(runs: Runs, task: TaskFacts, groups: Groups, of: Callable[[Groups], Plain]) -> Estimated:
    """The estimate of `groups` (as `Claim.sides`) with those at their rivals."""
    main = of(groups)
    (low, few), (high, fewer) = (_others(runs, task, groups, vary, of) for vary in (NEGATIVE, POSITIVE))
    return IntersectionUnion(main, low, high, (few, fewer)) if low or high or few or fewer else main


def _others(
    runs: Runs, task: TaskFacts, groups: Groups, vary: Sequence[int], of: Callable[[Groups], Plain]
) -> tuple[list[Other], Reason | None]:
    """Those of all combinations of settings of the sides that `vary`, and why some are not known."""
    settings = [
        [name, *(runs.runner_ups(name, task) if place in vary else ())]
        for place, group in enumerate(groups)
        for name in group
    ]
    found, lacking = list[Other](), Reason("several") if math.prod(map(len, settings)) > MOST else None
    for combination in islice(product(*settings), 1, MOST):
        names = iter(combination)
        one = of([list(islice(names, len(group))) for group in groups])
        lost = (b.reason for b in one.blocks if b.wholly and b.reason.code in ("incomplete", "unstable"))
        if why := next(lost, None):
            lacking = why
        else:
            found.append((Reason("rivals"), one))
    return found, lacking
