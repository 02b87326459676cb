"""Training: what is missing of a search, of a path, and of the trials that verdicts rest on, with one engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from rich.console import Console

from ablate.base.locks import training
from ablate.core.cell import Cell
from ablate.core.claim import Claim
from ablate.core.engine import Engine
from ablate.core.events import Listen, everyone
from ablate.core.record import Record
from ablate.core.search_table import SearchTable
from ablate.execution.driver import drive
from ablate.execution.local_pool import Standby
from ablate.execution.progress import Display
from ablate.execution.trial import WorkloadRef
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trials import whereabouts
from ablate.stages.engine import number_of_jobs, open_engine, preload
from ablate.stages.expect import seconds_each
from ablate.stages.judge import Work, work_of
from ablate.stages.options import Options, Outcome
from ablate.stages.search import SearchStage
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment

Say = Callable[[str], None]
MAX_FAILED = 12
"""The most failed trials that a run names when it ends."""


@dataclass(frozen=True)
class Trained:
    """A study whose trials have been asked for."""

    planned: Work
    work: Work
    "What was trained of it: less where everything was settled before the last seed."
    records: Mapping[str, Record]
    table: SearchTable | None
    "The settings that were tried, where something was searched."
    count: int
    "Trainings of this run."


def train(
    experiment: Experiment,
    claims: Sequence[Claim],
    search: SearchStage | None,
    folder: StudyFolder,
    store: Store,
    options: Options,
    where: WorkloadRef,
    ready: Standby,
    hear: Listen,
    console: Console,
    say: Say,
    warn: Say,
) -> Trained | Outcome:
    """Searches and trains what is missing; when it returns, its workers are gone.

    An `Outcome`, where the search or the path is incomplete, so that there is nothing to judge yet.
    """
    jobs, devices = number_of_jobs(experiment, options.jobs)
    walk, looks = (Walk(experiment) if experiment.walks else None), experiment.study.seeds.looks
    at_most = search is not None or walk is not None or bool(looks)
    display = Display(console, experiment.study.name, experiment.metric, jobs, at_most=at_most)
    with (
        closing(ready),
        training(store.root, folder.name, say),
        open_engine(experiment, where, jobs, devices, ready) as engine,
        display,
    ):
        listen, table = everyone(hear, display, preload), None
        if search is not None:
            tried = _search(search, engine, store, listen, display, options)
            table = search.table()
            if not search.over:
                if not folder.has_trials:  # the table of a report is kept with the report
                    folder.save_search_table(search.kind, table)
                cells = [cell for _, cell in table.cells(swept=search.kind == "sweep")]
                lost = failed(cells, tried, folder, warn)
                say("The search is incomplete; run the same command to continue it.")
                return Outcome(folder.path, lost, display.done)
        if walk is not None:
            fresh, fast = options.fresh, options.fail_fast
            steps = drive(walk, engine, store, listen, later=walk.later, fresh=fresh, fail_fast=fast)
            folder.roster.add(walk.cells)
            if not walk.over:
                say("The path is incomplete; run the same command to continue it.")
                return Outcome(folder.path, failed(walk.cells, steps, folder, warn), display.done)
            experiment = walk.walked
        work = work_of(experiment, search.kind if search is not None else None, table, claims, say)
        work = replace(work, tried=walk.cells) if walk is not None else work
        folder.roster.add(work.everything)
        wanted = work.wanted(options)
        if search is None:
            todo = {c.id: (c.variant, c.task) for c in work.everything if wanted(c)}
            places = [place for i, place in todo.items() if options.fresh or not store.has(i)]
            display.expected = seconds_each(experiment.cells(), places, store)
        plan = work.plan(experiment.study.seeds)
        records = drive(
            plan, engine, store, listen, wanted=wanted, fresh=options.fresh, fail_fast=options.fail_fast
        )
    return Trained(work, work.after(plan), records, table, display.done)


def _search(
    search: SearchStage, engine: Engine, store: Store, listen: Listen, display: Display, options: Options
) -> Mapping[str, Record]:
    """Tries what is left of a search; the records of its trainings."""
    if not search.over:
        places = [(one.variant, one.task) for one in search.plan.searches]
        display.expected = seconds_each(search.experiment.cells(), places, store, search.table())
    return search.run(engine, store, listen, fail_fast=options.fail_fast)


def failed(cells: Sequence[Cell], records: Mapping[str, Record], folder: StudyFolder, warn: Say) -> list[str]:
    """Warns of the failed trials, and returns the first of their cells with the reason."""
    names = {cell.id: cell.name for cell in reversed(cells)}
    found = {i: record.reason for i, record in records.items() if record.status == "failed"}
    for i, reason in islice(found.items(), MAX_FAILED):
        warn(f"failed: {names.get(i, i)}: {reason} ({whereabouts(i, folder.results)})")
    if len(found) > MAX_FAILED:
        warn(f"failed: {len(found) - MAX_FAILED} more; {folder.report_file} names every one")
    return [f"{names.get(i, i)}: {reason}" for i, reason in found.items()]
