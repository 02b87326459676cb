"""The verdicts of a study's claims, by the one judge.

`A beats B by more at P = y than at P = x` is a plain `beats` about the difference of differences of each seed. A claim
over several tasks is judged on each, or by one number over them, as the study says (`core.over`). A claim about time or
memory is judged on each, with the noise floor of the measurement as slack, on logs of ratios.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

import pandas as pd

from ablate.analysis.agreeing import Estimated
from ablate.analysis.alike import are_seedless
from ablate.analysis.claim_families import outcomes_in_order
from ablate.analysis.claim_row import ClaimRow
from ablate.analysis.family import alpha_of_claim, measures_of, place_of
from ablate.analysis.judge import Judged, judge
from ablate.analysis.judged_claim import ClaimAt, JudgedClaim
from ablate.analysis.learning import improving_sides
from ablate.analysis.looks import Look, at_looks
from ablate.analysis.measure import Measure
from ablate.analysis.over_tasks import OverTasks, Sum, has_both_signs
from ablate.analysis.runs import Runs, runs_of
from ablate.analysis.treatments import treatments_of
from ablate.core.facts import Claim, Evidence, StudyFacts
from ablate.core.improving_side import ImprovingSide
from ablate.core.rows import frame_of_rows
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun


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
    """Returns what the runs say of a claim by one number over conditions; nothing where no task can tell it, or one of
    two that it is about cannot.
    """
    if not measures or (how == "by_more" and len(measures) < 2):
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
    improving: list[ImprovingSide] = []
    treatments: list[Treatment | None] = []
    for measure in measures:
        unequal_runs += _unequal_runs(runs, claim, measure)
        improving += _improving(runs, claim, measure)
        treatments.append(_treatment(runs, claim, measure))
    return ClaimAt(
        place,
        [measure.task.name for measure in measures],
        estimate,
        x,
        judged,
        treatment=next(filter(None, treatments), None),
        unequal_runs=unequal_runs,
        improving=improving,
        is_seedless=all(are_seedless(runs, claim.variants, measure.task) for measure in measures),
        must_agree=judged.must_agree,
    )


def _unequal_runs(runs: Runs, claim: Claim, measure: Measure) -> list[UnequalRun]:
    """Returns the runs of all sides of a claim that trained for another length; none of what is timed."""
    if measure.kind == "ratio":
        return []
    return treatments_of(runs.evidence).unequal_runs(claim.variants, measure.task.name)


def _improving(runs: Runs, claim: Claim, measure: Measure) -> list[ImprovingSide]:
    """Returns the variants of a claim that were still improving when training ended; none of what is timed."""
    if measure.kind == "ratio":
        return []
    return improving_sides(runs, claim.variants, [measure.task.name])


def _treatment(runs: Runs, claim: Claim, measure: Measure) -> Treatment | None:
    """Returns how differently the sides of a claim were treated; None of what is timed, and of interactions."""
    if measure.kind == "ratio" or claim.kind == "interaction":
        return None
    return treatments_of(runs.evidence).between(claim.a, claim.b, measure.task.name)
