"""`ablate bench`: times the variants of a study for its report, and trains nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.base.errors import Problem, StudyError, listed
from ablate.base.locks import Say, exclusive
from ablate.base.process import interruptible, now
from ablate.core.derived import CALL_OF, is_measured
from ablate.core.facts import Evidence
from ablate.pipeline.evidence.from_records import gather
from ablate.pipeline.prepare import reread
from ablate.pipeline.preregister.claims import date_claims, trained_variants
from ablate.pipeline.reporter import write_report
from ablate.pipeline.reports.place import source_of
from ablate.pipeline.reports.reported import as_reported
from ablate.pipeline.trial_plan import with_stages
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.session.workers import reference
from ablate.stages.speed.section import SpeedConfig, SpeedSection, lacks_timing
from ablate.stages.speed.timing import Timing, was_timed
from ablate.study.facts import facts_of
from ablate.study.files import resolved_text
from ablate.study.stage_config import config_of
from ablate.study.study import Study


def bench(
    path: Path,
    options: Options,
    processes: int | None,
    say: Say,
    warn: Say,
    *,
    trust: bool = False,
) -> StudyFolder:
    """Times what is missing of a study, writes its report, and returns its folder.

    path: a study file; or the name of a study or its results folder, which is taken as it was run.

    processes: their number, in place of the study's. trust: whether the code that a results folder names may run.
    Raises `StudyError` where nothing can be timed at all, and `CannotBeTimedError` for a variant.
    """
    given, stages, folder = reread(path, options, trust=trust)
    _refuse_untimeable(given)
    section = config_of(given.config, SpeedConfig).speed or SpeedSection()
    if processes is not None:
        section = section.model_copy(update={"processes": processes})
    store = Store(options.results_folder / "store", warn)
    with exclusive(store.root, folder.name, say), interruptible():
        if folder.has_trials:
            study = as_reported(given, folder)
            evidence = folder.evidence()
            _warn_of_stale(evidence.trials, study, warn)
        else:
            study = given
            evidence = _untrained(study, stages, folder, store=store, section=section)
        measurement = Timing(study, store, section).complete(say, fresh=options.fresh).measurement
        folder.save_evidence(evidence.having(measurement.facts, measurement.frame))
        write_report(folder, warn)
    return folder


def _refuse_untimeable(study: Study) -> None:
    """Raises `StudyError` where nothing of the study's workload can be timed."""
    rule = lacks_timing(study.workload)
    if rule:
        hint = "Override `operations` of the workload"
        raise StudyError([Problem(rule, ("workload",), hint=hint, source=str(study.path))])


def _warn_of_stale(trials: pd.DataFrame, study: Study, warn: Say) -> None:
    """Names the variants whose reported trials are not what the study would train now."""
    is_stale = ~trials["id"].isin([cell.id for cell in study.cells()])
    has_seed = trials["seed"].isin(study.config.seeds.values)
    stale = list(trials.loc[is_stale & has_seed, "variant"].unique())
    if stale:
        warn(
            f"{listed(stale, 4)}: was trained with other sources, versions or another device than is timed now, so "
            "that speed and quality are of different code; run the study again"
        )


def _untrained(
    study: Study, stages: Sequence[Stage], folder: StudyFolder, *, store: Store, section: SpeedSection
) -> Evidence:
    """Dates the claims of a study that was never run, and returns its evidence with those about speed."""
    post_hoc_metrics = CALL_OF if was_timed(study, store, section) else ()
    trained = trained_variants(study, store)
    claims = date_claims(folder, study.claims, post_hoc_metrics, trained)
    folder.begin(resolved_text(study, folder.path))
    names = {variant.name for variant in study.variants}
    about_speed = [claim for claim in claims if is_measured(claim) and names.issuperset(claim.variants)]
    facts = facts_of(study, about_speed, reference(study).environment())
    plan = replace(facts.plan, source=source_of(study.path, folder))
    facts = replace(facts, provenance=plan, reported=now())
    return with_stages(gather(facts, [], {}), study, stages, [], {})
