"""A stream of tries: each is kept, discarded or to be tested again, with one error rate for all of them.

One run screens a try. A promising one is confirmed on fresh seeds, n = 5 runs of the try and as many of the base. Tries
of one wave are screened and confirmed against the same base; each confirmation pools its own runs with those before the
wave. With
the gain g, the mean of the try less that of the base, its p is the larger of two one-sided ones, each against no gain:

    pooled   t = g / √(2·s²/n) with ν degrees of freedom; s² is the variance of a run, taken for equal in all, pooled
             over the first ten runs of the base and both sides of every confirmation
    Welch    t = g / √se², se² = (v_b + v_t)/n, with df = se⁴/((v_b/n)²/f_b + (v_t/n)²/(n − 1)); v_b is the variance of
             the present base, pooled over its own runs, on f_b degrees of freedom, and v_t that of the try's five
             (Welch 1947, Biometrika 34, 28–35)

The pooled one decides where a few runs happen to lie close together, Welch's where a try is noisier than the base: the
pooled one alone keeps a change of no worth in 0.07 to 0.15 of streams whose tries have two to ten times the spread.

The level of each confirmation is that of `analysis.level_of_tries`, which returns after a keep what was not spent.
Of streams of 60 tries that change nothing, with 1 to 10 times the spread, 0.02 to 0.03 keep any (`make calibrate`).
Outliers to the worse side together with noisy tries break this: 0.06 to 0.15 where one run in ten is five to ten
standard deviations worse, and tries have two or three times the spread. So does skew without outliers: 0.115 where runs
are 1 − an exponential variable, and those of tries three times that.

A base that is given by numbers of earlier runs only screens: its variances have 0 degrees of freedom.

All values are oriented, so that more is better.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, variance
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field
from scipy import special

from ablate.analysis.level_of_tries import TOTAL_LEVEL, Confirmed, LevelLeft, kept_of_wave, order_of_wave
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
MIN_VARIANCE = 1e-120
"""The smallest variance of a run, whose square is a float, too."""
NODES = 40
"""Values of a variance over which power is averaged."""
SEEDS = 1 + PAIRS
"""Seeds that each try takes, whether it is confirmed or not."""


@dataclass(frozen=True)
class Spread:
    """The variance of a run, with its degrees of freedom.

    All formulas take arrays of variances, too.
    """

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    variance: Annotated[float, Field(gt=0)]
    df: Annotated[float, Field(ge=0)]

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
    """The runs on which the decision about the next tries depends."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    base: Annotated[Sequence[float], Field(min_length=PAIRS)]
    """Runs of the present base, against which single runs are screened."""
    all_runs: Spread
    """The spread of all runs so far but the screening ones, each around the mean of its side."""
    base_runs: Spread
    """The spread of the runs of the present base alone."""
    confirmations: Annotated[int, Field(ge=0)] = 0
    """Confirmations that have begun."""
    seed: Annotated[int, Field(ge=NUM_BASE_RUNS)] = NUM_BASE_RUNS
    """The first seed that no run has had."""
    base_is_given: bool = False
    """Whether the runs of the base are earlier ones, of which no confirmation makes use."""

    @classmethod
    def at_start(cls, values: Sequence[float]) -> "State":
        """Returns the state after the first runs of the base."""
        spread = Spread.of(values)
        return cls(values, spread, spread)

    @classmethod
    def on_given_base(cls, values: Sequence[float], seed: int) -> "State":
        """Returns the state at the start of a stream whose base is given by numbers of earlier runs."""
        spread = Spread(Spread.of(values).variance, 0)
        return cls(values, spread, spread, seed=seed, base_is_given=True)

    def screened(self, value: float) -> "Answer":
        """Returns the answer to a try after one run."""
        spread = self.all_runs.pooled_with(Spread.of(self.base)) if self.base_is_given else self.all_runs
        gain = value - fmean(self.base)
        error = (spread.variance * (1 + 1 / len(self.base))) ** 0.5
        return Answer("discard", gain, t_p_above(gain, error, spread.df, 0), SCREENING_P)

    def confirmed(self, sides: "Sides", level: float) -> Confirmed:
        """Returns the confirmation of a try, which pools its own runs with those before the wave."""
        gain = fmean(sides.tried) - fmean(sides.base)
        pooled = self.all_runs.pooled_with(sides.base_spread, sides.tried_spread)
        base_runs = self.base_runs.pooled_with(sides.base_spread)
        return Confirmed(gain, p_of_gain(gain, pooled, base_runs, sides.tried_spread), level)

    def after(self, confirmations: Sequence["Sides"], kept: "Sides | None") -> "State":
        """Returns the state after the confirmations of a wave, one of which may be that of the try that is kept."""
        of_base = [sides.base_spread for sides in confirmations]
        of_tries = [sides.tried_spread for sides in confirmations]
        after = replace(
            self,
            all_runs=self.all_runs.pooled_with(*of_base, *of_tries),
            base_runs=self.base_runs.pooled_with(*of_base),
        )
        if kept is None:
            return after
        return replace(after, base=kept.tried, base_runs=kept.tried_spread, base_is_given=False)

    def smallest_effect(self, level: float) -> float:
        """Returns the gain that a confirmation at a level finds with 80 % power, if the try varies as the base does.

        Averaged over the variances that its runs may show, at midpoints of equal probability.
        """
        probabilities = (np.arange(NODES) + 0.5) / NODES
        ratios = special.chdtri(PAIRS - 1, 1 - probabilities) / (PAIRS - 1)
        base, tried = np.meshgrid(ratios, ratios) * np.array(self.base_runs.variance)
        base_runs = self.base_runs.pooled_with(Spread(base, PAIRS - 1))
        all_runs = self.all_runs.pooled_with(Spread(base, PAIRS - 1), Spread(tried, PAIRS - 1))
        errors = standard_errors(all_runs, base_runs, Spread(tried, PAIRS - 1))
        pooled, welch = [-special.stdtrit(df, level) * error for error, df in errors]
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
class Sides:
    """The runs of a confirmation."""

    base: Sequence[float]
    tried: Sequence[float]

    def check(self) -> None:
        """Raises `AblateError` for runs that lie too close together."""
        _ = self.base_spread, self.tried_spread

    @cached_property
    def base_spread(self) -> Spread:
        """The spread of the runs of the base."""
        return Spread.of(self.base)

    @cached_property
    def tried_spread(self) -> Spread:
        """The spread of the runs of the try."""
        return Spread.of(self.tried)


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


@dataclass(frozen=True)
class Judged:
    """The answers to the tries of a wave, and what they leave."""

    answers: Sequence[Answer | None]
    """None for a try whose runs could not be measured."""
    state: State
    left: LevelLeft


def attempt(
    state: State,
    left: LevelLeft,
    num_tries: int,
    *,
    screen: Callable[[Sequence[int]], Sequence[float | None]],
    confirm: Callable[[Mapping[int, Sequence[int]]], Mapping[int, Sides]],
    on_confirmations: Callable[[Sequence[int], State], object],
) -> Judged:
    """Screens the tries of a wave, one or more, and confirms the promising ones.

    `screen` runs each try under its seed. `confirm` runs base and try under the seeds of each try that it is given, by
    their numbers from 0; it leaves out what cannot be measured. `on_confirmations` is called before, with the tries in
    the order of their levels and the state that they leave even if they never end. `retest`: the try passed, but
    another was kept, or it would be kept if no other were ever confirmed.
    """
    seeds = [state.seed + SEEDS * number for number in range(num_tries)]
    after = replace(state, seed=state.seed + SEEDS * num_tries)
    answers = [None if value is None else state.screened(value) for value in screen(seeds)]
    order = _promising(answers)
    if not order:
        return Judged(answers, after, left)

    after = replace(after, confirmations=state.confirmations + len(order))
    on_confirmations(order, after)
    runs = confirm({number: range(seeds[number] + 1, seeds[number] + SEEDS) for number in order})

    places = {number: left.confirmations + place for place, number in enumerate(order, 1)}
    measured = [number for number in order if number in runs]
    confirmed: dict[int, Confirmed] = {}
    for number in measured:
        confirmed[number] = state.confirmed(runs[number], left.level_of(places[number]))
    kept = kept_of_wave([*confirmed.values()])
    best = None if kept is None else measured[kept]
    for number in order:
        answers[number] = _answer(confirmed[number], number == best) if number in runs else None
    left = left.after(len(order))
    if best is None:
        return Judged(answers, after.after([*runs.values()], None), left)
    return Judged(answers, after.after([*runs.values()], runs[best]), left.after_keep(places[best]))


def _promising(answers: Sequence[Answer | None]) -> list[int]:
    """Returns the numbers of the tries that are confirmed after their screening, in the order of their levels."""
    p_of: dict[int, float] = {}
    for number, answer in enumerate(answers):
        if answer is not None and answer.p is not None and answer.p <= SCREENING_P:
            p_of[number] = answer.p
    numbers = [*p_of]
    return [numbers[index] for index in order_of_wave([*p_of.values()])]


def _answer(confirmed: Confirmed, is_kept: bool) -> Answer:
    """Returns the answer to a try after its confirmation."""
    if is_kept:
        verdict: Verdict = "keep"
    else:
        verdict = "retest" if confirmed.p <= TOTAL_LEVEL else "discard"
    return Answer(verdict, confirmed.gain, confirmed.p, confirmed.level)
