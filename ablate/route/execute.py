"""A run from its study file to its report: what `ablate run`, `ablate sweep` and the Python API share."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.text import saying
from ablate.base.wording import joined
from ablate.route.options import Options, Outcome

if TYPE_CHECKING:
    from rich.console import Console


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Reads a study, runs what is missing of it, and reports; prints to the console as it goes.

    An interruption says what it leaves in the store.
    """
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

    from ablate.execution.engines.local_pool import Server
    from ablate.route.publisher import Publisher
    from ablate.tracking.tracker import Tracker

    with (
        closing(Server()) as server,
        closing(Tracker(folder, options.tracking_uri, warn)) as tracker,
        closing(Publisher(in_process=options.jobs == 0)) as publisher,
    ):
        # Beside this process, which has the study to check; in vain where nothing is left to train. What a user's own
        # workload needs is not known yet.
        if options.jobs != 0 and options.engine == "local" and "workload" not in document.data:
            server.prepare(1, "early")
        tracker.prepare()
        publisher.prepare()
        from ablate.base.locks import exclusive
        from ablate.base.process import interruptible
        from ablate.execution.progress import Display
        from ablate.records.store import Store
        from ablate.route.choose import narrowed, settling
        from ablate.route.run import follow
        from ablate.route.running import Run, Workers
        from ablate.route.trials import select
        from ablate.study.prepare import prepare

        experiment = prepare(document, confirm=options.confirm)
        refuse_another(experiment, options.results)
        experiment = narrowed(experiment, options)
        chooses = settling(experiment, options)
        # Unknown names are refused before anything is written.
        select(experiment.cells(), options.only, options.seed)
        store = Store(options.results / "store", warn)
        with exclusive(store.root, folder.name, say), interruptible():
            if differs:
                say(explained(folder, differs))
            experiment = experiment.reporting(folder.name, differs)
            workers = Workers(experiment, options, server)
            compute = experiment.describe(experiment.variants[0])[0].compute
            display = Display(
                *(console, experiment.study.name, experiment.metric, workers.capacity),
                at_most=bool(chooses or experiment.study.seeds.looks),
                compute=compute,
                usual=store.usual_seconds(compute),
            )
            try:
                return follow(Run(experiment, folder, store, options, workers, display, tracker, publisher))
            except KeyboardInterrupt as error:
                ids = {cell.id for cell in (folder.trial_list.cells() if chooses else experiment.cells())}
                # By the files: an interruption can come between a trial's record and the event that tells of it.
                kept = (
                    f"{sum(map(store.has, ids))}{'' if chooses else f' of {len(ids)}'} trials in {store.root}"
                )
                # With the processes that have timed its variants.
                raise KeyboardInterrupt(joined([kept, *error.args])) from None
