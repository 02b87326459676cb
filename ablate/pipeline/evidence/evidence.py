"""The evidence of a run, and the measurements that stages make after it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base.errors import AblateError
from ablate.base.process import now
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.record import Record
from ablate.core.speed_facts import SpeedFacts
from ablate.pipeline.evidence.code_notes import code_notes, run_records, standing_code_notes
from ablate.pipeline.evidence.comparable import comparable
from ablate.pipeline.evidence.data_splits import with_splits
from ablate.pipeline.evidence.limitations import limitations
from ablate.pipeline.evidence.other_runs import configs_in, other_runs, stored_elsewhere
from ablate.pipeline.evidence.own_inputs import limitations_of_inputs
from ablate.pipeline.evidence.reused import num_reused
from ablate.pipeline.evidence.trained_again import count_superseded
from ablate.pipeline.preregister.dated_plans import plan_changes
from ablate.pipeline.reports.place import source_of
from ablate.pipeline.trial_plan import TrialPlan
from ablate.session.session import Session
from ablate.session.stage import Measurement, Stage
from ablate.stages.speed.stage import SpeedStage
from ablate.study.study import Study


def measure(
    study: Study, stages: Sequence[Stage], session: Session, records: Mapping[str, Record]
) -> list[Measurement]:
    """Returns what stages measure on the idle machine; what fails is a warning.

    A run of some trials alone, or one that was stopped, measures nothing new. A study that no longer asks for its speed
    goes on showing what was timed before.
    """
    has_failed = any(record.status == "failed" for record in records.values())
    is_stopped = session.options.fail_fast and has_failed
    complete = not (session.options.partial or is_stopped)
    measured: list[Measurement] = []
    for stage in stages:
        try:
            measurement = stage.measure(study, session, complete)
        except AblateError as error:
            session.warn(str(error))
            continue
        if measurement is not None:
            measured.append(measurement)
    if not any(isinstance(stage, SpeedStage) for stage in stages):
        measured += _timed_before(study, session)
    return measured


def _timed_before(study: Study, session: Session) -> list[Measurement]:
    """Returns the timings that the store has under the conditions of the last report; none where it had none."""
    from ablate.stages.speed.section import SpeedSection
    from ablate.stages.speed.timing import Timing

    facts = session.folder.reported(SpeedFacts)
    if facts is None:
        return []
    try:
        return [Timing(study, session.store, SpeedSection.of(facts)).measurement]
    except AblateError as error:
        session.warn(str(error))
        return []


def collect(
    plan: TrialPlan, session: Session, records: Mapping[str, Record], measured: Sequence[Measurement]
) -> Evidence:
    """Collects the evidence of a run, with its environment and limitations."""
    facts = _as_reported(plan, session, records)
    evidence = plan.evidence(facts, comparable(plan.used, records, session.warn))
    configs = configs_in(plan.study.judged_variants())
    stored_trials = stored_elsewhere(session.folder, evidence)
    others = other_runs(session.folder, configs, evidence, stored_trials)
    facts = replace(
        evidence.facts,
        provenance=replace(evidence.facts.plan, other_runs=others),
        superseded=count_superseded(
            plan.study, plan.used, records, session.folder, session.store, stored_trials
        ),
    )
    evidence = replace(evidence, facts=facts)
    for measurement in measured:
        if len(measurement.frame):
            evidence = evidence.having(measurement.facts, measurement.frame)
    return evidence


def _as_reported(plan: TrialPlan, session: Session, records: Mapping[str, Record]) -> StudyFacts:
    """Returns the facts of a run, with its environment, limitations, study file and date."""
    study = plan.study
    environment = session.workers.where.environment()
    environments = [record.environment for record in records.values() if record.status == "completed"]
    # Trials may have been trained elsewhere, all of them.
    if environments:
        environment["machine"] = environments[0].get("machine")
    # The kind of a machine tells which trials can be paired, and no more.
    environment.pop("kind", None)
    selects = any(stage.chooses for stage in plan.stages)
    replanned = plan_changes(
        session.folder,
        study.document.data,
        session.store,
        cells=plan.used,
        starts=_starts_of(plan, records),
    )
    facts = plan.facts()
    source = source_of(study.path, session.folder)
    planned = replace(facts.plan, kept=num_reused(records), replanned=replanned, source=source)
    return replace(
        facts,
        provenance=planned,
        tasks=with_splits(facts.tasks, plan.used, records),
        environment=environment,
        cautions=[*limitations(study, selects=selects), *limitations_of_inputs(records)],
        code_notes=standing_code_notes(code_notes(study), run_records(plan.used, records)),
        reported=now(),
    )


def _starts_of(plan: TrialPlan, records: Mapping[str, Record]) -> dict[str, list[str]]:
    """Returns variant → when its judged trials started, without the baseline and its placebo."""
    variants = {variant.name for variant in plan.study.variants[1:] if not variant.placebo}
    starts: dict[str, list[str]] = {}
    for cell in plan.used:
        if cell.judged and cell.variant in variants and cell.id in records:
            starts.setdefault(cell.variant, []).append(records[cell.id].started_at)
    return starts
