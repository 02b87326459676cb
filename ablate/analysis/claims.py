"""The verdicts of a study's claims, by the one judge.

`A beats B by more at P = y than at P = x` is a plain `beats` about the difference of differences of each seed. A claim
over several tasks is judged on each, or by one number over them, as the study says (`core.over`). A claim about time or
memory is judged on each, with the noise floor of the measurement as slack, on logs of ratios.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

import pandas as pd

from ablate.analysis.agreeing import Estimated, binding_resolution, main_estimate
from ablate.analysis.alike import are_seedless
from ablate.analysis.claim_families import outcomes_in_order
from ablate.analysis.compare import with_seeds
from ablate.analysis.contrast import unseen
from ablate.analysis.family import alpha_of_claim, measures_of, place_of
from ablate.analysis.judge import ALPHA, Judged, judge
from ablate.analysis.looks import Look, at_looks
from ablate.analysis.measure import Measure
from ablate.analysis.over_conditions import EveryClaim, claim_in_every
from ablate.analysis.over_tasks import OverTasks, Sum, has_both_signs
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.runs import Runs, runs_of
from ablate.analysis.treatments import treatments_of
from ablate.core.facts import Claim, ClaimKind, Evidence, StudyFacts, is_likeness
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
    """The task that decides the claim or, of one number over conditions, how they are taken together.

    Of more in one condition than in another the former; empty where no task can tell the claim.
    """
    plan: str
    """`changed` or `added` where its runs are not as first planned, before results; else empty."""
    treatment: str = ""
    """The difference in treatment of its sides, as text of `core.treatment`; empty where alike, or not of two sides."""
    resolution: float = NAN
    """The step of the metric, where it counts as the standard deviation of differences that vary by less; else NaN."""
    unequal_runs: str = ""
    """Runs that trained for another length than the others of their variant, as text of `core.unequal_run`."""


@dataclass(frozen=True)
class ClaimAt:
    """The judgement of a claim by one estimate at one look: on a task, or over conditions."""

    place: str
    """The task or, of several, how they are taken together."""
    tasks: Sequence[str]
    estimate: Estimated
    x: float
    """What the claim names, in the units of the estimate."""
    judged: Judged
    treatment: Treatment | None
    """The first difference in how the sides were treated; None where they were alike."""
    unequal_runs: Sequence[UnequalRun] = ()
    """The runs that ended before the others of their variant, or after them."""
    is_seedless: bool = False
    """Whether more seeds would show nothing new."""
    must_agree: tuple[bool, bool] = (False, False)
    """As `Judged.must_agree`; both of an estimate to which each side is added on some tasks and not on others."""
    unit: float = 1.0
    """The number of units that are shown in one of the estimate."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim at the look that decides it, else at the last of its runs."""

    claim: Claim
    look: Look
    places: Sequence[ClaimAt]
    plan: str
    """The mark of its variants in a plan that was changed after results; see `PlanChanges.mark`."""
    measured: bool
    """Whether the estimates are logs of ratios, shown as shares.

    The processes of a measurement are looked at once, whatever seeds do.
    """
    is_reached: bool = True
    """Whether it gets a verdict: of claims in order, whether all before it are decided."""

    @cached_property
    def _in_every(self) -> EveryClaim | None:
        """The judgement at all places together; None where no task can tell it."""
        by_place = {at.place: at.judged for at in self.places}
        return claim_in_every(by_place) if by_place else None

    @property
    def judged(self) -> Judged:
        """The judgement at all places together, whether or not it is reached."""
        if self._in_every is None:
            return Judged(1.0, 1.0, ALPHA, Reason("unknown"))
        return self._in_every.judged

    @property
    def settled(self) -> bool:
        """True where the numbers decide the claim at this look, whether or not it is reached."""
        return self.judged.outcome != "inconclusive"

    @property
    def decided(self) -> bool:
        """True where the claim is supported or refuted at this look."""
        return self.is_reached and self.settled

    @property
    def open(self) -> bool:
        """True where more seeds may decide the claim: no trial failed or is missing."""
        if self.settled or self.measured:
            return False
        reasons = [at.judged.why for at in self.places]
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
        if self._in_every is None:
            return row
        (at,) = [at for at in self.places if at.place == self._in_every.deciding]
        estimate = at.estimate
        diff = estimate.mean * at.unit
        ci_low, ci_high = estimate.interval(at.judged.alpha) or (NAN, NAN)
        ci_low *= at.unit
        ci_high *= at.unit
        if self.measured:
            diff = math.expm1(diff)
            ci_low = math.expm1(ci_low)
            ci_high = math.expm1(ci_high)
        return replace(
            row,
            verdict=self.judged.outcome if self.is_reached else "inconclusive",
            diff=diff,
            ci_low=ci_low,
            ci_high=ci_high,
            n=estimate.n,
            reason=str(self._reason(at) or ""),
            task=at.place,
            treatment=str(at.treatment or ""),
            resolution=binding_resolution(estimate) * at.unit,
            unequal_runs=as_text(at.unequal_runs),
        )

    def _reason(self, at: ClaimAt) -> Reason | None:
        """Returns why the claim is open, with the seeds that would settle it; None where it is decided.

        Of a supported likeness, the share of runs that may fail without having been seen.
        """
        estimate = at.estimate
        if not self.is_reached:
            return Reason("not_tested")
        if self.decided:
            supported = self.judged.outcome == "supported"
            if supported and is_likeness(self.claim.kind) and not self.measured and _repeats_runs(estimate):
                return Reason("unseen", {"failures": unseen(estimate.n)})
            return None
        why = at.judged.reason or self.judged.why
        if self.measured:
            return why
        if at.is_seedless and why == Reason("open"):
            return Reason("seedless")
        margin, x = _to_be_shown(self.claim.kind, at.x, estimate.mean)
        return with_seeds(why, estimate, alpha=at.judged.alpha, margin=margin, x=x)


def _repeats_runs(estimate: Estimated) -> bool:
    differences = main_estimate(estimate)
    return isinstance(differences, Differences) and differences.unit in RUNS


def _to_be_shown(kind: ClaimKind, x: float, mean: float) -> tuple[float | None, float | None]:
    """Returns the margin that a difference of this mean must be shown to lie within, and the value to differ from.

    Either is None where it decides nothing. x: what the claim names.
    """
    match kind:
        case "beats" | "interaction" | "gains":
            return None, x
        case "matches":
            inside = abs(mean) < x
            return x, None if inside else math.copysign(x, mean)
        case "does_not_lose":
            return None, -x
        case _:
            assert_never(kind)


def judge_claims(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of claims, in the order of the study, with the columns of `ClaimRow`."""
    return frame_of_rows([judged.row() for judged in judged_claims(runs_of(evidence))], ClaimRow)


def judged_claims(runs: Runs) -> list[JudgedClaim]:
    """Returns the claims of a study in its order, each at the look that decides it, else at the last of its runs."""
    judged = [judged_claim(runs, claim) for claim in runs.facts.claims]
    if runs.facts.family != "ordered":
        return judged
    in_order = [one for one in judged if not one.claim.exploratory]
    outcomes = outcomes_in_order([one.judged for one in in_order])
    not_reached = [
        one.claim for one, outcome in zip(in_order, outcomes, strict=True) if outcome == "not_tested"
    ]
    return [replace(one, is_reached=one.claim not in not_reached) for one in judged]


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
    how = None if measured else _sum_of(claim, runs.facts)
    for look, runs_at_look in runs_by_look:
        alpha = alpha_of_claim(runs, claim, look)
        if how is None:
            places = _on_each_task(runs_at_look, claim, measures, alpha)
        else:
            places = _over_conditions(runs_at_look, claim, measures, how, alpha)
        judged = JudgedClaim(claim, look, places, plan, measured)
        if judged.decided:
            break
    return judged


def _sum_of(claim: Claim, facts: StudyFacts) -> Sum | None:
    """Returns how conditions are added to the number that a claim is about; None where it is judged in each."""
    if claim.kind == "gains":
        return "trend"
    if claim.less is not None and claim.less.condition:
        return "by_more"
    match facts.over.form:
        case "each" | "every":
            return None
        case "mean" | "sample":
            return None if claim.condition else facts.over.form
        case _:
            assert_never(facts.over.form)


def _on_each_task(runs: Runs, claim: Claim, measures: Sequence[Measure], alpha: float) -> list[ClaimAt]:
    """Returns what the runs say of a claim on the task of each measure."""
    places = []
    for measure in measures:
        estimate = measure.estimate(runs, claim.sides)
        x = claim.by
        slack = 0.0
        if measure.kind == "ratio" and measure.estimator is not None:
            # X is a share: A beats B by 0.1 where B takes more than 1.1 times what A takes.
            x = math.log1p(claim.by)
            slack = measure.estimator.slack(measure, runs)
        judged = judge(estimate, claim.kind, x=x, alpha=alpha, slack=slack)
        at = _at(runs, claim, [measure], measure.task.name, estimate=estimate, x=x, judged=judged)
        places.append(at)
    return places


def _over_conditions(
    runs: Runs, claim: Claim, measures: Sequence[Measure], how: Sum, alpha: float
) -> list[ClaimAt]:
    """Returns what the runs say of a claim by one number over conditions; nothing where no task can tell it."""
    if not measures:
        return []
    place = place_of(claim, runs.facts)
    if how == "by_more":
        # The condition in which A beats B by more comes first.
        measures = sorted(measures, key=lambda measure: measure.task.name != claim.condition)
        place = claim.condition
    over = OverTasks(runs, measures, [claim.a, claim.b] if how == "by_more" else claim.sides)
    estimate = over.estimate(how)
    x = over.scaled(claim.by)
    judged = judge(estimate, claim.kind, x=x, alpha=alpha)
    at = _at(runs, claim, measures, place, estimate=estimate, x=x, judged=judged)
    must_agree = judged.must_agree
    if has_both_signs(how):
        must_agree = (any(must_agree), any(must_agree))
    return [replace(at, must_agree=must_agree, unit=over.unit)]


def _at(
    runs: Runs,
    claim: Claim,
    measures: Sequence[Measure],
    place: str,
    *,
    estimate: Estimated,
    x: float,
    judged: Judged,
) -> ClaimAt:
    """Returns a judgement with what is known of the runs on its tasks."""
    unequal_runs: list[UnequalRun] = []
    treatments: list[Treatment | None] = []
    for measure in measures:
        unequal_runs += _unequal_runs(runs, claim, measure)
        treatments.append(_treatment(runs, claim, measure))
    return ClaimAt(
        place,
        [measure.task.name for measure in measures],
        estimate,
        x,
        judged,
        treatment=next(filter(None, treatments), None),
        unequal_runs=unequal_runs,
        is_seedless=all(are_seedless(runs, claim.variants, measure.task) for measure in measures),
        must_agree=judged.must_agree,
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
