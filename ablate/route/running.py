"""One run of a study: what route and features are given, its workers, and how it trains."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice

from ablate.base.locks import Say, training
from ablate.base.plugins import load_plugin
from ablate.base.text import saying
from ablate.core.events import Engine, Event, Plan
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.execution.driver import drive
from ablate.execution.engines import ENGINES
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import Server
from ablate.execution.progress import Display
from ablate.execution.supervisor import Supervised
from ablate.execution.trial import WorkloadRef
from ablate.records.environment import command_line
from ablate.records.folder import StudyFolder
from ablate.records.store import Store, whereabouts
from ablate.route.options import Options, Outcome
from ablate.route.publisher import Publisher
from ablate.study.document import base_of
from ablate.study.experiment import Experiment
from ablate.tracking.tracker import Tracker

# The most failed trials that a run names when it ends.
MAX_FAILED = 12


def reference(experiment: Experiment) -> WorkloadRef:
    """All that a worker needs to train the study's trials."""
    folder, workload = base_of(experiment.path, experiment.study.folder), experiment.workload
    files = [folder / name for name in experiment.study.plugins]
    plugins = tuple(load_plugin(file) for file in files)
    watched = (experiment.path, *files)
    return WorkloadRef(
        *(workload.name, plugins, command_line(sys.argv), watched, workload.threads, folder),
        identity=dict(workload.identity(experiment.variants[0].configs[0])),
        parallel=experiment.describe(experiment.variants[0])[0].parallel,
        resources=experiment.study.resources,
    )


class Workers(Supervised):
    """The supervised engine of a run: it starts processes when it is given trials, and ends them when it is left."""

    def __init__(self, experiment: Experiment, options: Options, server: Server | None = None) -> None:
        """With `--jobs 0` it trains in this process, whatever the engine. Raises `AblateError`."""
        self.where = reference(experiment)
        ENGINES.load_package("execution.engines")
        if options.jobs == 0:
            engine: Engine = InProcess(self.where, experiment.workload)
        else:
            engine = ENGINES.get("engine", options.engine)(self.where, options.jobs, server)
        super().__init__(engine, self.where.environment)


@dataclass(frozen=True)
class Run:
    """What the route and its features are given; the lock of the study is held."""

    experiment: Experiment
    folder: StudyFolder
    store: Store
    options: Options
    workers: Workers
    display: Display
    tracker: Tracker
    publisher: Publisher

    @property
    def say(self) -> Say:
        """Prints a line."""
        return saying(self.display.console)

    @property
    def warn(self) -> Say:
        """Prints a warning."""
        return saying(self.display.console, "warning")

    @contextmanager
    def training(self) -> Iterator[None]:
        """Inside, it may `drive`; afterwards its workers are gone."""
        with (
            training(self.store.root, self.folder.name, self.say),
            closing(self.workers),
            self.display,
        ):
            yield

    def drive(
        self,
        plan: Plan,
        wanted: Callable[[Cell], bool] = lambda cell: True,
        later: int = 0,
        *,
        fresh: bool = False,
    ) -> Mapping[str, Record]:
        """Trains what a plan asks for and the store lacks, or with `fresh` all of it; the records by trial id.

        `later`: the largest number of trainings that follow.
        """
        return drive(
            *(plan, self.workers, self.store, self._hear),
            wanted=wanted,
            later=later,
            fresh=fresh,
            fail_fast=self.options.fail_fast,
        )

    def _hear(self, event: Event) -> None:
        self.tracker(event)
        self.display(event)

    def failed(self, cells: Sequence[Cell], records: Mapping[str, Record]) -> list[str]:
        """Warns of the failed trials, and returns the first of their cells with the reason."""
        names = {cell.id: cell.name for cell in reversed(cells)}
        found = {i: record.reason for i, record in records.items() if record.status == "failed"}
        for i, reason in islice(found.items(), MAX_FAILED):
            self.warn(f"failed: {names.get(i, i)}: {reason} ({whereabouts(i, self.folder.results)})")
        if len(found) > MAX_FAILED:
            self.warn(f"failed: {len(found) - MAX_FAILED} more; {self.folder.report_file} names every one")
        return [f"{names.get(i, i)}: {reason}" for i, reason in found.items()]

    def unfinished(self, what: str, cells: Sequence[Cell], records: Mapping[str, Record]) -> Unfinished:
        """The end of a run whose choice of variants is incomplete, so that there is nothing to judge yet."""
        lost = self.failed(cells, records)
        self.say(f"The {what} is incomplete; run the same command to continue it.")
        return Unfinished(Outcome(self.folder.path, lost, self.display.done))


class Unfinished(Exception):
    """A run ends before anything could be judged."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
