"""One trial, from its workload's `train` to a record: the same in a worker and in this process."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ablate.base.clock import stopwatch
from ablate.base.plugins import Plugin, load_plugin
from ablate.base.registry import CATALOGUE
from ablate.core.record import Record, Status
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Workload


@dataclasses.dataclass(frozen=True)
class WorkloadRef:
    """How another process finds the workload: its name, and the plugins to load first."""

    name: str
    plugins: tuple[Plugin, ...] = ()

    def load(self) -> Workload:
        """The workload, with its parts registered; plugins must be what the driver has loaded."""
        if self.name not in CATALOGUE.names("workload") and not self.plugins:
            CATALOGUE.load_builtin()
        for plugin in self.plugins:
            load_plugin(Path(plugin.path), plugin.digest)
        if self.name not in CATALOGUE.names("workload"):
            CATALOGUE.load_builtin()
        workload: Workload = CATALOGUE.get("workload", self.name)()
        workload.load_parts()
        return workload


def run_trial(workload: Workload, trial: Trial, emit: Emit, output: Callable[[], str] = str) -> Record:
    """Trains; an exception becomes a `failed` record with its traceback. `output` gives what was printed."""
    clock = stopwatch()
    started = clock()
    try:
        record = _checked(workload.train(trial, emit))
    except (Exception, SystemExit) as error:
        record = failed(trial, _reason(error), traceback.format_exc())
    return dataclasses.replace(record, output=output(), started_at=started, finished_at=clock())


def _checked(record: Record) -> Record:
    """The record with plain numbers, whatever kinds of number the workload uses."""
    if not isinstance(record, Record):
        raise TypeError(f"`train` must return a Record, not {type(record).__name__}")
    metrics = {name: None if value is None else float(value) for name, value in record.metrics.items()}
    return dataclasses.replace(record, metrics=metrics)


def failed(trial: Trial, reason: str, error: str = "", **more: Any) -> Record:
    """The record of a trial that did not come to an outcome."""
    status: Status = "failed"
    return Record(
        trial.id, trial.config, trial.seed, status, trial.stream, reason=reason, error=error, **more
    )


def _reason(error: BaseException) -> str:
    first = str(error).strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:300]}" if first else type(error).__name__
