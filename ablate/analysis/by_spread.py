"""A claim about the spread over seeds, on one task: two standard deviations of paired samples.

The test is that of Pitman (1939, Biometrika 31, 9–12) and Morgan (1939, Biometrika 31, 13–19): the variances of a pair
of normal samples differ exactly where their sum and their difference are correlated.
Like every test of variances it needs them normal: with tails as of t with 5 degrees of freedom it errs in a tenth of
studies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.grounds import Grounds
from ablate.analysis.paired import NAN, ROUNDING, Floats, Interval
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side
from ablate.analysis.student import sd_interval, t_p_above
from ablate.analysis.verdicts import Verdict
from ablate.base import wording
from ablate.core.claim import Claim

MIN_SEEDS = 20
"""Below, spreads are not compared: at five seeds one must be three times the other to be told apart."""


def pitman_morgan(a: Floats, b: Floats, resolution: float = 0.0) -> float:
    """Two-sided p of equal variances of pairs, both of shape (n,); NaN below three pairs, or where no side varies.

    No standard deviation is taken below `resolution`: a side that shows none may still have some.
    """
    n = len(a)
    if n < 3:
        return NAN
    va, vb = (max(float(np.var(side, ddof=1)), resolution**2) for side in (a, b))
    shared = float(np.cov(a, b)[0, 1])
    scale = (va + vb) ** 2 - 4 * shared**2
    if va + vb == 0:
        return NAN
    # Of the sum and the difference; rounding may take a correlation of 1 beyond it.
    r = 1.0 if scale <= 0 else min(1.0, abs(va - vb) / math.sqrt(scale))
    if r == 1.0:
        return 0.0
    return min(1.0, 2 * t_p_above(r, math.sqrt((1 - r * r) / (n - 2)), n - 2, 0.0))


def spread_interval(sd: float, n: int, alpha: float = ALPHA) -> Interval:
    """The interval of the standard deviation of n normal values at level 1 − `alpha`; NaN for fewer than two."""
    return sd_interval(sd, n - 1, alpha) if n > 1 else (NAN, NAN)


@dataclass(frozen=True)
class Spreads:
    """The spreads over seeds of two variants on the primary metric."""

    a: Side
    b: Side

    @cached_property
    def contrast(self) -> Contrast:
        """The pairs on that metric."""
        return Contrast.of([self.a], [self.b], self.a.runs.facts.metric)

    @cached_property
    def pairs(self) -> tuple[Floats, Floats]:
        """The metric of both on the seeds on which both completed."""
        c = self.contrast
        return c.a[0, c.completed], c.b[0, c.completed]

    @property
    def n(self) -> int:
        """Number of such seeds."""
        return len(self.pairs[0])

    @cached_property
    def sds(self) -> tuple[float, float]:
        """The standard deviations over them, NaN below two; 0 where only rounding tells the values apart."""
        if self.n < 2:
            return NAN, NAN
        a, b = (
            0.0 if np.ptp(side) <= ROUNDING * np.abs(side).max() else float(np.sort(side).std(ddof=1))
            for side in self.pairs
        )
        return a, b

    @property
    def intervals(self) -> tuple[Interval, Interval]:
        """Of both at 95 %."""
        a, b = (spread_interval(sd, self.n) for sd in self.sds)
        return a, b

    @property
    def diff(self) -> float:
        """How much less A spreads."""
        return self.sds[1] - self.sds[0]

    @cached_property
    def p(self) -> float:
        """Two-sided p of equal spreads."""
        return pitman_morgan(*self.pairs, self.contrast.metric.resolution)

    @cached_property
    def obstacle(self) -> tuple[Verdict, str]:
        """Why nothing can be decided, whatever the spreads, and the verdict then; no words where it can."""
        c, metric = self.contrast, self.a.runs.facts.metric
        if c.missing:
            planned = wording.counted(len(self.a.status), "planned seed")
            return "incomplete", f"{c.n} of {planned} with a usable pair"
        if c.any_diverged:
            return "unstable", "runs diverged, and how the others vary says little: see divergence_rate"
        if c.task.outcome == "all_or_nothing" or self.a.runs.suspect(c.task, metric):
            return "inconclusive", "runs either found the solution or did not: see solved_rate"
        if self.sds == (0.0, 0.0):
            return "degenerate", "no side varies over seeds"
        if c.at_ceiling(0.0) or c.at_floor:
            return "saturated", f"all runs are at one end of {metric}, which hides how much they vary"
        if self.n < MIN_SEEDS:
            return "inconclusive", f"comparing spreads takes {MIN_SEEDS} seeds, and these are {self.n}"
        return "inconclusive", ""

    @property
    def words(self) -> str:
        """Both spreads with their intervals."""
        found = [
            f"{wording.significant(sd)} {wording.interval(bounds)} of {side.variant}"
            for sd, bounds, side in zip(self.sds, self.intervals, (self.a, self.b), strict=True)
        ]
        return f"standard deviation over {self.n} seeds: {wording.joined(found)}"


def by_spread(runs: Runs, claim: Claim, a: list[Side], b: list[Side], level: float = ALPHA) -> Grounds:
    """The grounds for a claim that one variant varies less over seeds than another; p does not depend on `level`."""
    spreads = Spreads(a[0], b[0])
    supported, refuted, reading = 1.0, 1.0, _obstacle(spreads, claim, [*a, *b])
    if not reading:
        p = spreads.p
        supported, refuted = (p, 1.0) if spreads.diff > 0 else (1.0, p)
        reading = f"{spreads.words}, {wording.p_value(p)} (Pitman–Morgan)"
    elif spreads.n > 1 and len(a) + len(b) == 2:
        reading = f"{reading}; {spreads.words}"
    task, missing = a[0].task.name, spreads.contrast.missing
    diff = NAN if len(a) + len(b) > 2 else spreads.diff
    closed = reading.startswith(("saturated", "degenerate"))
    return Grounds(task, spreads.n, missing, diff, supported, refuted, reading, lambda _: (NAN, NAN), closed)


def _obstacle(spreads: Spreads, claim: Claim, sides: list[Side]) -> str:
    if len(sides) > 2:
        return (
            "a side is several variants, whose means vary less than each: state the claim on single variants"
        )
    if claim.kind != "beats" or claim.by:
        return "the test of two spreads shows which is smaller, not by how much: claim `A beats B on seed_spread`"
    verdict, why = spreads.obstacle
    return why if verdict == "inconclusive" else f"{verdict}: {why}"
