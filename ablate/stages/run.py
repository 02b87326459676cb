"""The stages of a run between its lock and its exit: date claims, search, train, judge, publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from itertools import islice

from rich.console import Console

from ablate.base.errors import StoreError
from ablate.core.cell import Cell
from ablate.core.events import everyone
from ablate.core.record import Record
from ablate.execution.driver import drive
from ablate.execution.local_pool import Standby
from ablate.execution.progress import Display
from ablate.records.folder import Kind, StudyFolder
from ablate.records.store import Store
from ablate.records.trials import whereabouts
from ablate.search.importances import importances
from ablate.stages.cached import remember
from ablate.stages.cautions import cautions
from ablate.stages.claims import date_claims
from ablate.stages.engine import number_of_jobs, open_engine, preload, reference
from ablate.stages.expect import seconds_each
from ablate.stages.gather import comparable
from ablate.stages.judge import work_of
from ablate.stages.options import Options, Outcome
from ablate.stages.publish import describe, print_places, print_table, publish
from ablate.stages.search import SearchStage, for_sweep
from ablate.stages.stress import stressed
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.resolved import resolved_text
from ablate.tracking.tracker import Tracker

Say = Callable[[str], None]
MAX_FAILED = 12
"""The most failed trials that a run names when it ends."""


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
    """Searches, trains and reports what is missing of a matched study; the caller holds its lock."""
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
    jobs, devices = number_of_jobs(experiment, options.jobs)
    with closing(search) if search is not None else nullcontext():
        planned = experiment.cells() if search is None else []
        planned += stressed(experiment, planned) if search is None else []
        begun = search is not None and search.begun
        claims = date_claims(folder, given.claims, planned, store, begun)
        folder.begin(resolved_text(experiment, folder.path), planned)
        with Tracker(folder, store, describe, options.tracking_uri, warn) as tracker:
            walk = Walk(experiment) if experiment.walks else None
            at_most = search is not None or walk is not None or bool(study.seeds.looks)
            display = Display(console, study.name, experiment.metric, jobs, at_most=at_most)
            with open_engine(experiment, where, jobs, devices, ready) as engine, display:
                listen = everyone(tracker, display, preload)
                table = None
                if search is not None:
                    if not search.over:
                        places = [(one.variant, one.task) for one in search.searches]
                        total, table = search.plan.left + search.later, search.table()
                        display.expected = seconds_each(experiment, places, total, engine, jobs, store, table)
                    tried = search.run(engine, store, listen, fail_fast=options.fail_fast)
                    table = search.table()
                    if not search.over:
                        if not folder.has_report:  # the table of a report is kept with the report
                            folder.save_search_table(search.kind, table)
                        cells = [cell for _, cell in table.cells(swept=kind == "sweep")]
                        failed = _failed(cells, tried, folder, warn)
                        say("The search is incomplete; run the same command to continue it.")
                        return Outcome(folder.path, failed, display.done)
                if walk is not None:
                    steps = drive(
                        walk,
                        engine,
                        store,
                        listen,
                        later=walk.later,
                        fresh=options.fresh,
                        fail_fast=options.fail_fast,
                    )
                    folder.roster.add(walk.cells)
                    if not walk.over:
                        say("The path is incomplete; run the same command to continue it.")
                        return Outcome(folder.path, _failed(walk.cells, steps, folder, warn), display.done)
                    experiment = walk.walked
                work = work_of(experiment, kind, table, claims, say)
                work = replace(work, tried=walk.cells) if walk is not None else work
                folder.roster.add(work.everything)
                wanted = work.wanted(options)
                if search is None:
                    todo = {c.id: (c.variant, c.task) for c in work.everything if wanted(c)}
                    if not options.fresh:
                        todo = {i: place for i, place in todo.items() if not store.has(i)}
                    display.expected = seconds_each(
                        experiment, [*todo.values()], len(todo), engine, jobs, store
                    )
                plan = work.plan(study.seeds)
                records = drive(
                    plan,
                    engine,
                    store,
                    listen,
                    wanted=wanted,
                    fresh=options.fresh,
                    fail_fast=options.fail_fast,
                )
            planned_work, work = work, work.after(plan)
            if display.done:
                say("Comparing, and writing the report …")
            if kind is None or table is None:
                folder.forget_search("tuning")
                if study.search is None:
                    folder.forget_search("sweep")
            else:
                if kind == "tuning" and not work.untuned:
                    folder.forget_search(kind)  # with the untuned variants of an earlier report
                folder.save_search_table(kind, table)
                if kind == "sweep":
                    folder.save_importances(importances(table))
            paired = comparable(work.everything, records, warn)
            work.save_evidence(folder, environment, paired)
            publish(folder, warn, lambda: print_table(folder, console))
            print_places(folder, console, options.tracking_uri)
            # The study keeps its own variants after a sweep, and settings that the storage has beyond this run's.
            kept = [*planned_work.everything, *given.cells()]
            try:
                if options.partial:
                    folder.roster.add(kept)
                else:
                    folder.roster.close(kept, search.ids() if search is not None else ())
            except StoreError as error:
                warn(f"{error}. The roster keeps what it had, and no trial is lost")
            tracked = tracker.finish()
    found = {cell.id: records[cell.id] for cell in work.everything if cell.id in records}
    asked = [*work.cells, *work.stressed]
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in asked)
    failures = any(record.status == "failed" for record in found.values())
    whole = all(cell.id in found for cell in work.everything)
    if tracked and whole and not (missing or failures or options.partial):
        data = {file for cell in work.everything for file in cell.trial.files}
        remember(experiment.path, options, folder, list(found), data, warn)
    failed = _failed(work.everything, found, folder, warn)
    if missing:
        say(f"{missing} of {len(asked)} trials have not been run.")
    return Outcome(folder.path, failed, display.done, missing)


def _failed(
    cells: Sequence[Cell], records: Mapping[str, Record], folder: StudyFolder, warn: Say
) -> list[str]:
    """Warns of the failed trials, and returns the first of their cells with the reason."""
    names = {cell.id: cell.name for cell in reversed(cells)}
    failed = {i: record.reason for i, record in records.items() if record.status == "failed"}
    for i, reason in islice(failed.items(), MAX_FAILED):
        warn(f"failed: {names.get(i, i)}: {reason} ({whereabouts(i, folder.results)})")
    if len(failed) > MAX_FAILED:
        warn(f"failed: {len(failed) - MAX_FAILED} more; {folder.report_file} names every one")
    return [f"{names.get(i, i)}: {reason}" for i, reason in failed.items()]
