"""`ablate bench`: times the variants of a study, adds what it found to the report of the study, and trains nothing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from ablate.base.errors import Problem, StudyError, listed
from ablate.base.locks import Say, exclusive
from ablate.base.process import interruptible, now
from ablate.core.derived import CALL_OF, is_measured
from ablate.core.facts import Evidence
from ablate.pipeline.claims import date_claims
from ablate.pipeline.gather import gather
from ablate.pipeline.place import source_of
from ablate.pipeline.prepare import reread
from ablate.pipeline.publish import publish
from ablate.pipeline.reported import as_reported
from ablate.pipeline.trial_plan import with_stages
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.session.workers import reference
from ablate.stages.speed.section import SpeedConfig, SpeedSection, lacks_operations
from ablate.stages.speed.timing import Timing, was_timed
from ablate.study.facts import facts_of
from ablate.study.files import resolved_text
from ablate.study.stage_config import config_of
from ablate.study.study import Study


def bench(path: Path, options: Options, processes: int | None, say: Say, warn: Say) -> StudyFolder:
    """Times what is missing of a study, writes its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. `processes`:
    their number, in place of the study's. Raises `StudyError` where nothing can be timed at all, and
    `CannotBeTimedError` for a variant.
    """
    given, stages, folder = reread(path, options)
    if rule := lacks_operations(given.workload):
        raise StudyError(
            [
                Problem(
                    rule,
                    ("workload",),
                    hint="Override `operations` of the workload",
                    source=str(given.path),
                )
            ]
        )
    section = config_of(given.config, SpeedConfig).speed or SpeedSection()
    if processes is not None:
        section = section.model_copy(update={"processes": processes})
    store = Store(options.results / "store", warn)
    with exclusive(store.root, folder.name, say), interruptible():
        study = given
        if folder.has_trials:
            study, evidence = as_reported(study, folder), folder.evidence()
            _warn_of_stale(evidence.trials, study, warn)
        else:
            evidence = _untrained(study, stages, folder, store, section)
        known = Timing(study, store, section).complete(say, fresh=options.fresh).measurement
        folder.save_evidence(evidence.having("speed", known.frame, known.facts))
        publish(folder, warn)
    return folder


def _warn_of_stale(trials: pd.DataFrame, study: Study, warn: Say) -> None:
    """Names the variants whose reported trials are not what the study would train now."""
    other = ~trials["id"].isin([cell.id for cell in study.cells()])
    if stale := [*trials.loc[other & trials["seed"].isin(study.config.seeds.values), "variant"].unique()]:
        warn(
            f"{listed(stale, 4)}: trained with other sources, versions or device than are timed now, so that speed "
            "and quality are not of the same code; run the study again"
        )


def _untrained(
    study: Study, stages: Sequence[Stage], folder: StudyFolder, store: Store, section: SpeedSection
) -> Evidence:
    """That of a study that was never run, with its claims about speed; all of its claims get their dates."""
    names = {variant.name for variant in study.variants}
    claims = date_claims(folder, study.claims, CALL_OF if was_timed(study, store, section) else ())
    folder.begin(resolved_text(study, folder.path), [])
    own = [claim for claim in claims if is_measured(claim) and {*claim.variants} <= names]
    facts = facts_of(study, own, reference(study).environment())
    facts = replace(facts, source=source_of(study.path, folder), reported=now())
    return with_stages(gather(facts, [], {}), study, stages, [], {})
