"""`ablate run`, and the stages that it shares with `ablate sweep`: from a study file to its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.commands.options import FAIL_FAST, JOBS, RESULTS, SEEDS, SETS, STUDY, TRACKING_URI

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.cell import Cell
    from ablate.core.record import Record
    from ablate.core.search_table import SearchTable
    from ablate.execution.local_pool import Standby
    from ablate.records.folder import Kind, StudyFolder
    from ablate.records.store import Store
    from ablate.stages.judge import Work
    from ablate.stages.options import Options, Outcome
    from ablate.stages.search import SearchStage
    from ablate.study.experiment import Experiment


@click.command("run")
@STUDY
@JOBS
@SEEDS
@SETS
@click.option(
    "--only",
    multiple=True,
    metavar="VARIANT",
    help="Train only this variant and the baseline; may be repeated.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Train only this seed.")
@RESULTS
@TRACKING_URI
@click.option("--fresh", is_flag=True, help="Train finished trials again; keeps the results of searches.")
@FAIL_FAST
@click.option("--gate", is_flag=True, help="Exit with 1 if a claim is refuted.")
def command(study: Path, gate: bool, **options: Any) -> int:
    """Train the missing trials of a study, compare, and report.

    STUDY is a study file.

    Exit codes: 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the call is
    wrong; 130: interrupted.
    """
    from rich.console import Console

    from ablate.records.folder import StudyFolder
    from ablate.stages.options import Options

    outcome = execute(study, Options(**options), Console(soft_wrap=False))
    refuted = [row["claim"] for row in StudyFolder.at(outcome.folder).claims() if row["verdict"] == "refuted"]
    for claim in refuted if gate else []:
        click.echo(f"refuted: {claim}", err=True)
    return 1 if outcome.failed or (gate and refuted) else 0


class InterruptedRunError(AblateError):
    """Ctrl-C or SIGTERM; says what is kept."""

    exit_code = 130


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Reads, matches, searches, trains, judges and reports what is missing of a study; prints as it goes."""
    from ablate.stages.cached import up_to_date
    from ablate.stages.options import Outcome
    from ablate.stages.publish import print_results

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
            rule, hint = "is required: it says what a sweep looks for", "Add it, or use `ablate run`"
            raise StudyError([Problem(rule, ("search",), hint=hint, source=str(path))])
        # Unknown names are refused before anything is written.
        select(experiment.cells(), options.only, options.seed)
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
    """The stages between the lock and the verdicts."""
    from ablate.core.events import everyone
    from ablate.core.plan import FixedPlan
    from ablate.execution.driver import drive
    from ablate.execution.progress import Display
    from ablate.stages.claims import date_claims
    from ablate.stages.engine import number_of_jobs, open_engine, preload, reference
    from ablate.stages.judge import work_of
    from ablate.stages.publish import describe, publish
    from ablate.stages.search import SearchStage, for_sweep
    from ablate.study.resolved import resolved_text
    from ablate.tracking.tracker import Tracker

    say, warn = saying(console), saying(console, "warning")
    study, declared = experiment.study, experiment.claims
    kind: Kind | None = "sweep" if options.sweep else "tuning" if study.tune is not None else None
    if kind == "sweep":
        experiment = for_sweep(experiment, say)
    elif study.search is not None:
        say("note: `search:` is for `ablate sweep`; this run and its report leave it out.")
    if kind is None:
        experiment = experiment.settling([variant.name for variant in experiment.variants])
    search = SearchStage(experiment, kind, folder, store, options, say) if kind is not None else None
    where = reference(experiment)
    jobs, devices = number_of_jobs(experiment, options.jobs)
    metric = study.metric.name or next(iter(experiment.describe(experiment.variants[0])[0].metrics))
    with closing(search) if search is not None else nullcontext():
        planned = experiment.cells() if search is None else []
        begun = search is not None and search.begun
        claims = date_claims(folder, declared, planned, store, begun)
        folder.begin(resolved_text(experiment, folder.path), planned)
        with Tracker(folder, store, describe, options.tracking_uri, warn) as tracker:
            display = Display(console, study.name, metric, jobs, at_most=search is not None)
            with open_engine(experiment, where, jobs, devices, ready) as engine, display:
                listen = everyone(tracker, display, preload)
                table = None
                if search is not None:
                    tried = search.run(engine, store, listen, fail_fast=options.fail_fast)
                    table = search.table()
                    if not search.over:
                        return _unfinished(folder, search, table, tried, display.done, console)
                work = work_of(experiment, kind, table, say)
                folder.roster.add(work.everything)
                records = drive(
                    FixedPlan(work.everything),
                    engine,
                    store,
                    listen,
                    wanted=work.wanted(options),
                    fresh=options.fresh,
                    fail_fast=options.fail_fast,
                )
            if display.done:
                say("Comparing, and writing the report …")
            _save_search(folder, work.experiment, kind, table)
            work.save_evidence(folder, claims, where.environment(), records)
            publish(folder)
            folder.roster.close(work.everything)
            tracked = tracker.finish()
    return _conclude(work, folder, options, console, records, display.done, tracked)


def _save_search(
    folder: StudyFolder, experiment: Experiment, kind: Kind | None, table: SearchTable | None
) -> None:
    """Writes the table of a search, with its importances; removes what searches have left that the study lacks."""
    if kind is not None and table is not None:
        folder.save_search_table(kind, table)
        if kind == "sweep":
            from ablate.search.importances import importances

            folder.save_importances(importances(table))
        return
    if experiment.study.search is None:
        folder.forget_search("sweep")
    if experiment.study.tune is None:
        folder.forget_search("tuning")


def _unfinished(
    folder: StudyFolder,
    search: SearchStage,
    table: SearchTable,
    records: Mapping[str, Record],
    trained: int,
    console: Console,
) -> Outcome:
    """The end of a run whose search is not over."""
    from ablate.stages.options import Outcome

    if not folder.has_report:  # the table of a report is kept with the report
        folder.save_search_table(search.kind, table)
    failed = _failed([cell for _, cell in table.cells(swept=search.kind == "sweep")], records)
    for line in failed:
        saying(console, "warning")(f"failed: {line}")
    saying(console)("The search is not over; the same command goes on from here.")
    return Outcome(folder.path, failed, trained)


def _conclude(
    work: Work,
    folder: StudyFolder,
    options: Options,
    console: Console,
    records: Mapping[str, Record],
    trained: int,
    tracked: bool,
) -> Outcome:
    """Prints the verdicts and what is missing; notes what the report was made from when nothing is."""
    from ablate.stages.cached import remember
    from ablate.stages.options import Outcome
    from ablate.stages.publish import print_results

    found = {cell.id: records[cell.id] for cell in work.everything if cell.id in records}
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in work.cells)
    failed = _failed(work.everything, found)
    if tracked and not missing and not failed and not options.partial:
        remember(work.experiment.path, options, folder, list(found))
    print_results(folder, console, options.tracking_uri)
    for line in failed:
        saying(console, "warning")(f"failed: {line}")
    if missing:
        saying(console)(f"{missing} of {len(work.cells)} trials have not been run.")
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


def saying(console: Console, kind: str = "") -> Callable[[str], None]:
    """A way to print lines for the user: as they are, or as warnings."""

    def say(message: str) -> None:
        text, style = (f"{kind}: {message}", "yellow") if kind else (message, None)
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    return say
