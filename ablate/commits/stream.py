"""A stream of tries: each is kept, discarded or to be tested again, with one error rate for all of them.

One run screens a try. A promising one is confirmed on fresh seeds, n = 5 runs of the try and as many of the base. With
the gain g, the mean of the try less that of the base, its p is the larger of two one-sided ones, each against no gain:

    pooled   t = g / √(2·s²/n) with ν degrees of freedom; s² is the variance of a run, taken for equal in all, pooled
             over the first ten runs of the base and both sides of every confirmation
    Welch    t = g / √se², se² = (v_b + v_t)/n, with df = se⁴/((v_b/n)²/f_b + (v_t/n)²/(n − 1)); v_b is the variance of
             the present base, pooled over its own runs, on f_b degrees of freedom, and v_t that of the try's five
             (Welch 1947, Biometrika 34, 28–35)

The pooled one decides where a few runs happen to lie close together, Welch's where a try is noisier than the base: the
pooled one alone keeps a change of no worth in 0.07 to 0.15 of streams whose tries have two to ten times the spread.

The j-th confirmation is judged at α_j = 0.04 · j^−1.6 / ζ(1.6), whatever the earlier ones said. The α_j add up to 0.04.
Of streams of 60 tries that change nothing, with 1 to 10 times the spread, 0.02 to 0.03 keep any (`make calibrate`).
Outliers to the worse side together with noisy tries break this: 0.06 to 0.15 where one run in ten is five to ten
standard deviations worse, and tries have two or three times the spread. So does skew without outliers: 0.115 where runs
are 1 − an exponential variable, and those of tries three times that.

All values are oriented, so that more is better.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field
from scipy import special

from ablate.analysis.power import POWER, t_p_above
from ablate.base.errors import AblateError
from ablate.base.kept import FINITE

Verdict = Literal["keep", "discard", "retest"]
NUM_BASE_RUNS = 10
"""Runs of the base at the start of a ledger."""
PAIRS = 5
"""Runs of each side in a confirmation."""
SCREENING_P = 0.2
"""The largest one-sided p of a single run at which a try is confirmed."""
TOTAL_ALPHA = 0.04
"""The sum of the α_j of all confirmations."""
MIN_VARIANCE = 1e-120
"""The smallest variance of a run, whose square is a float, too."""
NODES = 40
"""Values of a variance over which power is averaged."""
ALPHAS = [TOTAL_ALPHA * j**-1.6 / 2.2857656 for j in range(1, 10_001)]
"""α_1, α_2, …, more than any stream needs; ζ(1.6) = 2.2857656."""


@dataclass(frozen=True)
class Spread:
    """The variance of a run, with its degrees of freedom.

    All formulas take arrays of variances, too.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    variance: Annotated[float, Field(gt=0)]
    df: Annotated[float, Field(gt=0)]

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Returns the variance of two values or more. Raises `AblateError` for one whose square is no float."""
        spread = cls(variance(values), len(values) - 1)
        if spread.variance < MIN_VARIANCE:
            raise AblateError(
                f"{len(values)} runs under different seeds differ by less than {MIN_VARIANCE**0.5:g}, too little to "
                "be judged; print the metric in a smaller unit"
            )
        return spread

    def pooled_with(self, *others: "Spread") -> "Spread":
        """Returns the mean of this variance and of others, weighted by their degrees of freedom."""
        spreads = (self, *others)
        df = sum(spread.df for spread in spreads)
        return Spread(sum(spread.df * spread.variance for spread in spreads) / df, df)


@dataclass(frozen=True)
class State:
    """The runs and the spent α on which the decision about the next try depends."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    base: Annotated[Sequence[float], Field(min_length=PAIRS)]
    """Runs of the present base, against which single runs are screened."""
    all_runs: Spread
    """The spread of all runs so far but the screening ones, each around the mean of its side."""
    base_runs: Spread
    """The spread of the runs of the present base alone."""
    confirmations: Annotated[int, Field(ge=0, lt=len(ALPHAS))] = 0
    """Confirmations that have begun."""
    seed: Annotated[int, Field(ge=NUM_BASE_RUNS)] = NUM_BASE_RUNS
    """The first seed that no run has had."""

    @classmethod
    def at_start(cls, values: Sequence[float]) -> "State":
        """Returns the state after the first runs of the base."""
        spread = Spread.of(values)
        return cls(values, spread, spread)

    def next(self) -> "State":
        """Returns the state after a try that was only screened, whose seeds count as used."""
        return replace(self, seed=self.seed + 1 + PAIRS)

    @property
    def alpha(self) -> float:
        """The α_j at which the next confirmation is judged."""
        return ALPHAS[self.confirmations]

    @property
    def alpha_left(self) -> float:
        """The sum of the α_j of all confirmations to come."""
        return TOTAL_ALPHA - sum(ALPHAS[: self.confirmations])

    @property
    def smallest_effect(self) -> float:
        """The gain that the next confirmation finds with 80 % power, if the try varies as the base does.

        Averaged over the variances that its runs may show, at midpoints of equal probability.
        """
        probabilities = (np.arange(NODES) + 0.5) / NODES
        ratios = special.chdtri(PAIRS - 1, 1 - probabilities) / (PAIRS - 1)
        base, tried = np.meshgrid(ratios, ratios) * np.array(self.base_runs.variance)
        base_runs = self.base_runs.pooled_with(Spread(base, PAIRS - 1))
        all_runs = self.all_runs.pooled_with(Spread(base, PAIRS - 1), Spread(tried, PAIRS - 1))
        errors = standard_errors(all_runs, base_runs, Spread(tried, PAIRS - 1))
        pooled, welch = [-special.stdtrit(df, self.alpha) * error for error, df in errors]
        needed = np.maximum(pooled, welch)
        noise = (2 * self.base_runs.variance / PAIRS) ** 0.5

        low = 0.0
        high = float(needed.max()) + 3 * noise
        for _ in range(60):
            middle = (low + high) / 2
            power = special.ndtr((middle - needed) / noise).mean()
            if power < POWER:
                low = middle
            else:
                high = middle
        return high


@dataclass(frozen=True)
class Answer:
    """The verdict on a try, with the test behind it."""

    verdict: Verdict
    difference: float
    """The mean of the try less that of the base."""
    p: float | None
    """The one-sided p of no gain; None where nothing was tested."""
    alpha: float | None
    """The α of that test; None where nothing was tested."""


def standard_errors(pooled: Spread, base: Spread, tried: Spread) -> list[tuple[float, float]]:
    """Returns the standard errors of a gain, each with its degrees of freedom: the pooled one and Welch's."""
    base_part = base.variance / PAIRS
    tried_part = tried.variance / PAIRS
    total = base_part + tried_part
    welch_df = total**2 / (base_part**2 / base.df + tried_part**2 / tried.df)
    return [((2 * pooled.variance / PAIRS) ** 0.5, pooled.df), (total**0.5, welch_df)]


def p_of_gain(gain: float, pooled: Spread, base: Spread, tried: Spread) -> float:
    """Returns the one-sided p of a confirmation: the larger of the pooled t and Welch's."""
    return max(t_p_above(gain, error, df, 0) for error, df in standard_errors(pooled, base, tried))


def attempt(
    state: State,
    screen: Callable[[int], float],
    run_both: Callable[[Sequence[int]], Sequence[Sequence[float]]],
    on_confirmation: Callable[[State], object],
) -> tuple[Answer, State]:
    """Screens a try, and confirms a promising one; returns the answer and the next state.

    `screen` runs the try under a seed, `run_both` the base and the try under several. `on_confirmation` is called
    before a confirmation, with the state that it leaves even if it never ends. `retest`: the try would be kept if no
    other were ever confirmed.
    """
    screened_gain = screen(state.seed) - fmean(state.base)
    error = (state.all_runs.variance * (1 + 1 / len(state.base))) ** 0.5
    screened_p = t_p_above(screened_gain, error, state.all_runs.df, 0)
    if screened_p > SCREENING_P:
        return Answer("discard", screened_gain, screened_p, SCREENING_P), state.next()

    after = replace(state.next(), confirmations=state.confirmations + 1)
    on_confirmation(after)
    base, tried = run_both(range(state.seed + 1, after.seed))
    tried_runs = Spread.of(tried)
    base_runs = state.base_runs.pooled_with(Spread.of(base))
    all_runs = state.all_runs.pooled_with(Spread.of(base), tried_runs)
    after = replace(after, all_runs=all_runs, base_runs=base_runs)

    gain = fmean(tried) - fmean(base)
    p = p_of_gain(gain, all_runs, base_runs, tried_runs)
    if p <= state.alpha:
        return Answer("keep", gain, p, state.alpha), replace(after, base=tried, base_runs=tried_runs)
    return Answer("retest" if p <= TOTAL_ALPHA else "discard", gain, p, state.alpha), after
