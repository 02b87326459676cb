"""One run of a study, whatever it trains: from its course to records, report and MLflow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from ablate.base.errors import AblateError
from ablate.stages.publish import gather, print_results, publish
from ablate.study.schema import TUNING_SEEDS_FROM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from ablate.core.cell import Cell
    from ablate.core.claim import Claim
    from ablate.core.events import Progress
    from ablate.core.plan import Plan
    from ablate.core.record import Record
    from ablate.execution.pool import Engine, Standby
    from ablate.records.store import Store
    from ablate.stages.run import Options
    from ablate.study.experiment import Experiment
    from ablate.tracking.tracker import TrackedRun, Tracker


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    folder: Path
    failed: list[str] = field(default_factory=list)
    "Names of the trials that failed, with the reason."
    trained: int = 0
    missing: int = 0
    "Planned trials that were not asked for, with `only` or `seed`."


@dataclass(frozen=True)
class Place:
    """Where a trial stands in a study: what MLflow and the progress call it."""

    variant: str
    task: str
    seed: int
    levels: Mapping[str, str]
    name: str


class InterruptedRunError(AblateError):
    """Ctrl-C or SIGTERM; says what is kept."""

    exit_code = 130


class Course(Protocol):
    """What a run trains, and what it reports."""

    plan: Plan

    def decide(self, event: Progress) -> bool:
        """Whether a trial that waits shall stop."""

    def prepare(self, session: Session) -> dict[str, Record]:
        """Says what is there already, by id; before the first trial, and before anything is written for it."""

    @property
    def experiment(self) -> Experiment:
        """The study with the variants that are judged, as far as they are known."""

    @property
    def cells(self) -> Sequence[Cell]:
        """The trials that are judged, as far as they are known."""

    @property
    def begun(self) -> bool:
        """Whether a search has shown results already, which a claim could have been read from."""

    @property
    def complete(self) -> bool:
        """Whether all that is judged is known."""

    @property
    def expected(self) -> int:
        """How many trainings this run will have done in the end, at most."""

    def extras(self, session: Session) -> None:
        """Writes what stands beside the evidence, before the report is made."""

    def close(self) -> None:
        """Lets go of what it holds."""


class Session:
    """One run of one study; holds what its stages share."""

    def __init__(
        self,
        experiment: Experiment,
        store: Store,
        options: Options,
        console: Console,
        standby: Standby,
        places: Mapping[str, Place] = {},
    ) -> None:
        self.experiment = experiment
        self.store = store
        self.options = options
        self.console = console
        self.standby = standby
        self.study = experiment.study
        self.folder = options.results / self.study.name
        self.records: dict[str, Record] = {}
        "Every record that this run has read or made."
        self.places: dict[str, Place] = dict(places)
        self.names: dict[str, str] = {}
        self._tracker: Tracker | None = None
        self._tracked: set[str] = set()

    def say(self, message: str) -> None:
        """A line for the user."""
        self.console.print(message, highlight=False, markup=False, soft_wrap=True)

    def warn(self, message: str) -> None:
        """A line for the user, of something that is amiss."""
        self.console.print(
            f"warning: {message}", style="yellow", markup=False, highlight=False, soft_wrap=True
        )

    def place(self, cells: Sequence[Cell], experiment: Experiment, note: str = "") -> None:
        """Says where the trials of `cells` stand; a trial that has a place already keeps it."""
        labels = {path: experiment.design.labels(path) for path in experiment.design.paths}
        for cell in cells:
            levels = {path: of_variant[cell.variant] for path, of_variant in labels.items()}
            variant = f"{cell.variant}{note}"
            name = f"{variant}{cell.name.removeprefix(cell.variant)}"
            self.put(cell.trial.id, Place(variant, cell.task, cell.seed, levels, name))

    def put(self, trial_id: str, place: Place) -> None:
        """Says where one trial stands."""
        self.places.setdefault(trial_id, place)
        self.names.setdefault(trial_id, place.name)

    def read(self, trial_id: str) -> Record | None:
        """The record of a trial as the store has it, finished or not; read once."""
        if trial_id not in self.records:
            record = self.store.load(trial_id)
            if record is None:
                return None
            self.records[trial_id] = record
        return self.records[trial_id]

    def track(self, record: Record) -> None:
        """Hands a record to MLflow, once."""
        if self._tracker is not None and record.id in self.places and record.id not in self._tracked:
            self._tracked.add(record.id)
            self._tracker.add(self._tracked_run(record))

    def _tracked_run(self, record: Record) -> TrackedRun:
        from ablate.tracking.tracker import TrackedRun

        place = self.places[record.id]
        return TrackedRun(place.variant, place.task, place.seed, place.levels, record)

    def go(self, course: Course) -> Outcome:
        """Trains what is missing, compares and reports."""
        from ablate.base.files import sweep
        from ablate.records.declared import declare
        from ablate.records.environment import environment
        from ablate.study.resolved import write_resolved
        from ablate.tracking.tracker import Tracker

        for folder in (self.store.trials, self.folder, self.folder / "figures"):
            sweep(folder)
        finished = course.prepare(self)
        plugins = [self.experiment.path.parent / name for name in self.study.plugins]
        surroundings = environment(sys.argv, [self.experiment.path, *plugins])
        claims = declare(
            self.folder / "claims.csv",
            self.experiment.claims,
            lambda claim: course.begun or self._has_results(claim, course.cells),
        )
        write_resolved(self.experiment, self.folder / "study.yaml")
        tracker = self._tracker = Tracker(
            self.study.name, self.store.root, self.options.tracking_uri, self.warn
        )
        tracker.start()
        try:
            for record in finished.values():
                self.track(record)
            trained = self._train(course, finished, surroundings)
            for record in self.records.values():
                self.track(record)
            if not course.complete:
                # A report that stands goes with the table that it was made from.
                if not (self.folder / "trials.parquet").is_file():
                    course.extras(self)
                tracker.abandon()
                return self._conclude(course, trained, False)
            if trained:
                self.say("Comparing, and writing the report …")
            elif course.experiment.searched:
                self.say(f"{self.study.name}: all trials are in the store.")
            course.extras(self)
            experiment = course.experiment
            settled = {claim.hash for claim in experiment.claims}
            judged = [claim for claim in claims if claim.hash in settled]
            evidence = gather(experiment.facts(judged, surroundings), course.cells, self.records)
            evidence.save(self.folder)
            publish(evidence, self.folder)
            up_to_date = self._finish(tracker, surroundings)
        except KeyboardInterrupt:
            # A second Ctrl-C does not wait for the tracker; the next run brings it up to date.
            with suppress(KeyboardInterrupt):
                tracker.abandon()
            raise InterruptedRunError(self._kept(course)) from None
        except BaseException:
            tracker.abandon()
            raise
        finally:
            course.close()
        return self._conclude(course, trained, up_to_date)

    def _has_results(self, claim: Claim, cells: Sequence[Cell]) -> bool:
        """Whether a claim could have been read from results: the study has been reported, or both sides have run."""
        ran = {cell.variant for cell in cells if cell.trial.id in self.records}
        return (self.folder / "trials.parquet").is_file() or bool(ran & set(claim.a) and ran & set(claim.b))

    def _conclude(self, course: Course, trained: int, up_to_date: bool) -> Outcome:
        """Says how the study stands."""
        from ablate.stages.run import remember

        missing = [
            cell
            for cell in course.cells
            if (record := self.records.get(cell.trial.id)) is None or record.status == "pruned"
        ]
        failed = [
            f"{self.names[trial_id]}: {record.reason}"
            for trial_id, record in self.records.items()
            if record.status == "failed" and trial_id in self.names
        ]
        partial = self.options.only or self.options.seed is not None
        if up_to_date and not missing and not failed and not partial:
            finished = [trial_id for trial_id in self.places if trial_id in self.records]
            remember(self.experiment.path, self.options, self.store, self.folder, finished)
        if course.complete:
            print_results(self.folder, self.console, self.options.tracking_uri)
        for line in failed:
            self.warn(f"failed: {line}")
        if not course.complete:
            self.say("The search is not over; the same command goes on from here.")
        elif missing:
            self.say(f"{len(missing)} of {len(course.cells)} trials have not been run.")
        return Outcome(self.folder, failed, trained, len(missing))

    def _train(self, course: Course, finished: dict[str, Record], surroundings: dict[str, Any]) -> int:
        """Trains what is missing; how many trials that was."""
        from ablate.core.events import Event, Finished
        from ablate.execution.driver import drive
        from ablate.execution.progress import Display

        expected = course.expected
        devices = self._devices()
        jobs = self._jobs(devices, expected)
        self._announce(expected, jobs, len(finished))
        with Display(self.console, expected, self.names, jobs, self._metric) as display:

            def listen(event: Event) -> None:
                if isinstance(event, Finished):
                    self.records[event.record.id] = event.record
                    self._tracked.discard(event.record.id)
                    self.track(event.record)
                    display.total = course.expected
                display(event)

            if expected:
                # The driver waits for its workers: it imports meanwhile what the report needs.
                Thread(target=lambda: import_module("ablate.report.page"), daemon=True).start()
            drive(
                course.plan,
                finished,
                lambda: self._engine(jobs, devices),
                self.store,
                surroundings,
                listen=listen,
                decide=course.decide,
                fail_fast=self.options.fail_fast,
                fresh=self.options.fresh,
            )
        return display.done

    def _metric(self, record: Record) -> str:
        """The number by which a trial is judged: one that tunes, on validation data where there are any."""
        described = self.experiment.describe(self.experiment.variants[0])[0]
        name = self.study.metric.name or next(iter(described.metrics))
        validation = f"validation_{name}"
        return validation if record.seed >= TUNING_SEEDS_FROM and validation in record.metrics else name

    def _announce(self, expected: int, jobs: int, cached: int) -> None:
        kept = f", {cached} already in the store" if cached else ""
        where = f"{jobs} worker{'s' if jobs != 1 else ''}" if jobs else "this process"
        most = "at most " if self.study.search or self.study.tune else ""
        if expected:
            self.say(f"{self.study.name}: {most}{expected} trials to train on {where}{kept}.")
        else:
            self.say(f"{self.study.name}: all {cached} trials are in the store.")

    def _engine(self, jobs: int, devices: int) -> Engine:
        from ablate.base.plugins import load_plugin
        from ablate.execution.pool import InProcess, LocalPool
        from ablate.execution.trial import WorkloadRef

        if jobs == 0:
            return InProcess(self.experiment.workload, self.store.save_state)
        plugins = tuple(load_plugin(self.experiment.path.parent / name) for name in self.study.plugins)
        return LocalPool(WorkloadRef(self.study.workload, plugins), jobs, devices, self.standby)

    def _devices(self) -> int:
        """How many GPUs there are to share out; 0 on CPU."""
        config = self.experiment.variants[0].configs[0]
        if self.experiment.workload.identity(config).get("device") != "cuda":
            return 0
        import torch

        return torch.cuda.device_count()

    def _jobs(self, devices: int, trials: int) -> int:
        from ablate.execution.pool import default_jobs

        if self.options.jobs is not None:
            return min(self.options.jobs, max(1, trials))
        return min(devices or default_jobs(), max(1, trials))

    def _finish(self, tracker: Tracker, surroundings: dict[str, Any]) -> bool:
        from ablate.report.markdown import verdict_markdown
        from ablate.stages.run import load
        from ablate.tracking.server import ARTIFACTS

        results = load(self.folder)
        config = self.experiment.resolved()
        family = results.comparisons[~results.comparisons.exploratory.astype(bool)]
        verdicts = family.verdict.value_counts().to_dict()
        return tracker.finish(
            # A sentence first: MLflow's lists show the beginning as it is written.
            description="\n\n".join(
                [
                    self.study.question or f"Verdicts of {self.study.name}",
                    verdict_markdown(results.comparisons, results.claims),
                ]
            ),
            params={key: config[key] for key in ("design", "seeds") if key in config},
            tags={
                "commit": str(surroundings["commit"]),
                "dirty": str(surroundings["dirty"]),
                "mlflow.source.name": str(surroundings["command"]),
            },
            metrics={f"comparisons_{verdict}": count for verdict, count in verdicts.items()},
            artifacts=[path for name in ARTIFACTS if (path := self.folder / name).exists()],
            current=set(self.places),
        )

    def _kept(self, course: Course) -> str:
        # By the files: an interruption can come between a trial's record and what is told of it.
        done = sum(self.store.has(trial_id) for trial_id in self.places)
        of = f" of {len(self.places)}" if course.complete else ""
        return (
            f"Interrupted. {done}{of} trials are kept in {self.store.root}; "
            "the same command goes on from there."
        )
