"""The verdicts of a study's claims.

The interval of the mean difference between side A and side B, oriented so that more is better, decides; X is the
number that the claim names, 0 for a plain `beats`:

    claim                     supported                     refuted
    A beats B by X            95 % interval above X         95 % interval below X
    A matches B within X      90 % interval inside ±X       95 % interval outside ±X
    A does not lose X to B    90 % interval above −X        95 % interval below −X

Otherwise it is inconclusive, or incomplete where a trial that it rests on failed or is missing. The 90 % intervals are
those of one-sided tests at .05: equivalence as in Schuirmann 1987, J. Pharmacokinet. Biopharm. 15, 657–680. On an
all-or-nothing task the seeds that only one side solved decide a plain `beats`, and bound `matches` and `does not lose`
beside the mean (`contrast`). A claim over several tasks holds where it holds on every one. The claims of a study are
one family, corrected by `verdicts.holm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ablate.analysis.contrast import Contrast, suspect
from ablate.analysis.paired import NAN
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import rate
from ablate.analysis.runs import Runs, Side
from ablate.analysis.verdicts import holm
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.evidence import Evidence

ClaimVerdict = Literal["supported", "refuted", "inconclusive", "incomplete"]

COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("ci90_low", "ci90_high", "p_supported", "p_refuted", "p", "p_holm", "metric", "task"),
)


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`.

    Each side is the per-seed mean over its variants. `p_supported` and `p_refuted` are on the scale where .05
    decides: two-sided for the 95 % interval, one-sided for the 90 % interval; over T tasks the largest of the one, and
    T times the smallest of the other.
    `p` is the smaller of the two. Holm is taken over the claims that were declared before any trial; the others are
    `exploratory`, judged on `p`, with NaN in `p_holm`. The numbers are those of the `task` that decides.
    """
    runs = Runs(evidence)
    claims = [_Assessed.of(runs, claim) for claim in evidence.facts.claims]
    family = [c for c in claims if not c.claim.exploratory]
    adjusted = iter(holm([c.p for c in family]))
    rows = [c.row(NAN if c.claim.exploratory else next(adjusted), len(family)) for c in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class _OnTask:
    """A claim on one task."""

    task: str
    contrast: Contrast
    supported: float
    "The p at which it is supported there; so is the next."
    refuted: float
    reading: str
    "The evidence in words, or why there is none."

    @classmethod
    def of(cls, runs: Runs, claim: Claim, a: list[Side], b: list[Side]) -> _OnTask:
        c, task = Contrast.of(a, b, claim.metric), a[0].task
        facts = runs.facts
        margin = facts.margin if claim.metric == facts.metric else None
        grouped = suspect(runs, task, claim.metric)
        obstacle = _obstacle(c, claim, margin or 0.0, [*a, *b])
        if obstacle:
            return cls(task.name, c, 1.0, 1.0, obstacle)
        supported, refuted = _p_values(c, claim, grouped)
        return cls(task.name, c, supported, refuted, _reading(c, claim, supported, refuted, grouped))


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


def _obstacle(c: Contrast, claim: Claim, margin: float, sides: list[Side]) -> str:
    """Why nothing can be decided, whatever the numbers; empty where it can."""
    pairs = f"{c.n} of {wording.counted(len(sides[0].status), 'planned seed')}"
    if c.missing:
        return f"incomplete: {pairs} with a usable pair"
    if c.without_score:
        return f"unstable: {_diverged(sides)}; {claim.metric} has no floor to score them with"
    if c.n < 2:
        return f"{pairs} with a usable pair; an interval takes 2"
    if c.any_diverged and c.p > ALPHA:
        counted = "with the metric's floor for them no difference is shown"
        return f"unstable: {_diverged(sides)}; {counted} ({wording.p_value(c.p)})"
    if c.task.outcome == "all_or_nothing" and c.solved is None:
        if len(sides) > 2:
            return "a side is several variants, whose solved seeds cannot be paired: state the claim on single variants"
        return "the task is all or nothing, but does not say when it is solved"
    if c.at_ceiling(max(margin, 0.0 if claim.kind == "beats" else claim.by)):
        return "saturated: every run solved the task, or is at the metric's ceiling"
    if c.differences.all_zero:
        return "degenerate: every difference is 0"
    if c.at_floor and (claim.kind != "beats" or c.p > ALPHA):
        return "saturated: no run is better than guessing"
    return ""


@dataclass(frozen=True)
class _Assessed:
    """One claim before Holm's adjustment."""

    claim: Claim
    tasks: list[_OnTask]

    @classmethod
    def of(cls, runs: Runs, claim: Claim) -> _Assessed:
        found = []
        for task in runs.facts.tasks:
            if claim.metric in task.metrics:
                a, b = ([runs.of(name, task) for name in names] for names in (claim.a, claim.b))
                found.append(_OnTask.of(runs, claim, a, b))
        return cls(claim, found)

    @property
    def supported(self) -> float:
        """The p at which the claim is supported on every task."""
        return min(1.0, max((on.supported for on in self.tasks), default=1.0))

    @property
    def refuted(self) -> float:
        """The p at which it is refuted on some task."""
        return min([1.0, *(len(self.tasks) * on.refuted for on in self.tasks)])

    @property
    def way(self) -> ClaimVerdict:
        """How it is decided, if it is."""
        return "supported" if self.supported <= self.refuted else "refuted"

    @property
    def undecided(self) -> ClaimVerdict:
        """What it is, if it is not."""
        return "incomplete" if any(on.contrast.missing for on in self.tasks) else "inconclusive"

    @property
    def p(self) -> float:
        """The p at which it is decided."""
        return min(self.supported, self.refuted, 1.0)

    @property
    def deciding(self) -> _OnTask | None:
        """The task whose numbers are shown: the one that stands against the claim most."""
        if not self.tasks:
            return None
        if self.way == "supported":
            return max(self.tasks, key=lambda on: on.supported)
        return min(self.tasks, key=lambda on: on.refuted)

    def row(self, p_holm: float, family: int) -> dict[str, object]:
        """The row, with `COLUMNS`."""
        claim, on = self.claim, self.deciding
        p = self.p if claim.exploratory else p_holm
        decided = p <= ALPHA
        bounds_95, bounds_90 = (
            ((NAN, NAN), (NAN, NAN))
            if on is None
            else (on.contrast.differences.interval(ALPHA), on.contrast.differences.interval(2 * ALPHA))
        )
        return {
            "claim": claim.text,
            "hash": claim.hash,
            "declared": claim.declared,
            "verdict": self.way if decided else self.undecided,
            "diff": on.contrast.differences.mean if on else NAN,
            "ci_low": bounds_95[0],
            "ci_high": bounds_95[1],
            "n": on.contrast.n if on else 0,
            "reason": self.reason(p, family, decided),
            "exploratory": claim.exploratory,
            "ci90_low": bounds_90[0],
            "ci90_high": bounds_90[1],
            "p_supported": self.supported,
            "p_refuted": self.refuted,
            "p": self.p,
            "p_holm": p_holm,
            "metric": claim.metric,
            "task": on.task if on else "",
        }

    def reason(self, p: float, family: int, decided: bool) -> str:
        """The evidence of each task, and why that decides or does not."""
        if not self.tasks:
            return f"no task of the study has the metric {self.claim.metric}"
        several = len(self.tasks) > 1
        parts = [f"{on.task}: {on.reading}" if several else on.reading for on in self.tasks]
        if several and self.p <= ALPHA:
            count = sum(
                (on.supported if self.way == "supported" else on.refuted) <= ALPHA for on in self.tasks
            )
            parts.append(f"alone {self.way} on {wording.share(count, len(self.tasks))} tasks")
        if family > 1 and not self.claim.exploratory and self.p <= ALPHA:
            after = f"after Holm over {family} claims ({wording.p_value(p)})"
            alone = wording.p_value(self.p)
            parts.append(f"{alone}, {after}" if decided else f"decided alone ({alone}) but not {after}")
        if self.claim.exploratory:
            parts.append("exploratory: declared after trials existed, judged on its own p")
        return "; ".join(parts)


def _diverged(sides: list[Side]) -> str:
    found = {
        side.variant: f"{rate(side.diverged, int(side.ended.sum()))} of {side.variant}"
        for side in sides
        if side.diverged
    }
    return f"{wording.joined(list(found.values()))} diverged"


def _reading(c: Contrast, claim: Claim, supported: float, refuted: float, grouped: bool) -> str:
    """The evidence that decides on one task, in words."""
    if c.task.outcome == "all_or_nothing":
        return _rate_reading(c, claim, supported)
    d = c.differences
    x = wording.exact(claim.by)
    minus = wording.exact(-claim.by) if claim.by else x
    at95 = f"95 % interval {wording.interval(d.interval(ALPHA), claim.by, -claim.by)}"
    at90 = f"90 % interval {wording.interval(d.interval(2 * ALPHA), claim.by, -claim.by)}"
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
    found = words[0] if supported <= ALPHA else words[1] if refuted <= ALPHA else words[2]
    if c.any_diverged:
        converged = int(np.count_nonzero(c.completed))
        found += f", with {c.n - converged} of {c.n} pairs in which a run diverged and counts with the floor"
        if claim.kind != "beats" and refuted > ALPHA:
            found = f"unstable: a match cannot be supported where runs diverged; {found}"
    elif claim.kind == "matches" and grouped and refuted > ALPHA:
        found = f"the runs of a variant fall into groups, so that their mean cannot support a match; {found}"
    return found


def _rate_reading(c: Contrast, claim: Claim, supported: float) -> str:
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
    tells = "below" if supported <= ALPHA else "not shown to be below"
    return f"{only}: a share {tells} {wording.exact(round(share, 4))} of seeds, half of what the claim allows"
