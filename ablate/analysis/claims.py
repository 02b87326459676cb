"""The verdicts of a study's claims, on each task by the one judge.

`A beats B by more at P = y than at P = x` is a plain `beats` about the difference of differences of each seed. A claim
over several tasks is supported by the largest p, and refuted by as many times the smallest as there are tasks. A claim
about time or memory is judged with the noise floor of the measurement as slack, on logs of ratios.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pandas as pd

from ablate.analysis.agreeing import NEGATIVE, Estimated, Groups, main_estimate
from ablate.analysis.compare import primary_comparison, with_seeds
from ablate.analysis.contrast import unseen
from ablate.analysis.family import Look, alpha_at, at_looks, looks, measures_of, planned
from ablate.analysis.judge import Judged, Kind, deciding, judge, on_all
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN
from ablate.analysis.runs import Runs
from ablate.core.facts import INTERACTION, Claim, Evidence
from ablate.core.reason import Reason

RUNS = ("seeds", "runs")  # What an estimate repeats, of which some may fail that have not been seen to.
LIKENESS = ("matches", "does_not_lose")
COLUMNS = (
    *("claim", "hash", "declared", "verdict", "diff", "ci_low", "ci_high", "n", "reason", "exploratory"),
    *("metric", "task"),
)


@dataclass(frozen=True)
class OnTask:
    """What the evidence on one task says of a claim at one look."""

    task: str
    estimate: Estimated
    judged: Judged


@dataclass(frozen=True)
class Followed:
    """One claim at the look that decides it, else at the last of its runs."""

    claim: Claim
    look: Look
    tasks: Sequence[OnTask]
    # Whether its estimates are logs of ratios, shown as shares: its processes are looked at once, whatever seeds do.
    measured: bool

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

    def row(self) -> tuple[object, ...]:
        """As `COLUMNS`; the numbers are those of the task that decides, the interval at the level of the claim."""
        claim, task = self.claim, ""
        found: tuple[object, ...] = ("inconclusive", NAN, NAN, NAN, 0, "unknown")
        if self.tasks:
            on, whole = self.tasks[deciding([one.judged for one in self.tasks])], self.judged
            like = claim.kind in LIKENESS
            reason = None if self.decided else on.judged.reason or whole.why
            numbers = [on.estimate.mean, *(on.estimate.interval(on.judged.alpha) or (NAN, NAN))]
            if self.measured:
                numbers = [math.expm1(number) for number in numbers]
            elif not self.decided:
                reason = _with_seeds(reason, on, claim)
            elif (
                whole.outcome == "supported"
                and like
                and getattr(main_estimate(on.estimate), "unit", "") in RUNS
            ):
                reason = Reason("unseen", {"failures": unseen(on.estimate.n)})
            task, found = on.task, (whole.outcome, *numbers, on.estimate.n, str(reason or ""))
        return claim.text, claim.hash, claim.declared, *found, claim.exploratory, claim.metric, task


def _with_seeds(reason: Reason | None, on: OnTask, claim: Claim) -> Reason | None:
    margin, x = _decisive(claim, on.estimate.mean)
    return with_seeds(reason, on.estimate, alpha=on.judged.alpha, margin=margin, x=x)


def _decisive(claim: Claim, mean: float) -> tuple[float | None, float | None]:
    """The margin that a difference like this would have to be shown within, and the value to differ from."""
    if claim.kind == "matches":
        return claim.by, None if abs(mean) < claim.by else math.copysign(claim.by, mean)
    return None, -claim.by if claim.kind == "does_not_lose" else claim.by


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """One row a claim, in the order of the study, with `COLUMNS`."""
    runs = Runs(evidence)
    return pd.DataFrame([follow(runs, claim).row() for claim in runs.facts.claims], columns=list(COLUMNS))


def follow(runs: Runs, claim: Claim) -> Followed:
    """A claim at the look that decides it, else at the last of its runs."""
    facts, measures = runs.facts, measures_of(claim, runs.facts)
    measured = any(measure.kind == "ratio" for measure in measures)
    once = [(Look(1, 1, len(facts.seeds)), runs)]
    places = [(measure.task, claim.variants) for measure in measures]
    for look, fewer in once if measured else at_looks(runs, places):
        tasks = [_on_task(fewer, claim, measure, alpha_at(runs, look)) for measure in measures]
        found = Followed(claim, look, tasks, measured)
        if found.decided:
            break
    return found


def _on_task(runs: Runs, claim: Claim, measure: Measure, alpha: float) -> OnTask:
    estimate, x, slack = measure.estimate(runs, claim.sides), claim.by, 0.0
    if measure.kind == "ratio" and measure.estimator is not None:
        # X is a share: A beats B by 0.1 where B takes more than 1.1 times what A takes.
        x, slack = math.log1p(claim.by), measure.estimator.slack(measure, runs)
    kind = cast(Kind, "beats" if claim.kind == INTERACTION else claim.kind)
    return OnTask(measure.task.name, estimate, judge(estimate, kind, x, alpha, slack))


Place = tuple[str, str]  # A variant and a task.


def unsettled(evidence: Evidence) -> set[Place]:
    """Where more seeds may settle a planned comparison or a claim; with the baseline and placebos there."""
    runs = Runs(evidence)
    facts, last = runs.facts, looks(runs.facts)[-1]
    found: set[Place] = set()
    for pair in planned(facts):
        one = primary_comparison(runs, pair)
        if one.open and one.look == last:
            found |= {(name, pair.task.name) for name in (*pair.a, *pair.b)}
    for claim in facts.claims:
        followed = follow(runs, claim)
        if followed.open and followed.look == last:
            found |= {(name, on.task) for name in claim.variants for on in followed.tasks}
    always = [v.name for index, v in enumerate(facts.variants) if not index or v.placebo]
    return found | {(name, task) for _, task in found for name in always}


def depends_on_tuning(evidence: Evidence) -> set[Place]:
    """Variants, on their tasks, on whose settings that decides which is decided at the chosen ones."""
    runs = Runs(evidence)
    every: list[tuple[str, Groups, tuple[bool, bool]]] = [
        (p.task.name, (p.a, p.b), primary_comparison(runs, p).decision.rests) for p in planned(runs.facts)
    ]
    for claim in runs.facts.claims:
        every += [(on.task, claim.sides, on.judged.rests) for on in follow(runs, claim).tasks]
    return {
        (name, task)
        for task, groups, (above, below) in every
        for place, group in enumerate(groups)
        for name in group
        if (above if place in NEGATIVE else below)
    }
