"""The one judge: from an estimate to its verdict. Verdict words are assigned here and nowhere else.

With h = α/2:

    kind                supported when                          refuted when
    beats by x          above(x + slack) ≤ h                    below(x − slack) ≤ h
    matches within x    above(−x) ≤ h and below(x) ≤ h,         above(x + slack) ≤ h or below(−x − slack) ≤ h
                        x > slack
    does not lose x     above(−x) ≤ h, x ≥ slack                below(−x − slack) ≤ h

else open. An interaction is judged as `beats`, by the difference of two differences. A row of the table is `equivalent`
where "matches within the margin" is supported, `better` or `worse` where "beats 0" is supported or refuted, else
`inconclusive`. So one interval, at 1 − α, says everything. All p here are twice the one-sided: they decide at α.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from ablate.analysis.agreeing import IntersectionUnion
from ablate.analysis.power import ALPHA
from ablate.core.facts import ClaimKind, is_likeness
from ablate.core.reason import Estimate, Reason

ClaimOutcome = Literal["supported", "refuted", "inconclusive"]
Verdict = Literal["better", "worse", "equivalent", "inconclusive"]
NEVER = 0.5
"""A one-sided p with which nothing is decided: doubled it is 1."""
DECIDED = ("better", "worse", "equivalent")
"""The outcomes of a comparison that decide it."""
DECIDED_CLAIM = ("supported", "refuted")
"""The outcomes of a claim that decide it."""


@dataclass(frozen=True)
class Judged:
    """The judgement of one claim on one estimate, at one look."""

    supported: float
    """The p at which the claim is supported; it decides at `alpha`."""
    refuted: float
    """The p at which it is refuted."""
    alpha: float
    why: Reason | None = None
    """Why the claim is open, or was never to be decided."""
    must_agree: tuple[bool, bool] = (False, False)
    """Whether the estimates at other settings must agree with a decision of the main one.

    The first: those of `IntersectionUnion.low`, as the decision takes a mean above a value; the second: those of
    `IntersectionUnion.high`, as it takes one below a value.
    """

    @property
    def outcome(self) -> ClaimOutcome:
        """The outcome at `alpha`; of the two p at most one is small."""
        if min(self.supported, self.refuted) > self.alpha:
            return "inconclusive"
        return "supported" if self.supported <= self.refuted else "refuted"

    @property
    def reason(self) -> Reason | None:
        """The reason why nothing is decided; None where something is."""
        return self.why if self.outcome == "inconclusive" else None


def judge(
    estimate: Estimate, kind: ClaimKind, x: float = 0.0, alpha: float = ALPHA, slack: float = 0.0
) -> Judged:
    """Returns whether a claim about the estimate is supported or refuted, else why it is open.

    x: what the claim names, in the units of the estimate. slack: what a difference must exceed, as of speed.
    """
    judged = _judge_p_values(estimate, kind, x=x, alpha=alpha, slack=slack)
    if not isinstance(estimate, IntersectionUnion):
        return judged
    main = _judge_p_values(estimate.main, kind, x=x, alpha=alpha, slack=slack)
    must_agree = _must_agree(main.outcome, kind, estimate.mean)
    judged = replace(judged, must_agree=must_agree)

    lacking = [why for needed, why in zip(must_agree, estimate.lacking, strict=True) if needed and why]
    if judged.outcome == "inconclusive" and any(must_agree):
        why = _why_not_agreed(estimate, must_agree, main.outcome, kind, x=x, slack=slack)
        return replace(judged, why=why or judged.why)
    if judged.outcome != "inconclusive" and lacking:
        return replace(judged, supported=1.0, refuted=1.0, why=lacking[0])
    return judged


def _why_not_agreed(
    estimate: IntersectionUnion,
    must_agree: tuple[bool, bool],
    outcome: ClaimOutcome,
    kind: ClaimKind,
    *,
    x: float,
    slack: float,
) -> Reason | None:
    """Returns the reason that is stored with the other estimate which agrees least with the main one's `outcome`.

    The others are those of `low` if must_agree[0], and of `high` if must_agree[1]. Each is paired with the main
    estimate alone, and the pair with the largest p of `outcome` counts. None where there are no others.
    """
    # With the reason of each, the estimate as it would be if it alone had to agree.
    alone: list[tuple[Reason, IntersectionUnion]] = []
    above, below = must_agree
    if above:
        alone += [(other[0], replace(estimate, low=[other], high=[])) for other in estimate.low]
    if below:
        alone += [(other[0], replace(estimate, low=[], high=[other])) for other in estimate.high]
    if not alone:
        return None
    direction = 0 if outcome == "supported" else 1
    reason, _ = max(alone, key=lambda one: _one_sided(one[1], kind, x, slack)[direction])
    return reason


def _judge_p_values(estimate: Estimate, kind: ClaimKind, *, x: float, alpha: float, slack: float) -> Judged:
    """Returns the judgement by the p of the estimate itself and what blocks it; other settings are not asked."""
    supported, refuted = _p_values(estimate, kind, x, slack)
    blocks = estimate.blocks
    if any(block.wholly for block in blocks):
        return Judged(1.0, 1.0, alpha, blocks[0].reason)
    if blocks:
        return Judged(1.0 if is_likeness(kind) else supported, refuted, alpha, blocks[0].reason)
    return Judged(supported, refuted, alpha, _why_open(estimate, kind, x=x, alpha=alpha, slack=slack))


def _why_open(estimate: Estimate, kind: ClaimKind, *, x: float, alpha: float, slack: float) -> Reason:
    """Returns the reason of a claim that nothing blocks and whose p decide nothing.

    `slack`: its X is too small for any support. `noise`: without the slack it would be decided. `open`: neither.
    """
    if _is_within(slack, kind, x):
        return Reason("slack", {"slack": slack})
    if slack > 0 and min(_p_values(estimate, kind, x, slack=0.0)) <= alpha:
        return Reason("noise", {"slack": slack})
    return Reason("open")


def _is_within(slack: float, kind: ClaimKind, x: float) -> bool:
    """Returns whether no difference can support a claim, since its X is not beyond what a difference must exceed."""
    match kind:
        case "beats" | "interaction" | "gains":
            return False
        case "matches":
            return x <= slack
        case "does_not_lose":
            return x < slack
        case _:
            assert_never(kind)


def _p_values(estimate: Estimate, kind: ClaimKind, x: float, slack: float) -> tuple[float, float]:
    """Returns the p at which a claim is supported, and at which it is refuted, as in the table above."""
    supported, refuted = _one_sided(estimate, kind, x, slack)
    return _two_sided(supported), _two_sided(refuted)


def _one_sided(estimate: Estimate, kind: ClaimKind, x: float, slack: float) -> tuple[float, float]:
    """Returns the one-sided p at which a claim is supported, and at which it is refuted; 1 for NaN."""
    above = estimate.above
    below = estimate.below
    match kind:
        case "beats" | "interaction" | "gains":
            supported = above(x + slack)
            refuted = below(x - slack)
        case "matches":
            supported = max(above(-x), below(x))
            refuted = min(above(x + slack), below(-x - slack))
        case "does_not_lose":
            supported = above(-x)
            refuted = below(-x - slack)
        case _:
            assert_never(kind)
    if _is_within(slack, kind, x):
        supported = NEVER
    return _number(supported), _number(refuted)


def _number(p: float) -> float:
    return 1.0 if math.isnan(p) else p


def _two_sided(p: float) -> float:
    return min(1.0, 2 * p)


def _must_agree(outcome: ClaimOutcome, kind: ClaimKind, mean: float) -> tuple[bool, bool]:
    """Returns whether a decision takes a mean above a value, and whether it takes one below a value."""
    if outcome == "inconclusive":
        return False, False
    is_supported = outcome == "supported"
    match kind:
        case "beats" | "does_not_lose" | "interaction" | "gains":
            return is_supported, not is_supported
        case "matches":
            return is_supported or mean > 0, is_supported or not mean > 0
        case _:
            assert_never(kind)


@dataclass(frozen=True)
class Row:
    """The verdict of a planned comparison at one look."""

    verdict: Verdict
    p: float
    """Two-sided p of no difference; NaN below two pairs."""
    reason: Reason | None
    """Why the verdict is `inconclusive`; None for others."""
    must_agree: tuple[bool, bool] = (False, False)
    """As `Judged.must_agree`, for either of the two claims that make a verdict."""


VERDICTS: Mapping[ClaimOutcome, Verdict] = {
    "supported": "better",
    "refuted": "worse",
    "inconclusive": "inconclusive",
}
"""ClaimOutcome of "beats 0" → verdict of a comparison that is not equivalent."""


def row(estimate: Estimate, margin: float | None, alpha: float = ALPHA) -> Row:
    """Returns the verdict of a planned comparison; `margin` is in the units of the estimate."""
    p = p_of(estimate)
    beats = judge(estimate, "beats", alpha=alpha)
    if margin is None:
        return Row(VERDICTS[beats.outcome], p, beats.reason, beats.must_agree)
    matches = judge(estimate, "matches", margin, alpha)
    if matches.outcome == "supported":
        return Row("equivalent", p, None)
    why = beats.reason
    if any(matches.must_agree) and not any(beats.must_agree):
        why = matches.reason
    above = beats.must_agree[0] or matches.must_agree[0]
    below = beats.must_agree[1] or matches.must_agree[1]
    return Row(VERDICTS[beats.outcome], p, why, (above, below))


def p_of(estimate: Estimate) -> float:
    """Returns the two-sided p of no difference, whatever blocks the estimate; NaN below two pairs."""
    if estimate.n < 2:
        return math.nan
    return min(1.0, 2 * min(estimate.above(0.0), estimate.below(0.0)))
