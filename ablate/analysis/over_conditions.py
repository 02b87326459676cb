"""The verdicts over conditions: of their mean, and of every one.

Mean. The row is judged as any other (`judge.row`), on an estimate of `over_tasks`. Beside its word stand k
and j, the conditions of T that are better and worse by their own intervals at 1 − 0.05/T, and *varies*: by those
intervals a condition lies on the other side of 0 than the verdict, or two lie on opposite sides. That is said in at
most 0.011 of studies whose conditions have one effect; where it is not said, they may still differ.

Every. A row is `better`, `worse` or `equivalent` where each condition supports that at the level of one comparison,
else `inconclusive`: an intersection-union test (Berger 1982, Technometrics 24, 295–300). A claim is supported by the
largest p, and refuted by T times the smallest.

Settings that were tuned in one condition for all are varied in all at once: `agreeing.over_settings` with an estimate
over conditions in the place of one on a task.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

import numpy as np

from ablate.analysis.agreeing import Estimated
from ablate.analysis.conditions import Condition, blocking_condition, on_added_seeds, scales_of
from ablate.analysis.judge import (
    ClaimOutcome,
    Judged,
    Row,
    Verdict,
    judge,
    row,
)
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.power import ALPHA
from ablate.core.reason import Reason

HEAVY = 0.5
"""The share of the variance of a mean above which the condition that has it is named."""
SideOfZero = Literal["better", "worse", ""]


@dataclass(frozen=True)
class MeanVerdict:
    """The verdict of a comparison by its mean over conditions."""

    row: Row
    scales: Sequence[float]
    """u_t of each condition."""
    better: int
    """The conditions that are better by their own intervals, at 1 − 0.05/T."""
    worse: int
    """The conditions that are worse by theirs."""
    varies: bool
    """Whether conditions differ in the direction of the difference, as the module says."""
    heaviest: str
    """The condition with more than half of the variance; empty where none has it."""
    blocking: str
    """The condition that gives the reason of the verdict; empty where none does."""


@dataclass(frozen=True)
class InCondition:
    """A comparison in one condition, as `judge_every` takes it."""

    name: str
    estimate: Estimated
    margin: float | None = None
    """The margin of equivalence, in the units of the estimate."""


@dataclass(frozen=True)
class EveryVerdict:
    """The verdict of a comparison by every condition."""

    row: Row
    """Its p is the largest of one direction; its reason that of the condition that decides.

    Where one condition is better and another worse, that is the reason, and no number of seeds will change it.
    """
    deciding: str
    """The condition that supports the verdict least clearly or, of an open one, the verdict that most support."""
    conditions: Sequence[Row]
    """The verdict of each condition at the level of one comparison."""
    better: int
    """The conditions that support `better`."""
    worse: int
    """The conditions that support `worse`."""


@dataclass(frozen=True)
class EveryClaim:
    """The judgement of a claim in every condition."""

    judged: Judged
    deciding: str
    """The condition whose numbers decide the claim, and are shown: see `_deciding`."""


def judge_mean(
    estimate: Estimated,
    conditions: Sequence[Condition],
    margin: float | None,
    alpha: float = ALPHA,
) -> MeanVerdict:
    """Returns the verdict of a mean over conditions, of which `estimate` was made; margin: in the scaled unit."""
    verdict = row(estimate, margin, alpha)
    sides = [side_of_zero(one.differences, ALPHA / len(conditions)) for one in conditions]
    better = sides.count("better")
    worse = sides.count("worse")
    is_against = (verdict.verdict == "better" and worse > 0) or (verdict.verdict == "worse" and better > 0)
    return MeanVerdict(
        verdict,
        scales_of(conditions) or [],
        better,
        worse,
        varies=is_against or (better > 0 and worse > 0),
        heaviest=_heaviest(conditions),
        blocking=blocking_condition(conditions, verdict.reason),
    )


def scaled_margin(conditions: Sequence[Condition], margin: float) -> float:
    """Returns the margin of a study in the scaled unit, in which a mean over conditions is judged.

    Where all conditions share a metric and its scale, it is declared in units of the metric, and divided by the scale;
    else it is declared in the scaled unit.
    """
    return margin / shared_scale(conditions)


def shared_scale(conditions: Sequence[Condition]) -> float:
    """Returns the scale of all conditions, where they share it and their metric; else 1."""
    scales = scales_of(conditions)
    if scales is None or len({*scales}) > 1 or len({one.metric_name for one in conditions}) > 1:
        return 1.0
    return scales[0]


def span_of_mean(conditions: Sequence[Condition]) -> float | None:
    """Returns the largest mean difference that the metrics' ranges allow: the mean over conditions of range / scale.

    In the scaled unit. None where a metric has no range, or the conditions are not comparable (`scales_of`).
    """
    spans = [one.metric.span for one in conditions]
    known = [span for span in spans if span is not None]
    scales = scales_of(conditions)
    if scales is None or len(known) < len(spans):
        return None
    return math.fsum(span / scale for span, scale in zip(known, scales, strict=True)) / len(known)


def side_of_zero(differences: Differences, alpha: float) -> SideOfZero:
    """Returns on which side of 0 the interval at 1 − `alpha` lies; empty where it holds 0, or there is none."""
    low, high = differences.interval(alpha)
    if low > 0:
        return "better"
    return "worse" if high < 0 else ""


def _heaviest(conditions: Sequence[Condition]) -> str:
    """Returns the condition with more than half of the sum of the variances of d̄_t/u_t; empty where none has it."""
    scales = scales_of(conditions)
    if scales is None:
        return ""
    errors = [max(error.se for error in one.errors) for one in on_added_seeds(conditions)]
    variances = (np.array(errors) / np.array(scales)) ** 2
    if len(conditions) < 2 or not variances.max() > HEAVY * variances.sum():
        return ""
    return conditions[int(variances.argmax())].name


def judge_every(conditions: Sequence[InCondition], alpha: float = ALPHA) -> EveryVerdict:
    """Returns the verdict of a comparison in every condition; each is judged at `alpha`."""
    p_by_verdict = _p_by_verdict(conditions, alpha)
    supported = [verdict for verdict, p_values in p_by_verdict.items() if max(p_values) <= alpha]
    verdict = supported[0] if supported else _nearest(p_by_verdict, alpha)
    rows = [row(one.estimate, one.margin, alpha) for one in conditions]
    deciding = _deciding_index(verdict, p_by_verdict, rows)
    better = sum(p <= alpha for p in p_by_verdict["better"])
    worse = sum(p <= alpha for p in p_by_verdict["worse"])
    reason = Reason("varies") if better and worse else rows[deciding].reason or Reason("open")
    return EveryVerdict(
        Row(
            verdict if supported else "inconclusive",
            p=_p_in_every(conditions),
            reason=None if supported else reason,
        ),
        deciding=conditions[deciding].name,
        conditions=rows,
        better=better,
        worse=worse,
    )


def _deciding_index(
    verdict: Verdict, p_by_verdict: Mapping[Verdict, Sequence[float]], rows: Sequence[Row]
) -> int:
    """Returns the index of the condition with the largest p for `verdict`.

    Among equals, as at p = 1: one that tells nothing (`_tells_nothing`), as its reason is the one to mend; else that
    with the smallest p for another verdict.
    """

    def distance(index: int) -> tuple[float, bool, float]:
        """Returns how far a condition is from the verdict: the larger, the further."""
        others = [p_values[index] for other, p_values in p_by_verdict.items() if other != verdict]
        p = p_by_verdict[verdict][index]
        return p, _tells_nothing([p, *others], rows[index].reason), -min(others)

    return max(range(len(rows)), key=distance)


def _tells_nothing(p_values: Sequence[float], reason: Reason | None) -> bool:
    """Returns whether all p are 1 and the reason is more than uncertainty: not `open`, `noise` or `slack`.

    p_values: two-sided, one for each verdict. reason: None where something is decided.
    """
    return min(p_values) == 1.0 and reason is not None and reason.code not in ("open", "noise", "slack")


def _p_by_verdict(conditions: Sequence[InCondition], alpha: float) -> dict[Verdict, list[float]]:
    """Returns verdict → the p with which each condition supports it.

    The verdicts stand in the order in which they count, where every condition supports two of them.
    """
    equivalent = []
    better = []
    worse = []
    for one in conditions:
        beats = judge(one.estimate, "beats", alpha=alpha)
        better.append(beats.supported)
        worse.append(beats.refuted)
        if one.margin is None:
            equivalent.append(1.0)
        else:
            equivalent.append(judge(one.estimate, "matches", one.margin, alpha).supported)
    return {"equivalent": equivalent, "better": better, "worse": worse}


def _nearest(p_by_verdict: Mapping[Verdict, Sequence[float]], alpha: float) -> Verdict:
    """Returns the verdict that most conditions support; where several tie, the one with the smallest sum of p."""

    def distance(verdict: Verdict) -> tuple[int, float]:
        """Returns the number of conditions that do not support a verdict, and the sum of their p for it."""
        p_values = p_by_verdict[verdict]
        return sum(p > alpha for p in p_values), sum(p_values)

    return min(p_by_verdict, key=distance)


def _p_in_every(conditions: Sequence[InCondition]) -> float:
    """Returns the two-sided p of a difference with the same sign in every condition; blocks do not count."""
    if min(one.estimate.n for one in conditions) < 2:
        return NAN
    above = max(one.estimate.above(0.0) for one in conditions)
    below = max(one.estimate.below(0.0) for one in conditions)
    return min(1.0, 2 * min(above, below))


def claim_in_every(judged: Mapping[str, Judged]) -> EveryClaim:
    """Returns the judgement of a claim that is to hold in every condition.

    It is supported at the largest p, and refuted at the smallest times the number of conditions; it is open for the
    reason of the condition that decides. judged: condition → the judgement in it; at least one.
    """
    conditions = [*judged.values()]
    combined = replace(
        conditions[0],
        supported=max(one.supported for one in conditions),
        refuted=min(1.0, len(conditions) * min(one.refuted for one in conditions)),
    )
    deciding = _deciding(judged, combined.outcome)
    return EveryClaim(replace(combined, why=judged[deciding].why), deciding)


def _deciding(judged: Mapping[str, Judged], outcome: ClaimOutcome) -> str:
    """Returns the name of the condition that decides a claim with this combined outcome.

    Refuted: that with the smallest p of refutation. Supported or open: that with the largest p of support; of several
    that are open, one that tells nothing (`_tells_nothing`), else that with the smallest p of refutation.
    """

    def distance(name: str) -> tuple[float, bool, float]:
        """Returns how far an open claim is from its support in a condition: the larger, the further."""
        one = judged[name]
        return one.supported, _tells_nothing([one.supported, one.refuted], one.why), -one.refuted

    match outcome:
        case "refuted":
            return min(judged, key=lambda name: judged[name].refuted)
        case "supported":
            return max(judged, key=lambda name: judged[name].supported)
        case "inconclusive":
            return max(judged, key=distance)
        case _:
            assert_never(outcome)
