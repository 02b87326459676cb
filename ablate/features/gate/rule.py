"""The rule of a stream of tries: keep, discard or retest, from the runs of base and try; pure, so that it is simulated.

One run screens a try. A promising one is confirmed on fresh seeds, as many runs of the try as of the base. The standard
deviation of a run, taken for equal in all, is pooled over the first runs of the base and both sides of every
confirmation, so that few runs decide: t on the pooled degrees of freedom. The j-th confirmation is judged one-sided at
α_j = .05 · j^−1.6 / ζ(1.6), whatever the earlier ones said. The α_j add up to .05, so that by the union bound a stream
without end keeps a change that changes nothing with a probability of at most .05.

All values are oriented, so that more is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from ablate.analysis.power import ALPHA, detectable, t_p_above

FIRST = 10  # Runs of the base at the start of a ledger.
PAIRS = 5  # Of a confirmation.
SCREENED = 0.2  # One-sided p up to which a single run is promising.


def share(j: int) -> float:
    """α_j, that of the j-th confirmation, from 1."""
    return float(ALPHA * j**-1.6 / 2.2857656)


@dataclass(frozen=True)
class State:
    """What a ledger knows before a try: single runs are screened against `base`; `squares` have `df`."""

    base: Sequence[float]
    squares: float  # The sum of squared deviations from the means of their sides.
    df: int
    confirmations: int = 0

    def error(self, a: int, b: int) -> float:
        """The standard error of the difference of two means, of so many runs."""
        return math.sqrt(self.squares / self.df * (1 / a + 1 / b))

    @property
    def left(self) -> float:
        """The α of all confirmations to come."""
        return ALPHA - sum(map(share, range(1, self.confirmations + 1)))

    @property
    def smallest(self) -> float:
        """The effect that the next confirmation finds with 80 % power."""
        return self.error(PAIRS, PAIRS) * detectable(self.df, 2 * share(self.confirmations + 1))


@dataclass(frozen=True)
class Decision:
    """What is said of a try; `confirm` asks for the runs of a confirmation."""

    verdict: str
    difference: float
    p: float  # One-sided, of no gain.
    alpha: float  # What p is held against.


def start(base: Sequence[float]) -> State:
    """The state after the first runs of the base, at least two."""
    return State(base, squares(base), len(base) - 1)


def decide(
    state: State, screen: float, tried: Sequence[float] = (), base: Sequence[float] = ()
) -> tuple[Decision, State]:
    """Of the run that screens a try and, once they are there, `PAIRS` runs of the try and of the base on fresh seeds.

    The state that follows counts a confirmation from when it is asked for. `retest`: the try would be kept if no other
    were ever confirmed.
    """
    gain = screen - fmean(state.base)
    if (p := t_p_above(gain, state.error(1, len(state.base)), state.df, 0)) > SCREENED:
        return Decision("discard", gain, p, SCREENED), state
    after = replace(state, confirmations=state.confirmations + 1)
    if not tried:
        return Decision("confirm", gain, p, SCREENED), after
    pooled = state.squares + squares(tried) + squares(base)
    after = replace(after, squares=pooled, df=state.df + len(tried) + len(base) - 2)
    gain, alpha = fmean(tried) - fmean(base), share(after.confirmations)
    p = t_p_above(gain, after.error(len(tried), len(base)), after.df, 0)
    if p <= alpha:
        return Decision("keep", gain, p, alpha), replace(after, base=tried)
    return Decision("retest" if p <= ALPHA else "discard", gain, p, alpha), after


def squares(values: Sequence[float]) -> float:
    """The sum of squared deviations from the mean."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)
