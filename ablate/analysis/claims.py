"""The verdicts of a study's claims (METHODS §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, Differences, sign
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.analysis.verdicts import Bound, holm, shared_bound
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts

ClaimVerdict = Literal["supported", "refuted", "inconclusive"]

COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("ci90_low", "ci90_high", "p", "p_holm", "metric"),
)


def judge(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`.

    Each side is the per-seed mean over its variants and then over the tasks that have the metric, on the
    seeds where all of them completed. `p` is the smallest at which the claim is decided either way, on the
    scale where .05 decides: two-sided for the 95 % interval, one-sided for the 90 % interval. Holm is taken
    over the claims that were declared before any trial; the others are `exploratory`, judged on `p`, with NaN
    in `p_holm`. A comparison that is unstable, degenerate or of fewer than two pairs decides nothing and
    counts as p = 1.
    """
    runs = Runs(evidence)
    claims = [_Judged.of(runs, claim) for claim in evidence.facts.claims]
    family = [c for c in claims if not c.claim.exploratory]
    adjusted = iter(holm([NAN if c.obstacle else c.p for c in family]))
    rows = [c.row(NAN if c.claim.exploratory else next(adjusted), len(family)) for c in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def decision(claim: Claim, d: Differences) -> tuple[float, ClaimVerdict]:
    """The p at which a claim is decided, and the way it is decided if that p is below .05; n ≥ 2 pairs.

    With one claim in the family, p < .05 exactly where the table of METHODS §4 decides.
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
class _Judged:
    """One claim before Holm's adjustment."""

    claim: Claim
    differences: Differences
    p: float
    way: ClaimVerdict
    "The way it is decided, if it is."
    obstacle: str
    "Why it cannot be decided, whatever the numbers; empty where it can."
    asides: list[str]
    "What else a reader must know."

    @classmethod
    def of(cls, runs: Runs, claim: Claim) -> _Judged:
        tasks = [task for task in runs.facts.tasks if claim.metric in task.metrics]
        if not tasks:
            nothing = Differences.between([], [])
            return cls(
                claim, nothing, NAN, "inconclusive", f"no task of the study has the metric {claim.metric}", []
            )
        a, b = _values(runs, claim, claim.a, tasks), _values(runs, claim, claim.b, tasks)
        usable = ~np.isnan(a).any(axis=(0, 1)) & ~np.isnan(b).any(axis=(0, 1))
        a, b = a[..., usable], b[..., usable]
        # Unequal tasks are averaged, so the coarsest one says how finely the mean is known.
        resolution = max(task.metrics[claim.metric].resolution for task in tasks)
        d = Differences.between(a.mean(axis=(0, 1)), b.mean(axis=(0, 1)), resolution)
        p, way = decision(claim, d) if d.n > 1 else (NAN, "inconclusive")
        obstacle = (
            _diverged(runs, claim, tasks) or _too_few(d, runs.facts) or _degenerate(claim, d, a, b, tasks)
        )
        asides = [_same_sign(a, b, d), _some_missing(d, runs.facts)]
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
        """The interval, what was asked of it, and why that decides or does not."""
        parts = [self.obstacle or _reading(self.claim, self.differences, self.way, self.p < ALPHA)]
        if not self.obstacle and family > 1 and not self.claim.exploratory and self.p < ALPHA:
            after = f"after Holm over {family} claims ({wording.p_value(p)})"
            alone = wording.p_value(self.p)
            parts.append(f"{alone}, {after}" if decided else f"decided alone ({alone}) but not {after}")
        parts += self.asides
        if self.claim.exploratory:
            parts.append("exploratory: declared after trials existed, judged on its own p")
        return "; ".join(parts)


def _values(runs: Runs, claim: Claim, side: list[str], tasks: list[TaskFacts]) -> np.ndarray:
    """Oriented, shape (num_tasks, num_variants, num_seeds)."""
    return np.array(
        [
            [sign(task.metrics[claim.metric]) * runs.values(name, task.name, claim.metric) for name in side]
            for task in tasks
        ]
    )


def _diverged(runs: Runs, claim: Claim, tasks: list[TaskFacts]) -> str:
    found = []
    for name in dict.fromkeys([*claim.a, *claim.b]):
        for task in tasks:
            count, total = (int(f(name, task.name).sum()) for f in (runs.diverged, runs.ended))
            where = f" on {task.name}" if len(tasks) > 1 else ""
            if count:
                found.append(f"{wording.share(count, total)} runs of {name}{where}")
    return f"unstable: {wording.joined(found)} diverged" if found else ""


def _too_few(d: Differences, facts: Facts) -> str:
    if d.n > 1:
        return ""
    planned = wording.counted(len(facts.seeds), "planned seed")
    return f"{d.n} of {planned} with a usable pair; an interval takes 2"


def _some_missing(d: Differences, facts: Facts) -> str:
    planned = len(facts.seeds)
    return f"{wording.share(d.n, planned)} planned seeds have a usable pair" if 1 < d.n < planned else ""


def _degenerate(claim: Claim, d: Differences, a: np.ndarray, b: np.ndarray, tasks: list[TaskFacts]) -> str:
    bounds: set[Bound | None] = set()
    for i, task in enumerate(tasks):
        metric = task.metrics[claim.metric]
        bounds.add(shared_bound(sign(metric) * a[i], sign(metric) * b[i], metric))
    if len(bounds) == 1 and (bound := bounds.pop()):
        return f"degenerate: both sides at the metric's {bound} on every seed"
    return "degenerate: every difference is 0" if d.all_zero else ""


def _same_sign(a: np.ndarray, b: np.ndarray, d: Differences) -> str:
    """How many of several tasks agree with their mean; arrays (num_tasks, num_variants, num_seeds)."""
    if len(a) < 2 or not d.n:
        return ""
    alone = a.mean(axis=(1, 2)) - b.mean(axis=(1, 2))
    same = int((np.sign(alone) == np.sign(d.mean)).sum())
    return f"{same} of {len(a)} tasks alone show the same sign"


def _reading(claim: Claim, d: Differences, way: ClaimVerdict, decided: bool) -> str:
    """The interval that decides, in words; `decided` is without regard to other claims."""
    x = wording.exact(claim.by)
    at95 = f"95 % interval {wording.interval(d.interval(ALPHA), claim.by, -claim.by)}"
    at90 = f"90 % interval {wording.interval(d.interval(2 * ALPHA), claim.by, -claim.by)}"
    minus = wording.exact(-claim.by) if claim.by else x
    if claim.kind == "beats":
        if decided:
            return f"{at95} lies {'above' if way == 'supported' else 'below'} {x}"
        return f"{at95} reaches below {x} and above it"
    if claim.kind == "matches":
        if decided and way == "supported":
            return f"{at90} lies inside ±{x}"
        if decided:
            return f"{at95} lies {f'above {x}' if d.mean > 0 else f'below {minus}'}"
        return f"{at90} reaches beyond ±{x}, and {at95} does not lie outside it"
    if decided and way == "supported":
        return f"{at90} lies above {minus}"
    if decided:
        return f"{at95} lies below {minus}"
    return f"{at90} reaches below {minus}, and {at95} does not lie wholly below it"
