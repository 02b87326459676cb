"""The verdicts of a study's claims.

The interval of the mean difference between side A and side B, oriented so that more is better, decides; X is the
number that the claim names, 0 for a plain `beats`:

    claim                     supported                     refuted
    A beats B by X            95 % interval above X         95 % interval below X
    A matches B within X      90 % interval inside ±X       95 % interval outside ±X
    A does not lose X to B    90 % interval above −X        95 % interval below −X

Otherwise it is inconclusive. The 90 % intervals are those of one-sided tests at .05: equivalence as in Schuirmann 1987,
J. Pharmacokinet. Biopharm. 15, 657–680. The claims of a study are one family, corrected by `verdicts.holm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, Differences, Floats, sign
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.analysis.verdicts import holm, shared_bound
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.evidence import Evidence
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric

ClaimVerdict = Literal["supported", "refuted", "inconclusive"]

COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("ci90_low", "ci90_high", "p", "p_holm", "metric"),
)


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`.

    Each side is the per-seed mean over its variants and then over the tasks that have the metric, on the
    seeds where all of them completed. `p` is the smallest at which the claim is decided either way, on the
    scale where .05 decides: two-sided for the 95 % interval, one-sided for the 90 % interval. Holm is taken
    over the claims that were declared before any trial; the others are `exploratory`, judged on `p`, with NaN
    in `p_holm`. A comparison that is unstable, degenerate or of fewer than two pairs decides nothing and
    counts as p = 1.
    """
    runs = Runs(evidence)
    claims = [_Assessed.of(runs, claim) for claim in evidence.facts.claims]
    family = [c for c in claims if not c.claim.exploratory]
    adjusted = iter(holm([NAN if c.obstacle else c.p for c in family]))
    rows = [c.row(NAN if c.claim.exploratory else next(adjusted), len(family)) for c in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def decision(claim: Claim, d: Differences) -> tuple[float, ClaimVerdict]:
    """The p at which a claim is decided, and the way it is decided if that p is below .05; n ≥ 2 pairs.

    With one claim in the family, p < .05 exactly where the intervals of the table above decide.
    """
    x = claim.by
    if claim.kind == "beats":
        return d.p(x), "supported" if d.mean > x else "refuted"
    if claim.kind == "matches":
        supported, refuted = d.p_equivalent(x), 2 * min(d.p_above(x), d.p_below(-x))
    else:
        supported, refuted = d.p_above(-x), 2 * d.p_below(-x)
    # The two ask for opposite things of the mean, so at most one of them is small.
    return (supported, "supported") if supported <= refuted else (min(refuted, 1.0), "refuted")


@dataclass(frozen=True)
class _Assessed:
    """One claim before Holm's adjustment."""

    claim: Claim
    differences: Differences
    p: float
    way: ClaimVerdict
    "How it is decided, if it is."
    obstacle: str
    "Why it cannot be decided, whatever the numbers; empty where it can."
    asides: list[str]
    "Other remarks for the reader."

    @classmethod
    def of(cls, runs: Runs, claim: Claim) -> _Assessed:
        tasks = [task for task in runs.facts.tasks if claim.metric in task.metrics]
        if not tasks:
            obstacle = f"no task of the study has the metric {claim.metric}"
            return cls(claim, Differences.between([], []), NAN, "inconclusive", obstacle, [])
        metrics = [task.metrics[claim.metric] for task in tasks]
        a, b = (_values(runs, claim.metric, names, tasks) for names in (claim.a, claim.b))
        usable = ~np.isnan(a).any(axis=(0, 1)) & ~np.isnan(b).any(axis=(0, 1))
        a, b = a[..., usable], b[..., usable]
        # Unequal tasks are averaged, so the coarsest one says how finely the mean is known.
        resolution = max(metric.resolution for metric in metrics)
        d = Differences.between(a.mean(axis=(0, 1)), b.mean(axis=(0, 1)), resolution)
        p, way = decision(claim, d) if d.n > 1 else (NAN, "inconclusive")
        planned = len(runs.seeds)
        few = f"{d.n} of {wording.counted(planned, 'planned seed')} with a usable pair; an interval takes 2"
        some = f"{wording.share(d.n, planned)} planned seeds have a usable pair"
        obstacle = _diverged(runs, claim, tasks) or ("" if d.n > 1 else few) or _degenerate(d, a, b, metrics)
        asides = [_same_sign(a, b, d), some if 1 < d.n < planned else ""]
        return cls(claim, d, p, way, obstacle, [aside for aside in asides if aside])

    def row(self, p_holm: float, family: int) -> dict[str, object]:
        claim, d = self.claim, self.differences
        p = self.p if claim.exploratory else p_holm
        decided = not self.obstacle and p < ALPHA
        return {
            "claim": claim.text,
            "hash": claim.hash,
            "declared": claim.declared,
            "verdict": self.way if decided else "inconclusive",
            "diff": d.mean,
            "ci_low": d.interval(ALPHA)[0],
            "ci_high": d.interval(ALPHA)[1],
            "n": d.n,
            "reason": self.reason(p, family, decided),
            "exploratory": claim.exploratory,
            "ci90_low": d.interval(2 * ALPHA)[0],
            "ci90_high": d.interval(2 * ALPHA)[1],
            "p": self.p,
            "p_holm": p_holm,
            "metric": claim.metric,
        }

    def reason(self, p: float, family: int, decided: bool) -> str:
        """The interval, the bounds that the claim sets it, and why that decides or does not."""
        parts = [self.obstacle or _reading(self.claim, self.differences, self.way, self.p < ALPHA)]
        if not self.obstacle and family > 1 and not self.claim.exploratory and self.p < ALPHA:
            after = f"after Holm over {family} claims ({wording.p_value(p)})"
            alone = wording.p_value(self.p)
            parts.append(f"{alone}, {after}" if decided else f"decided alone ({alone}) but not {after}")
        parts += self.asides
        if self.claim.exploratory:
            parts.append("exploratory: declared after trials existed, judged on its own p")
        return "; ".join(parts)


def _values(runs: Runs, metric: str, names: list[str], tasks: list[TaskFacts]) -> Floats:
    """Oriented, shape (num_tasks, num_variants, num_seeds)."""
    return np.array(
        [
            [sign(task.metrics[metric]) * runs.of(name, task).values(metric) for name in names]
            for task in tasks
        ]
    )


def _diverged(runs: Runs, claim: Claim, tasks: list[TaskFacts]) -> str:
    sides = [runs.of(name, task) for name in dict.fromkeys([*claim.a, *claim.b]) for task in tasks]
    found = [
        f"{wording.share(side.diverged, int(side.ended.sum()))} runs of {side.variant}"
        + (f" on {side.task.name}" if len(tasks) > 1 else "")
        for side in sides
        if side.diverged
    ]
    return f"unstable: {wording.joined(found)} diverged" if found else ""


def _degenerate(d: Differences, a: Floats, b: Floats, metrics: list[Metric]) -> str:
    """Arrays (num_tasks, num_variants, num_seeds), oriented; a metric a task."""
    bounds = {
        shared_bound(sign(metric) * a[i], sign(metric) * b[i], metric) for i, metric in enumerate(metrics)
    }
    if len(bounds) == 1 and (bound := bounds.pop()):
        return f"degenerate: both sides at the metric's {bound} on every seed"
    return "degenerate: every difference is 0" if d.all_zero else ""


def _same_sign(a: Floats, b: Floats, d: Differences) -> str:
    """How many of several tasks agree with their mean; arrays (num_tasks, num_variants, num_seeds)."""
    if len(a) < 2 or not d.n:
        return ""
    alone = a.mean(axis=(1, 2)) - b.mean(axis=(1, 2))
    same = int((np.sign(alone) == np.sign(d.mean)).sum())
    return f"{same} of {len(a)} tasks alone show the same sign"


def _reading(claim: Claim, d: Differences, way: ClaimVerdict, decided: bool) -> str:
    """The interval that decides, in words; `decided` is without regard to other claims."""
    x = wording.exact(claim.by)
    minus = wording.exact(-claim.by) if claim.by else x
    at95 = f"95 % interval {wording.interval(d.interval(ALPHA), claim.by, -claim.by)}"
    at90 = f"90 % interval {wording.interval(d.interval(2 * ALPHA), claim.by, -claim.by)}"
    supported, refuted, neither = {
        "beats": (
            f"{at95} lies above {x}",
            f"{at95} lies below {x}",
            f"{at95} reaches below {x} and above it",
        ),
        "matches": (
            f"{at90} lies inside ±{x}",
            f"{at95} lies {f'above {x}' if d.mean > 0 else f'below {minus}'}",
            f"{at90} reaches beyond ±{x}, and {at95} does not lie outside it",
        ),
        "does_not_lose": (
            f"{at90} lies above {minus}",
            f"{at95} lies below {minus}",
            f"{at90} reaches below {minus}, and {at95} does not lie wholly below it",
        ),
    }[claim.kind]
    if not decided:
        return neither
    return supported if way == "supported" else refuted
