"""A claim that A beats B by more at one level of a factor than at another, on one task.

The difference of differences of each seed, (A − B) at the one level less (A − B) at the other, is one more paired
difference, and is decided as one: what the runs of a seed share cancels. Next to a bound of its metric a difference
shrinks whatever the parts do, so that an interaction with a side there is one of the scale (Loftus 1978, Memory &
Cognition 6, 312–319).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ablate.analysis.by_mean import moved, unusable
from ablate.analysis.contrast import CEILING_STEPS, Contrast, near_floor
from ablate.analysis.grounds import Grounds
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.metric import sign


def by_interaction(runs: Runs, claim: Claim, groups: Sequence[list[Side]], level: float = ALPHA) -> Grounds:
    """The grounds for an interaction of four groups, as `Claim.sides` has them; `level` is that of the look."""
    a, b, a_less, b_less = groups
    c, task = Contrast.between([a, b_less], [b, a_less], claim.metric), a[0].task
    d, sides = c.differences, [*a, *b_less, *b, *a_less]
    supported, refuted, bound = 1.0, 1.0, ""
    if not (reading := unusable(c, claim.metric, sides, level)):
        reading = bound = _obstacle(runs, c, claim, sides)
    if not reading:
        supported, refuted = 2 * d.p_above(0.0), 2 * d.p_below(0.0)
        way = "above" if supported <= level else "below" if refuted <= level else ""
        lies = f"lies {way} 0" if way else "reaches below 0 and above it"
        sure = f"{wording.exact(round(100 * (1 - level), 1))} % interval {wording.interval(d.interval(level), 0.0)}"
        reading = f"{sure} of the difference of differences {lies}"
        if c.any_diverged:
            lost = c.n - int(np.count_nonzero(c.completed))
            reading += (
                f", with {lost} of {c.n} seeds on which a run {sides[0].lost} and counts with the floor"
            )
    numbers = task.name, c.n, c.missing, d.mean
    return Grounds(
        *numbers, supported, refuted, reading, d.interval, closed=bool(bound or moved(sides, claim.metric))
    )


def _obstacle(runs: Runs, c: Contrast, claim: Claim, sides: list[Side]) -> str:
    """Why usable runs decide nothing about an interaction; empty where they can."""
    if c.task.outcome == "all_or_nothing":
        return (
            "on an all-or-nothing task the seeds that one side alone solves decide, and these are of two sides: state "
            "each of the two differences on `solved_rate`"
        )
    margin = runs.facts.judged.get(claim.metric)
    if bound := next(at_a_bound(c, margin or 0.0, sides), ""):
        return f"{bound}: whether there is an interaction depends on the scale"
    if c.differences.all_zero:
        return "degenerate: every difference of differences is 0"
    return ""


def at_a_bound(c: Contrast, margin: float, sides: list[Side]) -> Iterator[str]:
    """The variants whose mean is so near the ceiling or the floor that `margin` could not be seen."""
    metric = c.metric
    near = max(margin, CEILING_STEPS * metric.resolution)
    for side, values in zip(sides, [*c.a, *c.b], strict=True):
        mean = sign(metric) * float(np.sort(values).mean())
        if metric.ceiling is not None and mean >= sign(metric) * metric.ceiling - near - 1e-12:
            yield f"{side.variant} is at the metric's ceiling"
        if (
            metric.floor is not None
            and mean <= sign(metric) * metric.floor + max(near, near_floor(metric)) + 1e-12
        ):
            yield f"{side.variant} is at the metric's floor"
