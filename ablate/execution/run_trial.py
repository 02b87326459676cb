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
from ablate.core.events import OnEvent, Progress, Saved
from ablate.core.record import FILE, INPUTS, Record
from ablate.core.trial import REPEATED, Trial
from ablate.core.workload import Workload
from ablate.records.environment import OwnCode, environment, kind
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
    # The number of threads that each trial may use.
    threads: int = 1
    # The folder to which paths of the study are relative.
    folder: Path = Path()
    # What the baseline's ids stand for beside config and sources, as of `Workload.identity`.
    identity: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Whether several trials may run at once.
    parallel: bool = True
    resources: ResourcesSection = dataclasses.field(default_factory=ResourcesSection)
    # The number of GPUs that the study gives a trial; None: it says nothing, so that workers may share one.
    gpus: float | None = None
    # Where the training code lies, if trials run apart; its commit is then that of the study.
    own: OwnCode | None = None
    # What the workload in the driver has packed.
    packed: bytes = dataclasses.field(default=b"", repr=False)

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
        if self.packed:
            workload.unpack(self.packed)
        workload.load_parts()
        return workload

    def environment(self) -> dict[str, Any]:
        """Returns command, commit, versions and machine of this process, and the kind of the machine."""
        return environment(self.command, self.watched, self.own) | {"kind": kind(self.device)}


_NO_REASON = "its workload gave no reason"


def run_trial(
    workload: Workload,
    trial: Trial,
    on_event: OnEvent,
    environment: Callable[[], Mapping[str, Any]] = dict,
    output: Callable[[], str] = str,
    ids: TrialIds | None = None,
) -> Record:
    """Trains, and tells `on_event` of reports and states; an exception becomes a `failed` record with its traceback.

    A trial whose files of data, before and after, are not those that its id stands for has failed; with `ids` of this
    process, so has one whose id this process would not give it. `environment` describes where the trial ran, and
    `output` returns what it printed.
    """
    # Before training: a commit that is made meanwhile is not what was trained.
    here = environment()
    clock = stopwatch()
    started = clock()
    try:
        _check_files(trial)
        if ids is not None:
            _check_sources(trial, ids)
        record = _train(workload, trial, on_event)
        _check_files(trial)
    except (Exception, SystemExit) as error:
        reason = str(raised_by_plugin(error) or described(error)[0])
        record = Record.of(trial, "failed", reason=reason, error=trace(error))
    if record.status == "failed" and not record.reason.strip():
        record = dataclasses.replace(record, reason=_NO_REASON)
    files = {FILE + path: digest for path, digest in trial.files.items()}
    return dataclasses.replace(
        record,
        id=trial.id,
        config=trial.config,
        seed=trial.seed,
        stream=trial.stream,
        data={**record.data, **files},
        output=output(),
        started_at=started,
        finished_at=clock(),
        environment={**here, **record.environment},
    )


def _train(workload: Workload, trial: Trial, on_event: OnEvent) -> Record:
    """Returns the record that the workload makes of a trial. Raises whatever the workload raises, and `TypeError`."""

    def emit(step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        ends = False
        if metrics or state is None:
            ends = on_event(Progress(trial.id, step, dict(metrics))) and trial.prunable
        if state is not None:
            on_event(Saved(trial.id, step, state))
        return ends

    given = dataclasses.replace(
        trial,
        # A copy: what a workload does to its config is not what was asked for.
        config=copy.deepcopy(trial.config),
        stream="" if trial.stream in REPEATED else trial.stream,
    )
    record = _checked(workload.train(given, emit))
    inputs = workload.inputs(trial)
    if inputs:
        record.environment[INPUTS] = inputs
    return record


def _check_files(trial: Trial) -> None:
    """Raises `AblateError` where a file of data is not the one that the id of the trial stands for."""
    for path, digest in trial.files.items():
        if digest_of_file(path) != digest:
            raise AblateError(f"{path} changed while the study ran; run the study again")


def _check_sources(trial: Trial, ids: TrialIds) -> None:
    """Raises `AblateError` where the sources of this process would give the trial another id."""
    identity = ids.identity(dict(trial.config))
    trial_id = identity(trial.seed, trial.stream)
    if trial_id != trial.id:
        package = Path(__file__).parents[1]
        raise AblateError(
            f"the sources of the worker ({package}, the plugins and what they import) or its libraries are not those "
            "of the driver, or have changed while the study ran; run the study again"
        )


def _checked(record: Record) -> Record:
    """Returns the record with plain numbers, whatever kinds of number the workload uses.

    Raises `TypeError` for what is no record that can be kept.
    """
    if not isinstance(record, Record):
        raise TypeError(f"`train` must return a Record, not {type(record).__name__}")
    metrics = {name: None if value is None else float(value) for name, value in record.metrics.items()}
    record = dataclasses.replace(record, metrics=metrics)
    fault = fault_of(record)
    if fault:
        raise TypeError(f"`train` returned a record that cannot be kept: {fault}")
    return record
