"""The verdicts of a study's claims, on each task by the one judge.

`A beats B by more at P = y than at P = x` is a plain `beats` about the difference of differences of each seed. A claim
over several tasks is supported by the largest p, and refuted by as many times the smallest as there are tasks. A claim
about time or memory is judged with the noise floor of the measurement as slack, on logs of ratios.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import pandas as pd

from ablate.analysis.agreeing import Estimated, binding_resolution, main_estimate
from ablate.analysis.alike import are_seedless
from ablate.analysis.compare import with_seeds
from ablate.analysis.contrast import unseen
from ablate.analysis.family import alpha_at, measures_of
from ablate.analysis.judge import Judged, deciding, judge, on_all
from ablate.analysis.looks import Look, at_looks
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.runs import Runs, runs_of
from ablate.analysis.treatments import treatments_of
from ablate.core.facts import Claim, Evidence, is_likeness
from ablate.core.reason import Reason
from ablate.core.rows import frame_of_rows
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun, as_text

RUNS = ("seeds", "folds", "runs")
"""Units of estimates (`Differences.unit`) that repeat trainings, of which some may fail that have not been seen to."""


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """A row of the table: a claim. The fields are the columns.

    The numbers are those of the task that decides the claim; of a claim that no task can tell there are none.
    """

    claim: str
    """The claim in the words of the study."""
    hash: str
    """Identifier of the claim, made of its words."""
    declared: str
    """ISO 8601 date and time of the first run that knew the claim; empty where none is known."""
    verdict: str = "inconclusive"
    """`supported`, `refuted` or `inconclusive`."""
    diff: float = NAN
    """Mean difference, oriented, in the metric's units; of time and memory the ratio − 1. NaN without a task."""
    ci_low: float = NAN
    """Lower bound of the interval of `diff` at the level of the claim; NaN where there is none."""
    ci_high: float = NAN
    """Upper bound of the same interval."""
    n: int = 0
    """Pairs, or processes of a measurement."""
    reason: str = "unknown"
    """Why the verdict is what it is, as text of `core.reason`; empty where there is nothing to say."""
    exploratory: bool
    """Whether the claim was declared after trials of the study existed."""
    metric: str
    task: str = ""
    """The task that decides the claim; empty where no task can tell it."""
    plan: str
    """`changed` or `added` where its runs are not as first planned, before results; else empty."""
    treatment: str = ""
    """The difference in treatment of its sides, as text of `core.treatment`; empty where alike, or not of two sides."""
    resolution: float = NAN
    """The step of the metric, where it counts as the standard deviation of differences that vary by less; else NaN."""
    unequal_runs: str = ""
    """Runs that trained for another length than the others of their variant, as text of `core.unequal_run`."""


@dataclass(frozen=True)
class ClaimOnTask:
    """The judgement of a claim on one task at one look."""

    task: str
    estimate: Estimated
    judged: Judged
    treatment: Treatment | None
    """The first difference in how the sides were treated; None where they were alike."""
    unequal_runs: Sequence[UnequalRun] = ()
    """The runs that ended before the others of their variant, or after them."""
    is_seedless: bool = False
    """Whether more seeds would show nothing new."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim at the look that decides it, else at the last of its runs."""

    claim: Claim
    look: Look
    tasks: Sequence[ClaimOnTask]
    plan: str
    """The mark of its variants in a plan that was changed after results; see `PlanChanges.mark`."""
    measured: bool
    """Whether the estimates are logs of ratios, shown as shares.

    The processes of a measurement are looked at once, whatever seeds do.
    """

    @property
    def judged(self) -> Judged:
        """The judgement on all tasks together."""
        return on_all([on_task.judged for on_task in self.tasks])

    @property
    def decided(self) -> bool:
        """True where the claim is supported or refuted at this look."""
        return bool(self.tasks) and self.judged.outcome != "inconclusive"

    @property
    def open(self) -> bool:
        """True where more seeds may decide the claim: no trial failed or is missing."""
        if self.decided or self.measured:
            return False
        reasons = [on_task.judged.why for on_task in self.tasks]
        return not any(why is not None and why.code == "incomplete" for why in reasons)

    def row(self) -> ClaimRow:
        """Returns the row of the table, with the numbers of the task that decides the claim."""
        claim = self.claim
        row = ClaimRow(
            claim=claim.text,
            hash=claim.hash,
            declared=claim.declared,
            exploratory=claim.exploratory,
            metric=claim.metric,
            plan=self.plan,
        )
        if not self.tasks:
            return row
        on_task = self.tasks[deciding([task.judged for task in self.tasks])]
        estimate = on_task.estimate
        diff = estimate.mean
        ci_low, ci_high = estimate.interval(on_task.judged.alpha) or (NAN, NAN)
        if self.measured:
            diff = math.expm1(diff)
            ci_low = math.expm1(ci_low)
            ci_high = math.expm1(ci_high)
        return replace(
            row,
            verdict=self.judged.outcome,
            diff=diff,
            ci_low=ci_low,
            ci_high=ci_high,
            n=estimate.n,
            reason=str(self._reason(on_task) or ""),
            task=on_task.task,
            treatment=str(on_task.treatment or ""),
            resolution=binding_resolution(estimate),
            unequal_runs=as_text(on_task.unequal_runs),
        )

    def _reason(self, on_task: ClaimOnTask) -> Reason | None:
        """Returns why the claim is open, with the seeds that would settle it; None where it is decided.

        Of a supported likeness, the share of runs that may fail without having been seen.
        """
        estimate = on_task.estimate
        if self.decided:
            supported = self.judged.outcome == "supported"
            if supported and is_likeness(self.claim.kind) and not self.measured and _repeats_runs(estimate):
                return Reason("unseen", {"failures": unseen(estimate.n)})
            return None
        why = on_task.judged.reason or self.judged.why
        if self.measured:
            return why
        if on_task.is_seedless and why == Reason("open"):
            return Reason("seedless")
        margin, x = _to_be_shown(self.claim, estimate.mean)
        return with_seeds(why, estimate, alpha=on_task.judged.alpha, margin=margin, x=x)


def _repeats_runs(estimate: Estimated) -> bool:
    differences = main_estimate(estimate)
    return isinstance(differences, Differences) and differences.unit in RUNS


def _to_be_shown(claim: Claim, mean: float) -> tuple[float | None, float | None]:
    """Returns the margin that a difference of this mean must be shown to lie within, and the value to differ from.

    Either is None where it decides nothing.
    """
    match claim.kind:
        case "beats" | "interaction" | "gains":
            return None, claim.by
        case "matches":
            inside = abs(mean) < claim.by
            return claim.by, None if inside else math.copysign(claim.by, mean)
        case "does_not_lose":
            return None, -claim.by
        case _:
            assert_never(claim.kind)


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of claims, in the order of the study, with the columns of `ClaimRow`."""
    runs = runs_of(evidence)
    return frame_of_rows([judged_claim(runs, claim).row() for claim in runs.facts.claims], ClaimRow)


def judged_claim(runs: Runs, claim: Claim) -> JudgedClaim:
    """Returns a claim at the look that decides it, else at the last look of its runs."""
    measures = measures_of(claim, runs.facts)
    measured = any(measure.kind == "ratio" for measure in measures)
    runs_by_look: Iterable[tuple[Look, Runs]]
    if measured:
        runs_by_look = [(Look(number=1, count=1, seeds=len(runs.facts.seeds)), runs)]
    else:
        runs_by_look = at_looks(runs, [(measure.task, claim.variants) for measure in measures])
    plan = runs.facts.plan_mark(claim.variants, claim.metric)
    for look, runs_at_look in runs_by_look:
        alpha = alpha_at(runs, look)
        tasks = [_on_task(runs_at_look, claim, measure, alpha) for measure in measures]
        judged = JudgedClaim(claim, look, tasks, plan, measured)
        if judged.decided:
            break
    return judged


def _on_task(runs: Runs, claim: Claim, measure: Measure, alpha: float) -> ClaimOnTask:
    """Returns what the runs say of a claim on the task of the measure."""
    x = claim.by
    slack = 0.0
    if measure.kind == "ratio" and measure.estimator is not None:
        # X is a share: A beats B by 0.1 where B takes more than 1.1 times what A takes.
        x = math.log1p(claim.by)
        slack = measure.estimator.slack(measure, runs)
    estimate = measure.estimate(runs, claim.sides)
    judged = judge(estimate, claim.kind, x=x, alpha=alpha, slack=slack)
    return ClaimOnTask(
        task=measure.task.name,
        estimate=estimate,
        judged=judged,
        treatment=_treatment(runs, claim, measure),
        unequal_runs=_unequal_runs(runs, claim, measure),
        is_seedless=are_seedless(runs, claim.variants, measure.task),
    )


def _unequal_runs(runs: Runs, claim: Claim, measure: Measure) -> list[UnequalRun]:
    """Returns the runs of all sides of a claim that trained for another length; none of what is timed."""
    if measure.kind == "ratio":
        return []
    return treatments_of(runs.evidence).unequal_runs(claim.variants, measure.task.name)


def _treatment(runs: Runs, claim: Claim, measure: Measure) -> Treatment | None:
    """Returns how differently the sides of a claim were treated; None of what is timed, and of interactions."""
    if measure.kind == "ratio" or claim.kind == "interaction":
        return None
    return treatments_of(runs.evidence).between(claim.a, claim.b, measure.task.name)
