"""A claim about means, on one task: the paired difference of two sides, or the seeds that only one side solved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.grounds import Grounds
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import rate
from ablate.analysis.runs import Runs, Side
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.short_names import level_name


def by_mean(runs: Runs, claim: Claim, a: list[Side], b: list[Side], level: float = ALPHA) -> Grounds:
    """The grounds for a claim about the per-seed means of the variants on either side; `level` is that of the look."""
    c, task = Contrast.of(a, b, claim.metric), a[0].task
    facts = runs.facts
    margin = facts.judged.get(claim.metric)
    grouped = runs.suspect(task, claim.metric)
    supported, refuted, reading = 1.0, 1.0, obstacle(c, claim, margin or 0.0, [*a, *b], level)
    if not reading:
        supported, refuted = _p_values(c, claim, grouped)
        reading = _reading(c, claim, supported, refuted, grouped, level, a[0].lost)
    d = c.differences
    closed = reading.startswith(("saturated", "degenerate")) or bool(moved([*a, *b], claim.metric))
    return Grounds(task.name, c.n, c.missing, d.mean, supported, refuted, reading, d.interval, closed)


def _p_values(c: Contrast, claim: Claim, grouped: bool) -> tuple[float, float]:
    """The p at which a claim is supported and that at which it is refuted; n ≥ 2 pairs."""
    d, x = c.differences, claim.by
    graded = c.task.outcome == "graded"
    if claim.kind == "beats":
        if graded:
            return 2 * d.p_above(x), 2 * d.p_below(x)
        if x:
            return 1.0, 1.0
        return (c.p_rate, 1.0) if c.only[0] > c.only[1] else (1.0, c.p_rate)
    if claim.kind == "matches":
        supported = c.p_equivalent(x, grouped)
        refuted = 2 * min(d.p_above(x), d.p_below(-x)) if graded else 1.0
    else:
        supported, refuted = c.p_not_worse(x), 2 * d.p_below(-x) if graded else 1.0
    # A mean in which a diverged run counts with the floor cannot show that two sides are alike.
    return 1.0 if c.any_diverged else supported, refuted


def obstacle(c: Contrast, claim: Claim, margin: float, sides: list[Side], level: float) -> str:
    """Why nothing can be decided, whatever the numbers; empty where it can."""
    if words := unusable(c, claim.metric, sides, level):
        return words
    if c.task.outcome == "all_or_nothing" and c.solved is None:
        if len(sides) > 2:
            return "a side is several variants, whose solved seeds cannot be paired: state the claim on single variants"
        return "the task is all or nothing, but does not say when it is solved"
    if c.at_ceiling(max(margin, 0.0 if claim.kind == "beats" else claim.by)):
        if c.solved is None:
            return "saturated: every run is at the metric's best value, as near as it can be told"
        return "saturated: every run solved the task, or is at the metric's ceiling"
    if c.differences.all_zero:
        return "degenerate: every difference is 0"
    if c.at_floor and (claim.kind != "beats" or c.p > level):
        return "saturated: no run is better than guessing"
    return ""


def unusable(c: Contrast, name: str, sides: Sequence[Side], level: float) -> str:
    """Why the runs of `sides` decide nothing on the metric `name`, whatever is claimed; empty where they can."""
    if nothing := "; ".join(filter(None, (side.obstacle for side in sides))):
        return nothing
    if apart := moved(sides, name):
        return apart
    pairs = f"{c.n} of {wording.counted(len(sides[0].status), 'planned seed')}"
    if c.missing:
        return f"incomplete: {pairs} with a usable pair"
    if c.without_score:
        return f"unstable: {_diverged(sides)}; {name} has no floor to score them with"
    if c.n < 2:
        return f"{pairs} with a usable pair; an interval takes 2"
    if c.any_diverged and c.p > level:
        counted = "with the metric's floor for them no difference is shown"
        return f"unstable: {_diverged(sides)}; {counted} ({wording.p_value(c.p)})"
    return ""


def moved(sides: Sequence[Side], name: str) -> str:
    """That a search chose unlike trainings for the sides, with which the number `name` moves; empty if it did not."""
    chosen = {side.variant: side.moved_by for side in sides}
    paths = {path for of in chosen.values() for path in of}
    apart = sorted(path for path in paths if len({of[path] for of in chosen.values()}) > 1)
    if not apart:
        return ""
    found = [
        f"{wording.joined([level_name(path, of[path]) for path in apart])} ({variant})"
        for variant, of in chosen.items()
    ]
    return f"trained at {wording.joined(found)}: {name} moves with that"


def _diverged(sides: Sequence[Side]) -> str:
    found = {
        side.variant: f"{rate(side.diverged, int(side.ended.sum()))} of {side.variant}"
        for side in sides
        if side.diverged
    }
    return f"{wording.joined(list(found.values()))} {sides[0].lost}"


def _reading(
    c: Contrast, claim: Claim, supported: float, refuted: float, grouped: bool, level: float, lost: str
) -> str:
    """The evidence that decides on one task, in words."""
    if c.task.outcome == "all_or_nothing":
        return _rate_reading(c, claim, supported, level)
    d = c.differences
    x = wording.exact(claim.by)
    minus = wording.exact(-claim.by) if claim.by else x
    at95 = f"95 % interval {wording.interval(d.interval(level), claim.by, -claim.by)}"
    at90 = f"90 % interval {wording.interval(d.interval(2 * level), claim.by, -claim.by)}"
    above = "above" if d.mean > 0 else "below"
    words = {
        "beats": (
            f"{at95} lies above {x}",
            f"{at95} lies below {x}",
            f"{at95} reaches below {x} and above it",
        ),
        "matches": (
            f"{at90} lies inside ±{x}",
            f"{at95} lies {above} {x if d.mean > 0 else minus}",
            f"{at90} reaches beyond ±{x}, and {at95} does not lie outside it",
        ),
        "does_not_lose": (
            f"{at90} lies above {minus}",
            f"{at95} lies below {minus}",
            f"{at90} reaches below {minus}, and {at95} does not lie wholly below it",
        ),
    }[claim.kind]
    found = words[0] if supported <= level else words[1] if refuted <= level else words[2]
    if c.any_diverged:
        converged = int(np.count_nonzero(c.completed))
        found += f", with {c.n - converged} of {c.n} pairs in which a run {lost} and counts with the floor"
        if claim.kind != "beats" and refuted > level:
            found = f"unstable: a match cannot be supported where runs {lost}; {found}"
    elif claim.kind == "matches" and grouped and refuted > level:
        found = f"the runs of a variant fall into groups, so that their mean cannot support a match; {found}"
    return found


def _rate_reading(c: Contrast, claim: Claim, supported: float, level: float) -> str:
    if not c.some_solved:
        return "no run solved the task, and on an all-or-nothing task the seeds that one side alone solves decide"
    only = f"{c.only[0]} and {c.only[1]} of {c.n} seeds solved by one side alone"
    if claim.kind == "beats":
        if claim.by:
            return f"{only}: on an all-or-nothing task only a difference can be claimed, not its size"
        return f"{only}, {wording.p_value(c.p_rate)}"
    if not c.on_this_metric or not c.metric.span:
        return f"{only}: {claim.metric} does not say when the task is solved; state the claim on the metric that does"
    if c.same.n < 2:
        return f"{only}: the others are too few to compare"
    share = min(1.0, claim.by / (2 * c.metric.span))
    tells = "below" if supported <= level else "not shown to be below"
    return f"{only}: a share {tells} {wording.exact(round(share, 4))} of seeds, half of what the claim allows"
