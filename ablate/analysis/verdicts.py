"""The ordered rules by which a comparison gets its verdict, at the level α/m of a family of m.

0. `incomplete`: a trial failed or is missing.
1. `degenerate`: every difference is 0, and neither 2 nor 6 holds.
2. `saturated`: every run is at the ceiling of the metric, or all solved an all-or-nothing task.
3. A run diverged: `better` or `worse` where the difference, with that run at the metric's floor, is significant; else
   `unstable`. Means of the runs that converged alone would call the side better that loses its worst runs.
4. `equivalent`: the difference lies inside the declared margin. It comes before difference: one within the margin is
   of no consequence, significant or not.
5. `better`, `worse`: the difference is significant.
6. `saturated`: no run is better than guessing.
7. `inconclusive`: nothing has been shown, which is not evidence of equality.

Of no difference and a difference of the margin or more at most one is true, so that the level α/m for each of the two
tests of m comparisons keeps the chance of any false verdict below α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.paired import NAN
from ablate.analysis.power import ALPHA

Verdict = Literal[
    "incomplete", "degenerate", "saturated", "better", "worse", "unstable", "equivalent", "inconclusive"
]
DECIDED = ("better", "worse", "equivalent")


@dataclass(frozen=True)
class Judgement:
    """A verdict with the numbers that decided."""

    verdict: Verdict
    p: float
    "Two-sided p of no difference; NaN where there is none."
    p_equivalent: float
    "NaN without a margin."


def judge(
    c: Contrast,
    m: int = 1,
    margin: float | None = None,
    suspect: bool = False,
    weight: float = 1.0,
    before: Judgement | None = None,
) -> Judgement:
    """The verdict of the first rule that holds, in a family of `m`; `suspect` as in `Contrast.p_equivalent`.

    `weight` is that of the look, `before` the judgement at the look before it (`looks`).
    """
    p, p_equivalent = c.p, NAN if margin is None or c.n < 2 else c.p_equivalent(margin, suspect)
    if weight < 1:
        earlier = (1.0, 1.0) if before is None else (before.p, before.p_equivalent)
        p, p_equivalent = (
            float(np.fmin(then, np.fmin(1.0, now / weight)))
            for then, now in zip(earlier, (p, p_equivalent), strict=True)
        )
        p_equivalent = NAN if margin is None else p_equivalent
    return Judgement(_verdict(c, ALPHA / m, margin or 0.0, p, p_equivalent), p, p_equivalent)


def _verdict(c: Contrast, level: float, margin: float, p: float, p_equivalent: float) -> Verdict:
    found: Verdict = "better" if c.lead > 0 else "worse"
    if c.missing:
        return "incomplete"
    if c.any_diverged:
        return found if p <= level else "unstable"
    if c.at_ceiling(margin):
        return "saturated"
    if c.differences.all_zero and c.n:
        return "saturated" if c.at_floor else "degenerate"
    if p_equivalent <= level:
        return "equivalent"
    if p <= level:
        return found
    return "saturated" if c.at_floor else "inconclusive"


def holm(p_values: Sequence[float]) -> list[float]:
    """The adjusted p of a whole planned family (Holm 1979, Scand. J. Statist. 6, 65–70).

    Rejecting those at or below .05 keeps the chance of any false rejection in the family at or below .05, whatever the
    dependence of the tests. A test that is missing (NaN) counts as p = 1.
    """
    given = np.nan_to_num(np.asarray(p_values, float), nan=1.0)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    # The smallest counts m times, the next m − 1 times …, none less than one before it.
    stepped = given[order] * np.arange(len(given), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(p) for p in adjusted]
