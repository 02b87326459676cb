"""The stages of a run between its lock and its exit: date claims, search and train, time, judge, publish."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console

from ablate.base.errors import StoreError
from ablate.execution.local_pool import Standby
from ablate.records.folder import Kind, StudyFolder
from ablate.records.store import Store
from ablate.stages.cached import remember
from ablate.stages.cautions import cautions
from ablate.stages.claims import date_claims
from ablate.stages.engine import reference
from ablate.stages.gather import comparable
from ablate.stages.options import Options, Outcome
from ablate.stages.publish import print_places, print_table, publish
from ablate.stages.search import SearchStage, for_sweep
from ablate.stages.speed import was_timed
from ablate.stages.stress import stressed
from ablate.stages.timing import time_variants
from ablate.stages.track import Tracker
from ablate.stages.train import Trained, failed, train
from ablate.study.experiment import Experiment
from ablate.study.given import resolved_text
from ablate.study.schema import StudyBase

Say = Callable[[str], None]


def run(
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    options: Options,
    console: Console,
    ready: Standby,
    say: Say,
    warn: Say,
) -> Outcome:
    """Searches, trains, times and reports what is missing of a matched study; the caller holds its lock."""
    given, study = experiment, experiment.study
    kind: Kind | None = "sweep" if options.sweep else "tuning" if experiment.tune is not None else None
    if kind == "sweep":
        experiment = for_sweep(experiment, say)
    elif experiment.search is not None:
        say("note: only `ablate sweep` uses `search:`; this run and its report ignore it.")
    if kind is None:
        experiment = experiment.settling([variant.name for variant in experiment.variants])
    search = SearchStage(experiment, kind, folder, store, options, say) if kind is not None else None
    for caution in cautions(experiment):
        say(f"note: {caution}.")
    where = reference(experiment)
    environment = where.environment()
    planned = experiment.cells() if search is None else []
    planned += stressed(experiment, planned) if search is None else []
    begun = search is not None and search.begun
    # What a search chooses is not known yet; its learning rate costs no time.
    known = kind is None and study.speed is not None and was_timed(experiment, store, study.speed)
    claims = date_claims(folder, given.claims, planned, store, begun, known)
    folder.begin(resolved_text(experiment, folder.path), planned)
    with Tracker(folder, options.tracking_uri, warn) as tracker:
        trained = train(
            experiment, claims, search, folder, store, options, where, ready, tracker, console, say, warn
        )
        if isinstance(trained, Outcome):
            return trained
        work, records = trained.work, trained.records
        halted = options.fail_fast and any(record.status == "failed" for record in records.values())
        if measures := study.speed is not None and not options.partial and not halted:
            tracker.rest()
        timed = time_variants(
            work.experiment, folder, store, where, say, warn, measures=measures, fresh=options.fresh
        )
        tracker.prepare()
        if trained.count:
            say("Comparing, and writing the report …")
        _keep_search(trained, kind, study, folder)
        paired = comparable(work.everything, records, warn)
        work.save_evidence(folder, environment, paired, timed)
        publish(folder, warn, lambda: print_table(folder, console))
        print_places(folder, console, options.tracking_uri)
        # The study keeps its own variants after a sweep.
        kept = [*trained.planned.everything, *given.cells()]
        try:
            if options.partial:
                folder.roster.add(kept)
            else:
                folder.roster.close(kept)
        except StoreError as error:
            warn(f"{error}. The roster keeps what it had, and no trial is lost")
        tracked = tracker.finish()
    found = {cell.id: records[cell.id] for cell in work.everything if cell.id in records}
    asked = [*work.cells, *work.stressed]
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in asked)
    failures = any(record.status == "failed" for record in found.values())
    whole = timed.whole and all(cell.id in found for cell in work.everything)
    if tracked and whole and not (missing or failures or options.partial):
        data = {file for cell in work.everything for file in cell.trial.files}
        remember(experiment.path, options, folder, list(found), [*data, *map(str, timed.files)], warn)
    lost = failed(work.everything, found, folder, warn)
    if missing:
        say(f"{missing} of {len(asked)} trials have not been run.")
    return Outcome(folder.path, lost, trained.count, missing)


def _keep_search(trained: Trained, kind: Kind | None, study: StudyBase, folder: StudyFolder) -> None:
    """Writes the settings that were tried, and removes those of a search that the study no longer has."""
    if kind is None or trained.table is None:
        folder.forget_search("tuning")
        if study.search is None:
            folder.forget_search("sweep")
        return
    if kind == "tuning" and not trained.work.untuned:
        folder.forget_search(kind)  # with the untuned variants of an earlier report
    folder.save_search_table(kind, trained.table)
