"""`ablate run`, and `ablate sweep`, which searches first: the stages from a study file to its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.stages.cached import remember, up_to_date
from ablate.stages.options import Options, Outcome
from ablate.stages.publish import describe, print_results, publish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from ablate.core.cell import Cell
    from ablate.core.record import Record
    from ablate.execution.local_pool import Standby
    from ablate.records.folder import Kind, StudyFolder
    from ablate.records.store import Store
    from ablate.study.experiment import Experiment

Say = Callable[[str], None]


class InterruptedRunError(AblateError):
    """Ctrl-C or SIGTERM; says what is kept."""

    exit_code = 130


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Reads, matches, searches, trains, judges and reports what is missing of a study; prints as it goes."""
    say = saying(console)
    cached = up_to_date(path, options)
    if cached is not None:
        say(f"Nothing to train: {cached.path} is up to date with the study, the sources and the records.")
        print_results(cached, console)
        return Outcome(cached.path)
    from ablate.base.collector import uncollected
    from ablate.base.locks import exclusive, interruptible
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.stages.engine import standby
    from ablate.stages.match import match
    from ablate.stages.select import select

    with closing(standby(path, options.jobs)) as ready:
        with uncollected():
            from ablate.study.experiment import prepare

            experiment = prepare(path, options.sets, options.seeds)
        if options.sweep and experiment.search is None:
            hint = "Add it, or use `ablate run`"
            rule = "is required: it says what a sweep looks for"
            raise StudyError([Problem(rule, ("search",), hint=hint, source=str(path))])
        select(experiment.cells(), options.only, options.seed)  # refuses names before anything is written
        store = Store(options.results / "store", saying(console, "warning"))
        folder = StudyFolder(options.results, experiment.study.name)
        with exclusive(store.root, folder.name, say), interruptible():
            experiment = match(experiment, folder, say, fresh=options.fresh)
            with _kept_on_interrupt(experiment, folder, store, options):
                return _run(experiment, folder, store, options, console, ready)


def _run(
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    options: Options,
    console: Console,
    ready: Standby,
) -> Outcome:
    from ablate.core.events import everyone
    from ablate.core.plan import FixedPlan
    from ablate.execution.driver import drive
    from ablate.execution.progress import Display
    from ablate.stages.choose import choose
    from ablate.stages.claims import date_claims
    from ablate.stages.engine import number_of_jobs, open_engine, preload, reference
    from ablate.stages.gather import gather
    from ablate.stages.search import SearchStage, for_sweep
    from ablate.stages.select import select
    from ablate.study.resolved import resolved_text
    from ablate.tracking.tracker import Tracker

    say, warn = saying(console), saying(console, "warning")
    study = experiment.study
    kind: Kind | None = "sweep" if options.sweep else "tuning" if study.tune is not None else None
    if kind == "sweep":
        experiment = for_sweep(experiment, say)
    elif study.search is not None:
        say("note: `search:` is for `ablate sweep`; this run and its report leave it out.")
    if kind is None:
        experiment = experiment.settling([variant.name for variant in experiment.variants])
    searching = SearchStage(experiment, kind, folder, store, options, say) if kind else None
    with closing(searching) if searching else nullcontext():
        planned = [] if searching else experiment.cells()
        begun = searching is not None and searching.begun
        claims = date_claims(folder, experiment.claims, planned, store, begun)
        folder.begin(resolved_text(experiment, folder.path), planned)
        where = reference(experiment)
        jobs, devices = number_of_jobs(experiment, options.jobs)
        with Tracker(folder, store, describe, options.tracking_uri, warn) as tracker:
            metric = study.metric.name or next(iter(experiment.describe(experiment.variants[0])[0].metrics))
            display = Display(console, study.name, metric, jobs, at_most=kind is not None)
            with open_engine(experiment, where, jobs, devices, ready) as engine, display:
                listen = everyone(tracker, display, preload)
                cells, untuned, tried = experiment.cells(), [], []
                table = None
                if searching is not None and kind is not None:
                    records = searching.run(engine, store, listen, fail_fast=options.fail_fast)
                    table = searching.table()
                    if not searching.over:
                        # The table of a report is kept with the report.
                        if not folder.has_report:
                            folder.save_search_table(kind, table)
                        failed = _failed([cell for _, cell in table.cells(swept=kind == "sweep")], records)
                        for line in failed:
                            warn(f"failed: {line}")
                        say("The search is not over; the same command goes on from here.")
                        return Outcome(folder.path, failed, display.done)
                    if kind == "tuning":
                        untuned = [cell for cell in cells if cell.variant in searching.tuned]
                    experiment = choose(experiment, kind, table, say)
                    cells = experiment.cells()
                    tried = [cell for _, cell in table.cells(swept=kind == "sweep")]
                others = [_untuned(cell) for cell in untuned]
                # Variants that were tuned are compared with themselves, so that only the seed is chosen of these.
                asked = [*select(cells, options.only, options.seed), *select(others, seed=options.seed)]
                wanted = {(cell.variant, cell.task, cell.seed) for cell in asked}
                everything = [*cells, *tried, *others]
                folder.roster.add(everything)
                records = drive(
                    FixedPlan(everything),
                    engine,
                    store,
                    listen,
                    wanted=lambda cell: (cell.variant, cell.task, cell.seed) in wanted,
                    fresh=options.fresh,
                    fail_fast=options.fail_fast,
                )
            if display.done:
                say("Comparing, and writing the report …")
            _save_searches(folder, experiment, kind, table)
            if untuned:
                given = gather(searching.experiment.facts([], {}), untuned, records) if searching else None
                assert given is not None
                folder.save_evidence(given, untuned=True)
            settled = {claim.hash for claim in experiment.claims}
            judged = [claim for claim in claims if claim.hash in settled]
            folder.save_evidence(gather(experiment.facts(judged, where.environment()), cells, records))
            publish(folder)
            folder.roster.close(everything)
            tracked = tracker.finish()
    return _conclude(experiment, folder, options, console, everything, cells, records, display.done, tracked)


def _untuned(cell: Cell) -> Cell:
    """A cell of a variant as the study gives it, beside the one that was tuned."""
    variant = f"{cell.variant} untuned"
    name = f"{variant}{cell.name.removeprefix(cell.variant)}"
    return replace(cell, variant=variant, name=name, judged=False)


def _save_searches(folder: StudyFolder, experiment: Experiment, kind: Kind | None, table: object) -> None:
    """The table of the search, with its importances; what a search has left that the study no longer has goes."""
    from ablate.core.search_table import SearchTable

    if isinstance(table, SearchTable) and kind is not None:
        folder.save_search_table(kind, table)
        if kind == "sweep":
            from ablate.search.importances import importances

            folder.save_importances(importances(table))
        return
    if experiment.study.search is None:
        folder.forget_search("sweep")
    if experiment.study.tune is None:
        folder.forget_search("tuning")


def _conclude(
    experiment: Experiment,
    folder: StudyFolder,
    options: Options,
    console: Console,
    everything: Sequence[Cell],
    cells: Sequence[Cell],
    records: Mapping[str, Record],
    trained: int,
    tracked: bool,
) -> Outcome:
    """Prints the verdicts and what is missing."""
    found = {cell.id: records[cell.id] for cell in everything if cell.id in records}
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in cells)
    failed = _failed(everything, found)
    if tracked and not missing and not failed and not options.partial:
        remember(experiment.path, options, folder, list(found))
    print_results(folder, console, options.tracking_uri)
    for line in failed:
        saying(console, "warning")(f"failed: {line}")
    if missing:
        saying(console)(f"{missing} of {len(cells)} trials have not been run.")
    return Outcome(folder.path, failed, trained, missing)


def _failed(cells: Sequence[Cell], records: Mapping[str, Record]) -> list[str]:
    """The failed trials, by the first of their cells, with the reason."""
    names = {cell.id: cell.name for cell in reversed(cells)}
    return [
        f"{names.get(i, i)}: {record.reason}" for i, record in records.items() if record.status == "failed"
    ]


@contextmanager
def _kept_on_interrupt(
    experiment: Experiment, folder: StudyFolder, store: Store, options: Options
) -> Iterator[None]:
    """Ctrl-C ends a run with a word on what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        searches = options.sweep or experiment.tune is not None
        ids = folder.roster.ids() if searches else {cell.id for cell in experiment.cells()}
        # By the files: an interruption can come between a trial's record and the event that tells of it.
        done = sum(store.has(trial_id) for trial_id in ids)
        of = "" if searches else f" of {len(ids)}"
        raise InterruptedRunError(
            f"Interrupted. {done}{of} trials are kept in {store.root}; the same command goes on from there."
        ) from None


def saying(console: Console, kind: str = "") -> Say:
    """A way to print lines for the user: as they are, or as warnings."""

    def say(message: str) -> None:
        text, style = (f"{kind}: {message}", "yellow") if kind else (message, None)
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    return say
