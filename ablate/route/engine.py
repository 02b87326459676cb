"""Where the trials of a study run: workers that import ahead, and the engine for what is to be trained."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Thread

from ablate.base.plugins import load_plugin
from ablate.core.events import Asked, Event
from ablate.execution.in_process import InProcess
from ablate.execution.local_pool import LocalPool, Standby, default_jobs
from ablate.execution.supervisor import Supervised
from ablate.execution.trial import WorkloadRef
from ablate.records.environment import command_line
from ablate.study.document import Document
from ablate.study.experiment import Experiment
from ablate.study.load import DEFAULT_WORKLOAD


def standby(document: Document, jobs: int | None) -> Standby:
    """Workers for a study of the package's own workload; others may need none of its parts."""
    if document.data.get("workload", DEFAULT_WORKLOAD) != DEFAULT_WORKLOAD:
        return Standby(0)
    return Standby(default_jobs() if jobs is None else jobs)


def reference(experiment: Experiment) -> WorkloadRef:
    """All that a worker needs to train the study's trials."""
    files = [experiment.study.base(experiment.path) / name for name in experiment.study.plugins]
    plugins = tuple(load_plugin(file) for file in files)
    return WorkloadRef(experiment.study.workload, plugins, command_line(sys.argv), (experiment.path, *files))


def number_of_jobs(experiment: Experiment, jobs: int | None) -> tuple[int, int]:
    """Worker processes, by default one a GPU or one a core; and the number of GPUs, 0 where the study uses none."""
    config = experiment.variants[0].configs[0]
    devices = 0
    if experiment.workload.identity(config).get("device") == "cuda":
        import torch

        devices = torch.cuda.device_count()
    return (devices or default_jobs()) if jobs is None else jobs, devices


class Workers(Supervised):
    """The supervised engine of a run: it starts processes when it is given trials, and ends them when it is left."""

    def __init__(self, experiment: Experiment, jobs: int | None, ready: Standby) -> None:
        self.where, self._ready = reference(experiment), ready
        self.jobs, devices = number_of_jobs(experiment, jobs)
        pool = LocalPool(self.where, self.jobs, devices, ready) if self.jobs else None
        super().__init__(pool or InProcess(self.where, experiment.workload), self.where.environment)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
        self._ready.close()


def preload(event: Event) -> None:
    """A listener: while the workers train, the driver imports what the report needs."""
    if isinstance(event, Asked) and event.to_train and "ablate.report.page" not in sys.modules:
        Thread(target=lambda: import_module("ablate.report.page"), daemon=True).start()
