"""The route from a study file to its report, composed; also the Python API."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from ablate.collector import uncollected
from ablate.errors import AblateError
from ablate.publish import gather, print_results, publish
from ablate.records.evidence import Evidence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Console

    from ablate.execution.pool import Standby
    from ablate.records.mlflow_tracker import TrackedRun, Tracker
    from ablate.records.record import Record
    from ablate.records.store import Store
    from ablate.study.claims import Claim
    from ablate.study.experiment import Experiment
    from ablate.study.plan import Cell


@dataclass(frozen=True)
class Options:
    """How a study is run; the options of `ablate run`."""

    results: Path = Path("results")
    jobs: int | None = None
    "Worker processes; 0: in this process; None: one a core, or one a GPU."
    seeds: int | None = None
    "Number of seeds, instead of the study's."
    sets: Sequence[str] = ()
    "`PATH=VALUE` changes to the study."
    only: Sequence[str] = ()
    "Train only these variants, and the baseline; the report uses all that is there."
    seed: int | None = None
    "Train only this seed."
    tracking_uri: str | None = None
    "Where MLflow keeps its runs; None: SQLite in the store."
    fresh: bool = False
    "Train again what is in the store."
    fail_fast: bool = False
    "Stop at the first failed trial."


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
class Results:
    """A study's results folder: frames, verdicts and facts."""

    folder: Path
    evidence: Evidence
    comparisons: pd.DataFrame
    claims: pd.DataFrame

    @property
    def trials(self) -> pd.DataFrame:
        """One row a trial."""
        return self.evidence.trials

    @property
    def curves(self) -> pd.DataFrame:
        """id, step, metric, value."""
        return self.evidence.curves

    def figures(self) -> dict[str, Figure]:
        """The figures of the report, by name: `forest`, `seeds`, `cost`, and the learning curves."""
        from ablate.report.drawings import figures_of

        return figures_of(self.evidence, self.comparisons)


class InterruptedRunError(AblateError):
    """Ctrl-C or SIGTERM; says what is kept."""

    exit_code = 130


def run(study: str | Path, **options: Any) -> Results:
    """Runs a study and loads its results; the keywords are those of `Options`. Raises `AblateError`."""
    from rich.console import Console

    if "results" in options:
        options["results"] = Path(options["results"])
    outcome = execute(Path(study), Options(**options), Console(file=sys.stderr))
    return load(outcome.folder)


def load(folder: str | Path) -> Results:
    """The results of a study from its folder alone; raises `AblateError` when they are not there."""
    import pandas as pd

    folder = Path(folder)
    evidence = Evidence.load(folder)
    frames = [pd.read_csv(folder / name) for name in ("comparisons.csv", "claims.csv")]
    return Results(folder, evidence, *frames)


def execute(path: Path, options: Options, console: Console) -> Outcome:
    """Plans, trains what is missing, compares and reports; prints as it goes."""
    cached = unchanged(path, options)
    if cached is not None:
        console.print(
            f"Nothing to train: {cached} is up to date with the study, the sources and the records.",
            soft_wrap=True,
        )
        print_results(cached, console)
        return Outcome(cached)
    from ablate.execution.exclusive import exclusive, interruptible
    from ablate.records.store import Store
    from ablate.selection import chosen

    def say(message: str) -> None:
        console.print(message, highlight=False, markup=False, soft_wrap=True)

    with closing(_standby(path, options)) as standby:
        with uncollected():
            from ablate.speed.rates import measuring
            from ablate.study.experiment import prepare
            from ablate.study.rates import Rates

            rates = Rates(options.results, measuring(say), options.fresh)
            experiment = prepare(path, options.sets, options.seeds, rates)
        cells = experiment.cells()
        todo = chosen(cells, options.only, options.seed)
        store = Store(options.results / "store", lambda message: _warn(console, message))
        with exclusive(store.root, experiment.study.name, say), interruptible():
            return _Run(experiment, cells, todo, store, options, console, standby).go()


def _standby(path: Path, options: Options) -> Standby:
    """Workers for a study of the package's own workload; others may need none of its parts."""
    from ablate.execution.pool import Standby, default_jobs
    from ablate.study.document import read_document
    from ablate.study.load import DEFAULT_WORKLOAD

    if read_document(path).data.get("workload", DEFAULT_WORKLOAD) != DEFAULT_WORKLOAD:
        return Standby(0)
    return Standby(default_jobs() if options.jobs is None else options.jobs)


def unchanged(path: Path, options: Options) -> Path | None:
    """The results folder, when running the study would train nothing and report the same; imports no torch."""
    if options.only or options.seed is not None or options.fresh or options.tracking_uri:
        return None
    from ablate.records.state import LastReport
    from ablate.records.store import Store
    from ablate.study.document import read_document

    name = read_document(path).data.get("name")
    folder = options.results / str(name)
    if not isinstance(name, str) or not name or Path(name).name != name or not folder.is_dir():
        return None
    last = LastReport(Store(options.results / "store"), folder)
    return folder if last.matches(_inputs(path, options)) else None


def remember(path: Path, options: Options, store: Store, folder: Path, trials: list[str]) -> None:
    """Notes what the report that stands in `folder` was made from, for `unchanged`."""
    from ablate.plugins import plugin_files
    from ablate.records.state import LastReport

    LastReport(store, folder).write(_inputs(path, options), trials, plugin_files())


def _inputs(path: Path, options: Options) -> list[Any]:
    """What a report depends on beside the records, the package and the plugins: the study and the options."""
    return [hashlib.blake2b(path.read_bytes()).hexdigest(), list(options.sets), options.seeds]


class _Run:
    """One run of one study; holds what its stages share."""

    def __init__(
        self,
        experiment: Experiment,
        cells: list[Cell],
        chosen: list[Cell],
        store: Store,
        options: Options,
        console: Console,
        standby: Standby,
    ) -> None:
        self.experiment = experiment
        self.cells = cells
        self.chosen = chosen
        self.store = store
        self.options = options
        self.console = console
        self.standby = standby
        self.study = experiment.study
        self.folder = options.results / self.study.name
        self.records: dict[str, Record] = {}
        self.by_id = {cell.trial.id: cell for cell in cells}
        self.labels = {path: experiment.design.labels(path) for path in experiment.design.paths}

    def go(self) -> Outcome:
        from ablate.files import sweep
        from ablate.records.environment import environment
        from ablate.records.mlflow_tracker import Tracker
        from ablate.selection import finished as finished_trials
        from ablate.study.declared import declare

        for folder in (self.store.trials, self.folder, self.folder / "figures"):
            sweep(folder)
        for trial_id in self.by_id:
            record = self.store.load(trial_id)
            if record is not None:
                self.records[trial_id] = record
        finished, without = finished_trials(
            self.cells, self.records, self.store, self.chosen, self.options.fresh
        )
        if without:
            self.console.print(
                f"{self.study.name}: {without} trials are in the store without the weights that the study keeps "
                f"(checkpoint: {self.study.checkpoint}); they are trained again.",
                highlight=False,
                soft_wrap=True,
            )
        plugins = [self.experiment.path.parent / name for name in self.study.plugins]
        surroundings = environment(sys.argv, [self.experiment.path, *plugins])
        claims = declare(self.folder / "claims.csv", self.experiment.claims, self._has_results)
        self._write_resolved()
        tracker = Tracker(
            self.study.name,
            self.store.root,
            self.options.tracking_uri,
            lambda message: _warn(self.console, message),
        )
        tracker.start()
        try:
            for record in finished.values():
                tracker.add(self._tracked(record))
            trained = self._train(finished, tracker, surroundings)
            if trained:
                self.console.print("Comparing, and writing the report …")
            evidence = gather(self.experiment.facts(claims, surroundings), self.cells, self.records)
            evidence.save(self.folder)
            publish(evidence, self.folder)
            up_to_date = self._finish(tracker, surroundings)
        except KeyboardInterrupt:
            # A second Ctrl-C does not wait for the tracker; the next run brings it up to date.
            with suppress(KeyboardInterrupt):
                tracker.abandon()
            raise InterruptedRunError(self._kept()) from None
        except BaseException:
            tracker.abandon()
            raise
        return self._conclude(trained, up_to_date)

    def _has_results(self, claim: Claim) -> bool:
        """Whether a claim could have been read from results: the study has been reported, or both sides have run."""
        ran = {cell.variant for cell in self.cells if cell.trial.id in self.records}
        return (self.folder / "trials.parquet").is_file() or bool(ran & set(claim.a) and ran & set(claim.b))

    def _conclude(self, trained: int, up_to_date: bool) -> Outcome:
        """Says how the study stands."""
        missing = [cell for cell in self.cells if cell.trial.id not in self.records]
        failed = [
            f"{cell.name}: {record.reason}"
            for cell in self.cells
            if (record := self.records.get(cell.trial.id)) and record.status == "failed"
        ]
        if up_to_date and not missing and not failed:
            remember(self.experiment.path, self.options, self.store, self.folder, list(self.by_id))
        print_results(self.folder, self.console, self.options.tracking_uri)
        for line in failed:
            _warn(self.console, f"failed: {line}")
        if missing:
            self.console.print(f"{len(missing)} of {len(self.cells)} trials have not been run.")
        return Outcome(self.folder, failed, trained, len(missing))

    def _train(self, finished: dict[str, Record], tracker: Tracker, surroundings: dict[str, Any]) -> int:
        """Trains what is missing; how many trials that was."""
        from ablate.execution.driver import drive
        from ablate.execution.events import Event, Finished
        from ablate.execution.pool import Engine, InProcess, LocalPool
        from ablate.execution.progress import Display
        from ablate.execution.trial import WorkloadRef
        from ablate.plugins import load_plugin
        from ablate.study.plan import FixedPlan

        plan = FixedPlan([cell.trial for cell in self.chosen])
        todo = [trial for trial in plan.trials if trial.id not in finished]
        devices = self._devices()
        jobs = self._jobs(devices, len(todo))
        plugins = tuple(load_plugin(self.experiment.path.parent / name) for name in self.study.plugins)

        def engine() -> Engine:
            if jobs == 0:
                return InProcess(self.experiment.workload, self.store.save_state)
            return LocalPool(WorkloadRef(self.study.workload, plugins), jobs, devices, self.standby)

        cached = len(plan.trials) - len(todo)
        kept = f", {cached} already in the store" if cached else ""
        where = f"{jobs} worker{'s' if jobs != 1 else ''}" if jobs else "this process"
        if todo:
            self.console.print(
                f"{self.study.name}: {len(todo)} trials to train on {where}{kept}.", highlight=False
            )
        else:
            self.console.print(f"{self.study.name}: all {cached} trials are in the store.", highlight=False)
        names = {trial_id: cell.name for trial_id, cell in self.by_id.items()}
        metric = self.study.metric.name or next(
            iter(self.experiment.describe(self.experiment.variants[0])[0].metrics)
        )
        with Display(self.console, len(todo), names, jobs, metric) as display:

            def listen(event: Event) -> None:
                if isinstance(event, Finished):
                    self.records[event.record.id] = event.record
                    tracker.add(self._tracked(event.record))
                display(event)

            if todo:
                # The driver waits for its workers: it imports meanwhile what the report needs.
                Thread(target=_import_report, daemon=True).start()
            drive(
                plan,
                finished,
                engine,
                self.store,
                surroundings,
                listen=listen,
                fail_fast=self.options.fail_fast,
                fresh=self.options.fresh,
            )
        return display.done

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
        from ablate.records.mlflow_ui import ARTIFACTS
        from ablate.report.tables import verdict_markdown

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
            artifacts=[self.folder / name for name in ARTIFACTS],
            current=set(self.by_id),
        )

    def _tracked(self, record: Record) -> TrackedRun:
        from ablate.records.mlflow_tracker import TrackedRun

        cell = self.by_id[record.id]
        labels = {path: of_variant[cell.variant] for path, of_variant in self.labels.items()}
        return TrackedRun(cell.variant, cell.task, cell.seed, labels, record)

    def _write_resolved(self) -> None:
        from ablate.study.resolved import write_resolved

        write_resolved(self.experiment, self.folder / "study.yaml")

    def _kept(self) -> str:
        # By the files: an interruption can come between a trial's record and what is told of it.
        done = sum(self.store.has(cell.trial.id) for cell in self.cells)
        return (
            f"Interrupted. {done} of {len(self.cells)} trials are kept in {self.store.root}; "
            "the same command goes on from there."
        )


def _import_report() -> None:
    import_module("ablate.report.page")


def _warn(console: Console, message: str) -> None:
    console.print(f"warning: {message}", style="yellow", markup=False, highlight=False, soft_wrap=True)
