"""The rule of a stream of tries: keep, discard or retest, from the runs of base and try; pure, so that it is simulated.

One run screens a try. A promising one is confirmed on fresh seeds, as many runs of the try as of the base. The standard
deviation of a run, taken for equal in all, is pooled over the first runs of the base and both sides of every
confirmation, so that few pairs decide: t on the pooled degrees of freedom. The j-th confirmation is judged one-sided at
α_j = .05 · j^−1.6 / ζ(1.6), whatever the earlier ones said. The α_j add up to .05, so that by the union bound a stream
without end keeps any no-op with a probability of at most .05.

All values are oriented, so that more is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.analysis.judge import ALPHA, judge
from ablate.analysis.known import Known

FIRST = 10  # Runs of the base at the start of a ledger.
PAIRS = 5  # Of a confirmation.
SCREENED = 0.2  # One-sided p up to which a single run is promising.
POWER, ZETA = 1.6, 2.2857656  # Of j in α_j; ζ(1.6).
Verdict = Literal["keep", "discard", "retest", "confirm"]


def share(j: int) -> float:
    """α_j, that of the j-th confirmation, from 1."""
    return float(ALPHA * j**-POWER / ZETA)


@dataclass(frozen=True)
class State:
    """What a ledger knows before a try: single runs are screened against `base`; `squares` have `df`."""

    base: Sequence[float]
    squares: float  # The sum of squared deviations from the means of their sides.
    df: int
    confirmations: int = 0

    @classmethod
    def start(cls, base: Sequence[float]) -> State:
        """Of the first runs of the base, at least two."""
        return cls(base, _squares(base), len(base) - 1)

    def difference(self, tried: Sequence[float], base: Sequence[float]) -> Known:
        """Of the means of two sides."""
        se = math.sqrt(self.squares / self.df * (1 / len(tried) + 1 / len(base)))
        return Known(len(tried), _mean(tried) - _mean(base), se, self.df)

    @property
    def left(self) -> float:
        """The α of all confirmations to come."""
        return ALPHA - math.fsum(map(share, range(1, self.confirmations + 1)))

    @property
    def smallest(self) -> float:
        """The effect that the next confirmation sees with 80 % power."""
        return self.difference([0.0] * PAIRS, [0.0] * PAIRS).mde(2 * share(self.confirmations + 1))


@dataclass(frozen=True)
class Decision:
    """What is said of a try; `confirm` asks for the runs of a confirmation."""

    verdict: Verdict
    difference: float  # Oriented.
    p: float  # One-sided, of no gain.
    alpha: float  # What p is held against.


def decide(
    state: State, screen: float, tried: Sequence[float] = (), base: Sequence[float] = ()
) -> tuple[Decision, State]:
    """Of the run that screens a try and, once they are there, `PAIRS` runs of the try and of the base on fresh seeds.

    The state that follows counts a confirmation from when it is asked for. `retest`: the try would be kept if it were
    the only one that was ever confirmed.
    """
    found = state.difference([screen], state.base)
    if (p := found.above(0)) > SCREENED:
        return Decision("discard", found.mean, p, SCREENED), state
    j = state.confirmations + 1
    if not tried:
        return Decision("confirm", found.mean, p, SCREENED), State(state.base, state.squares, state.df, j)
    squares = state.squares + _squares(tried) + _squares(base)
    after = State(state.base, squares, state.df + len(tried) + len(base) - 2, j)
    found = after.difference(tried, base)
    outcomes = [judge(found, "beats", alpha=2 * alpha).outcome for alpha in (share(j), ALPHA)]
    verdict: Verdict = "discard"
    if outcomes[0] == "supported":
        verdict, after = "keep", State(tried, squares, after.df, j)
    elif outcomes[1] == "supported":
        verdict = "retest"
    return Decision(verdict, found.mean, found.above(0), share(j)), after


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values)
