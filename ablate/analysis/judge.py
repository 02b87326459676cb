"""The one judge: from an estimate to what is said of it. Verdict words are assigned here and nowhere else.

With h = α/2:

    kind                supported when                          refuted when
    beats by x          above(x + slack) ≤ h                    below(x − slack) ≤ h
    matches within x    above(−x) ≤ h and below(x) ≤ h,         above(x + slack) ≤ h or below(−x − slack) ≤ h
                        x > slack
    does not lose x     above(−x) ≤ h, x ≥ slack                below(−x − slack) ≤ h

else open. A row of the table is `equivalent` where "matches within the margin" is supported, `better` or `worse` where
"beats 0" is supported or refuted, else `inconclusive`. So one interval, at 1 − α, says everything. All p here are
twice the one-sided: they decide at α.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ablate.analysis.agreeing import IntersectionUnion
from ablate.core.reason import Estimate, Reason

Kind = Literal["beats", "matches", "does_not_lose"]
Outcome = Literal["supported", "refuted", "inconclusive"]
Verdict = Literal["better", "worse", "equivalent", "inconclusive"]
ALPHA = 0.05  # The chance of any false verdict in a family.
DECIDED = ("better", "worse", "equivalent")


@dataclass(frozen=True)
class Judged:
    """What is said at one look, at the level `alpha`."""

    supported: float  # The p at which it is supported; so is the next.
    refuted: float
    alpha: float
    why: Reason | None = None  # Why it is open, or was never to be decided.
    # Whether what the main estimate would decide rests on lying above a value, and below: on other settings.
    rests: tuple[bool, bool] = (False, False)

    @property
    def outcome(self) -> Outcome:
        """Of two p, at most one is small."""
        if min(self.supported, self.refuted) > self.alpha:
            return "inconclusive"
        return "supported" if self.supported <= self.refuted else "refuted"

    @property
    def reason(self) -> Reason | None:
        """Why nothing is decided; None where something is."""
        return self.why if self.outcome == "inconclusive" else None


def judge(estimate: Estimate, kind: Kind, x: float = 0.0, alpha: float = ALPHA, slack: float = 0.0) -> Judged:
    """Whether what is claimed of the estimate is supported or refuted; `slack` as of speed."""
    supported, refuted = _p_values(estimate, kind, x, slack)
    blocks = estimate.blocks
    why = blocks[0].reason if blocks else Reason("open")
    if any(block.wholly for block in blocks):
        supported = refuted = 1.0
    elif blocks:
        supported = supported if kind == "beats" else 1.0
    elif kind != "beats" and (x < slack or (kind == "matches" and x <= slack)):
        why = Reason("slack", {"slack": slack})
    if not isinstance(estimate, IntersectionUnion):
        return Judged(supported, refuted, alpha, why)
    alone = judge(estimate.main, kind, x, alpha, slack).outcome
    decided, alike = alone != "inconclusive", kind == "matches" and alone == "supported"
    up = estimate.mean > 0 if kind == "matches" else alone == "supported"
    rests = decided and (up or alike), decided and (not up or alike)
    sides = [n for n, needed in enumerate(rests) if needed]
    if min(supported, refuted) > alpha:
        # That which is furthest from deciding it.
        others = [other for n in sides for other in (estimate.low, estimate.high)[n]]
        why = max(others, key=lambda other: min(_p_values(other[1], kind, x, slack)), default=(why,))[0]
    elif lacking := [reason for n in sides if (reason := estimate.lacking[n])]:
        supported, refuted, why = 1.0, 1.0, lacking[0]
    return Judged(supported, refuted, alpha, why, rests)


def _p_values(estimate: Estimate, kind: Kind, x: float, slack: float) -> tuple[float, float]:
    above, below = estimate.above, estimate.below
    if kind == "beats":
        found = above(x + slack), below(x - slack)
    elif kind == "matches":
        found = max(above(-x), below(x)) if x > slack else 0.5, min(above(x + slack), below(-x - slack))
    else:
        found = above(-x) if x >= slack else 0.5, below(-x - slack)
    supported, refuted = (1.0 if math.isnan(p) else min(1.0, 2 * p) for p in found)
    return supported, refuted


def on_all(tasks: Sequence[Judged]) -> Judged:
    """Of a claim over several tasks: supported by the largest p, refuted by as many times the smallest as there are."""
    if len(tasks) == 1:
        return tasks[0]
    supported = max(one.supported for one in tasks)
    refuted = min(1.0, len(tasks) * min(one.refuted for one in tasks))
    return replace(
        tasks[0], supported=supported, refuted=refuted, why=next(one.why for one in tasks if one.why)
    )


def deciding(tasks: Sequence[Judged]) -> int:
    """Which of several tasks stands against a claim most; its numbers are shown."""
    if on_all(tasks).outcome == "supported":
        return max(range(len(tasks)), key=lambda i: tasks[i].supported)
    if on_all(tasks).outcome == "refuted":
        return min(range(len(tasks)), key=lambda i: tasks[i].refuted)
    return max(range(len(tasks)), key=lambda i: (tasks[i].outcome == "inconclusive", tasks[i].supported))


@dataclass(frozen=True)
class Row:
    """What is said of a planned comparison at one look."""

    verdict: Verdict
    p: float  # Of no difference, two-sided.
    reason: Reason | None
    rests: tuple[bool, bool] = (False, False)  # As of `Judged`.


def row(estimate: Estimate, margin: float | None, alpha: float = ALPHA) -> Row:
    """The verdict of a planned comparison."""
    beats = judge(estimate, "beats", alpha=alpha)
    p, rests, why = p_of(estimate), beats.rests, beats.reason
    if margin is not None:
        likeness = judge(estimate, "matches", margin, alpha)
        if likeness.outcome == "supported":
            return Row("equivalent", p, None)
        why = likeness.reason if any(likeness.rests) and not any(rests) else why
        rests = (rests[0] or likeness.rests[0], rests[1] or likeness.rests[1])
    words: dict[Outcome, Verdict] = {
        "supported": "better",
        "refuted": "worse",
        "inconclusive": "inconclusive",
    }
    return Row(words[beats.outcome], p, why, rests)


def p_of(estimate: Estimate) -> float:
    """Two-sided p of no difference, whatever blocks it; NaN without two pairs."""
    return min(1.0, 2 * min(estimate.above(0.0), estimate.below(0.0))) if estimate.n > 1 else math.nan
