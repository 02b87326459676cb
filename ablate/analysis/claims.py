"""The verdicts of a study's claims, on each task by the one judge.

`A beats B by more at P = y than at P = x` is a plain `beats` about the difference of differences of each seed. A claim
over several tasks is supported by the largest p, and refuted by as many times the smallest as there are tasks. A claim
about time or memory is judged with the noise floor of the measurement as slack, on logs of ratios.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pandas as pd

from ablate.analysis.compare import compared
from ablate.analysis.contrast import unseen
from ablate.analysis.estimates import Mean, Rate
from ablate.analysis.family import Look, asked, at_looks, level, looks, measures_of, planned
from ablate.analysis.judge import Judged, Kind, deciding, judge, on_all
from ablate.analysis.measures import Measure
from ablate.analysis.paired import NAN
from ablate.analysis.runs import Runs
from ablate.core.evidence import Evidence
from ablate.core.facts import INTERACTION, Claim
from ablate.core.reason import Interval, Reason

LIKENESS = ("matches", "does_not_lose")
COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("metric", "task"),
)


@dataclass(frozen=True)
class OnTask:
    """What the evidence on one task says of a claim at one look."""

    task: str
    estimate: Mean | Rate
    judged: Judged
    share: bool = False
    "Whether the estimate is a log of ratios, which is shown as a share."

    @property
    def point(self) -> float:
        """As it is shown."""
        return math.expm1(self.estimate.point) if self.share else self.estimate.point

    @property
    def interval(self) -> Interval:
        """At the level at which the claim is judged; NaN where there is none."""
        low, high = self.estimate.interval(self.judged.alpha) or (NAN, NAN)
        return (math.expm1(low), math.expm1(high)) if self.share else (low, high)


@dataclass
class Followed:
    """One claim, look by look until one decides it."""

    claim: Claim
    look: Look
    tasks: Sequence[OnTask] = ()
    "At the last look."
    measured: bool = False

    @property
    def judged(self) -> Judged:
        """On all tasks together."""
        return on_all([on.judged for on in self.tasks])

    @property
    def decided(self) -> bool:
        """At this look."""
        return bool(self.tasks) and self.judged.outcome != "inconclusive"

    @property
    def open(self) -> bool:
        """Whether more seeds may decide it."""
        waits = any(on.judged.why is not None and on.judged.why.code == "incomplete" for on in self.tasks)
        return not (self.decided or waits or self.measured)

    def row(self) -> dict[str, object]:
        """With `COLUMNS`; the numbers are those of the task that decides."""
        claim, found = self.claim, {"verdict": "inconclusive", "reason": "unknown", "n": 0}
        if self.tasks:
            on = self.tasks[deciding([one.judged for one in self.tasks])]
            whole = self.judged
            reason = None if self.decided else on.judged.reason or whole.why
            if (
                whole.outcome == "supported"
                and claim.kind in LIKENESS
                and not self.measured
                and isinstance(on.estimate, Mean)
            ):
                reason = Reason("unseen", {"failures": unseen(on.estimate.n)})
            found = {
                "verdict": whole.outcome,
                "diff": on.point,
                **dict(zip(("ci_low", "ci_high"), on.interval, strict=True)),
                "n": on.estimate.n,
                "reason": str(reason or ""),
                "task": on.task,
            }
        own = {"claim": claim.text, "hash": claim.hash, "declared": claim.declared, "metric": claim.metric}
        return dict.fromkeys(COLUMNS, NAN) | {"task": ""} | own | found | {"exploratory": claim.exploratory}


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`: the interval is that at which it was judged."""
    return pd.DataFrame([one.row() for one in follow(Runs(evidence))], columns=list(COLUMNS))


def follow(runs: Runs) -> list[Followed]:
    """Every claim at the look that decides it, else at the last of its runs."""
    return [_followed(runs, claim) for claim in runs.facts.claims]


def _followed(runs: Runs, claim: Claim) -> Followed:
    facts = runs.facts
    measures = measures_of(claim, facts)
    found = Followed(claim, looks(facts)[-1], measured=any(measure.kind == "ratio" for measure in measures))
    if found.measured:
        # Its processes are looked at once, whatever seeds do.
        once = Look(1, 1, len(facts.seeds))
        found.tasks = [_on_task(runs, claim, measure, level(facts, once)) for measure in measures]
        return found
    for look, fewer in at_looks(runs):
        if found.tasks and not all(asked(fewer, measure.task, claim.variants) for measure in measures):
            break
        found.look = look
        found.tasks = [_on_task(fewer, claim, measure, level(facts, look)) for measure in measures]
        if found.decided:
            break
    return found


def _on_task(runs: Runs, claim: Claim, measure: Measure, alpha: float) -> OnTask:
    estimate = measure.estimate(runs, claim.sides)
    kind = cast(Kind, "beats" if claim.kind == INTERACTION else claim.kind)
    if measure.kind != "ratio" or measure.derived is None:
        return OnTask(measure.task.name, estimate, judge(estimate, kind, claim.by, alpha))
    # X is a share: A beats B by .1 where B takes more than 1.1 times what A takes.
    slack = measure.derived.slack(measure, runs)
    return OnTask(
        measure.task.name, estimate, judge(estimate, kind, math.log1p(claim.by), alpha, slack), share=True
    )


Place = tuple[str, str]
"""A variant and a task."""


def unsettled(evidence: Evidence) -> set[Place]:
    """Where more seeds may settle a planned comparison or a claim; with the baseline and placebos there."""
    runs = Runs(evidence)
    facts, last = runs.facts, looks(runs.facts)[-1]
    found: set[Place] = set()
    for pair in planned(facts):
        one = compared(runs, pair)
        if one.open and one.look == last:
            found |= {(name, pair.task.name) for name in (*pair.a, *pair.b)}
    for followed in follow(runs):
        if followed.open and followed.look == last:
            tasks = [measure.task.name for measure in measures_of(followed.claim, facts)]
            found |= {(name, task) for name in followed.claim.variants for task in tasks}
    always = [v.name for index, v in enumerate(facts.variants) if not index or v.placebo]
    return found | {(name, task) for _, task in found for name in always}
