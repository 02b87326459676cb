"""Runs one trial, from its workload's `train` to its record, in a worker and in this process alike."""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, described
from ablate.base.files import digest_of_file
from ablate.base.plugins import Plugin, load_plugin, raised_by_plugin, trace
from ablate.base.process import stopwatch
from ablate.base.registry import CATALOGUE
from ablate.core.events import Hear, Progress, Saved
from ablate.core.record import FILE, Record
from ablate.core.trial import AGAIN, Trial
from ablate.core.workload import Workload
from ablate.records.environment import environment, kind
from ablate.records.record_file import fault_of
from ablate.study.ids import TrialIds
from ablate.study.sections import ResourcesSection


@dataclasses.dataclass(frozen=True)
class WorkloadRef:
    """All that a process needs to train: the workload's name, its plugins, and what records say of the run."""

    name: str
    plugins: tuple[Plugin, ...] = ()
    # The command line of the run.
    command: str = ""
    # Files beside the package whose changes make the commit dirty.
    watched: tuple[Path, ...] = ()
    # The number that each trial may use.
    threads: int = 1
    # To which paths of the study are relative.
    folder: Path = Path()
    # What the baseline's ids stand for beside config and sources, as of `Workload.identity`.
    identity: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Whether several trials may run at once.
    parallel: bool = True
    resources: ResourcesSection = dataclasses.field(default_factory=ResourcesSection)

    @property
    def device(self) -> str:
        """The type of device that trials train on."""
        return self.identity.get("device", "cpu")

    def load(self) -> Workload:
        """Returns the workload, with its parts registered; the plugins must be those that the driver has loaded."""
        for plugin in self.plugins:
            load_plugin(Path(plugin.path), plugin)
        CATALOGUE.load_package("external")
        if self.name not in CATALOGUE.names("workload"):
            CATALOGUE.load_builtin()
        workload: Workload = CATALOGUE.get("workload", self.name)()
        workload.folder = self.folder
        workload.load_parts()
        return workload

    def environment(self) -> dict[str, Any]:
        """Command, commit, versions and machine of this process, and of which kind that is."""
        return environment(self.command, self.watched) | {"kind": kind(self.device)}


def run_trial(
    workload: Workload,
    trial: Trial,
    hear: Hear,
    environment: Callable[[], Mapping[str, Any]] = dict,
    output: Callable[[], str] = str,
    ids: TrialIds | None = None,
) -> Record:
    """Trains, and tells `hear` of reports and states; an exception becomes a `failed` record with its traceback.

    A trial whose files of data, before and after, are not those that its id stands for has failed; with `ids` of this
    process, so has one whose id this process would not give it. `environment` describes where the trial ran, and
    `output` returns what it printed.
    """

    def emit(step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        reports = bool(metrics) or state is None
        stop = reports and hear(Progress(trial.id, step, dict(metrics))) and trial.prunable
        if state is not None:
            hear(Saved(trial.id, step, state))
        return stop

    # Before training: a commit that is made meanwhile is not what was trained.
    here = environment()
    clock = stopwatch()
    started = clock()
    try:
        _check_files(trial)
        if ids is not None:
            _check_sources(trial, ids)
        # A copy: what a workload does to its config is not what was asked for.
        record = _checked(
            workload.train(
                dataclasses.replace(
                    trial,
                    config=copy.deepcopy(trial.config),
                    stream="" if trial.stream == AGAIN else trial.stream,
                ),
                emit,
            )
        )
        _check_files(trial)
    except (Exception, SystemExit) as error:
        record = Record.of(
            trial, "failed", reason=str(raised_by_plugin(error) or described(error)[0]), error=trace(error)
        )
    return dataclasses.replace(
        record,
        id=trial.id,
        config=trial.config,
        seed=trial.seed,
        stream=trial.stream,
        data={**record.data, **{FILE + path: digest for path, digest in trial.files.items()}},
        output=output(),
        started_at=started,
        finished_at=clock(),
        environment={**here, **record.environment},
    )


def _check_files(trial: Trial) -> None:
    for path, digest in trial.files.items():
        if digest_of_file(path) != digest:
            raise AblateError(f"{path} changed while the study ran; run the study again")


def _check_sources(trial: Trial, ids: TrialIds) -> None:
    own = ids.identity(dict(trial.config))(trial.seed, trial.stream)
    if own != trial.id:
        package = Path(__file__).parents[1]
        raise AblateError(
            f"the worker would train {own}: its sources ({package}, the plugins and what they import) or libraries are "
            "not those of the driver, or have changed while the study ran; run the study again"
        )


def _checked(record: Record) -> Record:
    """The record with plain numbers, whatever kinds of number the workload uses."""
    if not isinstance(record, Record):
        raise TypeError(f"`train` must return a Record, not {type(record).__name__}")
    metrics = {name: None if value is None else float(value) for name, value in record.metrics.items()}
    record = dataclasses.replace(record, metrics=metrics)
    if fault := fault_of(record):
        raise TypeError(f"`train` returned a record that cannot be kept: {fault}")
    return record
