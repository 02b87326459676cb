"""A claim about time or memory, on one task: the paired log ratios of processes, at the size that the study trains.

X is a share: A beats B by .1 where B takes more than 1.1 times as long as A. A difference counts only where the mean
lies beyond its bound by more than the noise floor and 2 %; a margin below these shows nothing.
"""

from __future__ import annotations

import math

import numpy as np

from ablate.analysis.grounds import Grounds
from ablate.analysis.paired import Differences, Interval
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side
from ablate.analysis.speed import MEMORY, at_own_size, differences, processes, the_floor
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.speed import LEAST


def by_time(runs: Runs, claim: Claim, a: list[Side], b: list[Side], level: float = ALPHA) -> Grounds:
    """The grounds for a claim about a derived metric of kind `time`; of several variants a side the mean of logs.

    The difference is t_B/t_A − 1. More seeds would show nothing more.
    """
    task, names = a[0].task.name, [[side.variant for side in sides] for sides in (a, b)]
    group = at_own_size(runs.evidence, task, claim.metric)
    variants = list(dict.fromkeys([*names[0], *names[1]]))
    d = differences(np.array([]))
    missing, supported, refuted = 0, 1.0, 1.0
    if runs.evidence.frame("speed", ()).empty:
        missing, reading = 1, "not measured yet: `ablate bench` does it"
    elif untimed := [name for name in variants if name not in group.values]:
        reading = f"{_WHAT[claim.metric]} of {wording.joined(untimed)} was not measured"
        if claim.metric == "generation_seconds":
            reading += ", which takes a causal model"
    else:
        known = group.paired[variants].dropna()
        d = differences((known[names[1]].mean(axis=1) - known[names[0]].mean(axis=1)).to_numpy(float))
        if d.n < 2 or math.isnan(group.noise):
            missing, reading = 1, f"incomplete: {processes(d.n)}, and an interval takes 2"
        else:
            supported, refuted, why = _p_values(d, claim, group.noise, level)
            reading = (
                f"{_ratio(d, claim, names, level)}; {why or _interval(d, claim, supported, refuted, level)}"
            )

    def interval(alpha: float) -> Interval:
        low, high = d.interval(alpha)
        return math.expm1(low), math.expm1(high)

    diff = math.expm1(d.mean)
    return Grounds(task, d.n, missing, diff, supported, refuted, reading, interval, closed=True)


def _p_values(d: Differences, claim: Claim, noise: float, level: float) -> tuple[float, float, str]:
    """The p at which the claim is supported, that at which it is refuted, and what keeps it from either."""
    x, least = math.log1p(claim.by), max(noise, math.log1p(LEAST))
    least_words = wording.in_percent(LEAST)
    if noise == least:
        least_words = the_floor(noise)
    too_near = (
        f"beyond that by less than {least_words}" if claim.by else f"the difference is below {least_words}"
    )
    below, above = 2 * d.p_below(-x), 2 * d.p_above(x)
    if claim.kind == "beats":
        supported, refuted = above, 2 * d.p_below(x)
        near = min(supported, refuted) <= level and abs(d.mean - x) <= least
        return (1.0, 1.0, too_near) if near else (supported, refuted, "")
    if claim.kind == "matches":
        supported, refuted, beyond = d.p_equivalent(x), min(below, above), abs(d.mean) - x
    else:
        supported, refuted, beyond = d.p_above(-x), below, -d.mean - x
    if supported <= level and x < least:
        return 1.0, refuted, f"a margin of {wording.in_percent(claim.by)} is below {least_words}"
    if refuted <= level and beyond <= least:
        return supported, 1.0, too_near
    return supported, refuted, ""


def _ends(claim: Claim) -> tuple[float, ...]:
    """The ratios of B's time to A's between which the claim tells."""
    low, high = 1 / (1 + claim.by), 1 + claim.by
    return {"beats": (high,), "matches": (low, high), "does_not_lose": (low,)}[claim.kind]


def _ratio(d: Differences, claim: Claim, names: list[list[str]], level: float) -> str:
    """`b takes 1.41 [1.38, 1.45] times the time of a in a training step (8 processes)`."""
    a, b = (of[0] if len(of) == 1 else f"the mean of {wording.joined(of)}" for of in names)
    low, high = (math.exp(bound) for bound in d.interval(level))
    ratio = math.exp(d.mean)
    noun = "memory" if claim.metric == MEMORY else "time"
    wide = high - low > 1e-6
    takes = wording.number(ratio, wording.decimals((high - low) / 2) if wide else 3)
    takes += f" {wording.interval((low, high), *_ends(claim))}" if wide else ""
    of = f"of the {noun} of" if ratio < 1 else f"times the {noun} of"
    return f"{b} takes {takes} {of} {a} in {_WHAT[claim.metric]} ({processes(d.n)})"


def _interval(d: Differences, claim: Claim, supported: float, refuted: float, level: float) -> str:
    """Where the interval of the ratio of B's time to A's lies; one-sided tests have one of their own."""
    ends, interval = _ends(claim), "the interval"
    if claim.kind != "beats" and not refuted <= level < supported:
        low, high = (math.exp(bound) for bound in d.interval(2 * level))
        interval = f"the 90 % interval {wording.interval((low, high), *ends)}"
    words = ("lies above", "lies below", "includes")
    if len(ends) > 1:
        words = ("lies inside", "lies outside", "reaches beyond")
    lies = words[0] if supported <= level else words[1] if refuted <= level else words[2]
    return f"{interval} {lies} {' to '.join(wording.exact(float(f'{end:.3g}')) for end in ends)}"


_WHAT = {
    "forward_seconds": "a forward pass",
    "step_seconds": "a training step",
    "generation_seconds": "generation",
    MEMORY: "a training step",
}
