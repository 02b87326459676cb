"""`ablate bench`: times the variants of a study, adds what it found to the report of the study, and trains nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from ablate.base.clock import now
from ablate.base.errors import AblateError, Problem, StudyError, listed
from ablate.base.locks import exclusive, interruptible
from ablate.base.typed import at_results, typed
from ablate.core.evidence import Evidence
from ablate.core.facts import Claim
from ablate.features.speed.checks import lacks_operations
from ablate.features.speed.ratios import METRICS
from ablate.features.speed.section import SpeedSection
from ablate.features.speed.stage import measure, speed_facts, was_timed
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.cached import staying_current
from ablate.stages.choose import as_reported, study_path
from ablate.stages.claims import date_claims, is_measured
from ablate.stages.confirm import changed, confirming
from ablate.stages.engine import reference
from ablate.stages.gather import gather
from ablate.stages.options import Options
from ablate.stages.place import place, refuse_another, reported, source_of
from ablate.stages.publish import publish
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of
from ablate.study.given import resolved_text
from ablate.study.prepare import prepare
from ablate.study.sections.seeds import PILOT_SEEDS_FROM, TUNING_SEEDS_FROM

Say = Callable[[str], None]


class NotTimedError(AblateError):
    """A variant that cannot be timed."""

    exit_code = 1


def bench(path: Path, options: Options, processes: int | None, say: Say, warn: Say) -> StudyFolder:
    """Times what is missing of a study, writes its report, and returns its folder.

    `path` is a study file, or the name of a study or its results folder: then it is taken as it was run. `processes`:
    their number, in place of the study's. Raises `NotTimedError`, and `StudyError` where nothing can be timed at all.
    """
    path, results = study_path(path, options.results), options.results
    prepared = prepare(path, options.sets)
    refuse_another(prepared, results)
    given = confirming(prepared, results)
    section = _section(given, processes)
    # How variants are timed changes nothing of what is reported beside.
    folder, differs = place(given.document, options, beside="speed")
    facts = reported(folder)
    as_run = Options(results=results, sweep=facts is not None and facts.searched == "sweep")
    store = Store(results / "store", warn)
    with (
        exclusive(store.root, folder.name, say),
        interruptible(),
        staying_current(folder, path, as_run),
    ):
        experiment = given.reporting(folder.name, differs)
        trained = folder.has_trials
        experiment = _as_reported(experiment, folder) if trained else experiment
        if stale := _trained_otherwise(experiment, folder) if trained else []:
            warn(
                f"{listed(stale, 4)}: trained with other sources, versions or device than are timed now, so that speed "
                "and quality are not of the same code; run the study again"
            )
        ran = {cell.variant for cell in experiment.cells() if store.has(cell.id)}
        timed = METRICS if was_timed(experiment, store, section) else ()
        claims = date_claims(folder, given.claims, ran, timed, begun=_has_searched(folder, store))
        if not trained:
            folder.begin(resolved_text(experiment, folder.path), [])
        try:
            frame = measure(experiment, store, section, say, fresh=options.fresh)
        except AblateError as error:
            raise NotTimedError(str(error)) from error
        evidence = _evidence(experiment, claims, folder)
        folder.save_evidence(evidence.having("speed", frame, asdict(speed_facts(experiment, section))))
        publish(folder, warn)
    return folder


def _has_searched(folder: StudyFolder, store: Store) -> bool:
    """Whether some setting of a search was trained, so that a claim could have been read from it."""
    cells = folder.roster.cells()
    return any(TUNING_SEEDS_FROM <= cell.seed < PILOT_SEEDS_FROM and store.has(cell.id) for cell in cells)


def _section(experiment: Experiment, processes: int | None) -> SpeedSection:
    """How the variants are timed. Raises `StudyError` where they cannot be."""
    if rule := lacks_operations(experiment.workload, experiment.study):
        hint = "Override `operations` of the workload"
        raise StudyError([Problem(rule, ("workload",), hint=hint, source=str(experiment.path))])
    section = experiment.study.section("speed") or SpeedSection()
    return section if processes is None else section.model_copy(update={"processes": processes})


def _as_reported(experiment: Experiment, folder: StudyFolder) -> Experiment:
    """The study with the variants of its report. Raises `AblateError` where it is another study by now."""
    again = typed("bench", folder.name, *at_results(folder.results))
    differing = changed(experiment, folder)
    found = as_reported(experiment, folder)
    there, here = ({v.name for v in of if not v.placebo} for of in (folder.facts().variants, found.variants))
    if differing or there != here:
        where = f", in {listed(differing or sorted(there ^ here))}"
        raise AblateError(
            f"{experiment.path}: differs from the study that {folder.path} reports{where}; run it again first, or time "
            f"it as it was run: {again}"
        )
    return found


def _trained_otherwise(experiment: Experiment, folder: StudyFolder) -> list[str]:
    """The variants whose reported trials are not those that the study would train now."""
    asked, trials = {(c.variant, c.task, c.seed): c.id for c in experiment.cells()}, folder.evidence().trials
    cells = zip(trials["variant"], trials["task"], trials["seed"], trials["id"], strict=True)
    return [*dict.fromkeys(v for v, task, seed, trial in cells if asked.get((v, task, seed), trial) != trial)]


def _evidence(experiment: Experiment, claims: Sequence[Claim], folder: StudyFolder) -> Evidence:
    """That of the report, or of a study that was never run; with the claims about speed."""
    names = {variant.name for variant in experiment.variants}
    own = [claim for claim in claims if is_measured(claim) and {*claim.variants} <= names]
    if folder.has_trials:
        evidence = folder.evidence()
        known = {claim.hash for claim in own}
        others = [claim for claim in evidence.facts.claims if claim.hash not in known]
        return replace(evidence, facts=replace(evidence.facts, claims=[*others, *own]))
    environment = reference(experiment).environment()
    facts = facts_of(experiment, own, environment)
    facts = replace(facts, source=source_of(experiment.path, folder), reported=now())
    return gather(facts, [], {})
