"""`ablate run`; and `execute`, which it shares with `ablate sweep` and the Python API."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.errors import AblateError
from ablate.base.wording import joined
from ablate.route.console import (
    AS_JSON,
    CONFIRM,
    FAIL_FAST,
    FRESH,
    GATE,
    JOBS,
    ONLY,
    RESULTS,
    SEED,
    SEEDS,
    SETS,
    STRICT,
    STUDY,
    TRACKING_URI,
    gated,
    printing,
    saying,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.route.options import Options, Outcome


@click.command("run")
@STUDY
@JOBS
@SEEDS
@SETS
@ONLY
@SEED
@CONFIRM
@RESULTS
@TRACKING_URI
@FRESH
@FAIL_FAST
@GATE
@STRICT
@AS_JSON
def command(study: Path, gate: bool, strict: bool, as_json: bool, **options: Any) -> int:
    """Train a study's missing trials, compare its variants, and report.

    STUDY is a study file, which reports in results/STUDY. A run that differs from the study as written, by --set,
    --seeds, --only or --seed, reports in a folder of its own: results/STUDY@seeds=3.

    With --confirm, the variants and claims that its report has decided are judged again, as a family of their own, on
    as many seeds after its last; the report of that is in results/STUDY@confirm.

    Exit codes: 0: done; 1: some trials failed, or with --gate a claim is refuted; 2: the study or the command line
    is invalid; 3: with --strict, no claim is refuted, and one is inconclusive, incomplete or not judged; 130:
    interrupted. Exploratory claims count too.
    """
    from ablate.route.options import Options

    with printing(as_json) as console:
        outcome = execute(study, Options(**options), console)
    return ended(outcome.folder, outcome, as_json, gate, strict)


def ended(
    path: Path, outcome: Outcome | None, as_json: bool, gate: bool = False, strict: bool = False
) -> int:
    """The exit code of a report, or of the run that made it; prints the object that `--json` asks for."""
    from ablate.records.folder import StudyFolder

    folder = StudyFolder.at(path)
    code = 1 if outcome and outcome.failed else gated(folder, gate, strict)
    if as_json:
        from ablate.route.as_json import report_object, written

        click.echo(written(report_object(folder, outcome, code)))
    return code


class InterruptedRunError(AblateError):
    """Ctrl-C or SIGTERM."""

    exit_code = 130


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Reads a study, runs what is missing of it, and reports; prints to the console as it goes."""
    from ablate.route.options import Outcome
    from ablate.route.place import explained, place, refuse_another, up_to_date
    from ablate.route.publish import print_results
    from ablate.study.document import read_document

    say, warn = saying(console), saying(console, "warning")
    document = read_document(path)
    document.apply(options.sets, options.seeds)
    folder, differs = place(document, options)
    if up_to_date(folder, document, options):
        if differs:
            say(explained(folder, differs))
        say(f"Nothing to train: {folder.path} is up to date with the study, the sources and the records.")
        print_results(folder, console)
        return Outcome(folder.path)
    from ablate.base.locks import exclusive
    from ablate.base.process import interruptible
    from ablate.execution.progress import Display
    from ablate.records.store import Store
    from ablate.route.choose import settling
    from ablate.route.confirm import confirming
    from ablate.route.run import follow
    from ablate.route.running import Listeners, Run, Workers
    from ablate.route.trials import select
    from ablate.study.prepare import prepare
    from ablate.tracking.tracker import Tracker

    experiment = prepare(document, confirm=options.confirm)
    refuse_another(experiment, options.results)
    experiment = confirming(experiment, options.results, options.seeds)
    chooses = settling(experiment, options)
    # Unknown names are refused before anything is written.
    select(experiment.cells(), options.only, options.seed)
    store = Store(options.results / "store", warn)
    with exclusive(store.root, folder.name, say), interruptible():
        if differs:
            say(explained(folder, differs))
        experiment = experiment.reporting(folder.name, differs)
        workers = Workers(experiment, options.jobs)
        at_most = bool(chooses or experiment.study.seeds.looks)
        display = Display(console, experiment.study.name, experiment.metric, workers.jobs, at_most=at_most)
        listeners = Listeners(console, display, Tracker(folder, options.tracking_uri, warn))
        planned = None if chooses else {cell.id for cell in experiment.cells()}
        with telling_what_is_kept(folder, store, planned):
            return follow(Run(experiment, folder, store, options, workers, listeners, say, warn))


@contextmanager
def telling_what_is_kept(
    folder: StudyFolder, store: Store, planned: Collection[str] | None = None
) -> Iterator[None]:
    """Raises `InterruptedRunError` for an interruption inside; of all listed trials, or of `planned` ones."""
    try:
        yield
    except KeyboardInterrupt as error:
        ids = {cell.id for cell in folder.trial_list.cells()} if planned is None else planned
        # By the files: an interruption can come between a trial's record and the event that tells of it.
        kept = f"{sum(map(store.has, ids))}{'' if planned is None else f' of {len(ids)}'} trials"
        kept = joined([kept, *filter(None, [str(error)])])  # with the processes that have timed its variants
        says = f"Interrupted. {kept} are kept in {store.root}; run the same command to continue."
        raise InterruptedRunError(says) from None
