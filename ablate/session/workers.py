"""The workers that train the trials of a study, and what they must know of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from ablate.base.plugins import load_plugin
from ablate.base.registry import UnknownPart
from ablate.base.text import DEFAULT_RESULTS
from ablate.core.events import Capacity, Engine
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import LocalPool, Server, default_jobs
from ablate.execution.engines.ray_cluster import RayCluster
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised
from ablate.records.environment import OwnCode, command_line
from ablate.session.options import Options
from ablate.study.document import base_of
from ablate.study.study import Study


class EngineClass(Protocol):
    """A class of engines, by the name that `--engine` gives it."""

    @property
    def name(self) -> str:
        """The word for `--engine`."""

    def __call__(self, reference: WorkloadRef, jobs: int | None, server: Server | None, /) -> Engine:
        """Makes an engine that trains what `reference` names.

        jobs: the most trials at once; None: as many as the machine can run. server: a process that forks workers, where
        the session has started one.
        """


ENGINES: tuple[EngineClass, ...] = (LocalPool, RayCluster)
"""The engines that `--engine` may name."""


def engine_named(name: str) -> EngineClass:
    """Returns the class of the engine of a name. Raises `AblateError` for a name that no engine has."""
    for engine in ENGINES:
        if engine.name == name:
            return engine
    raise UnknownPart("engine", name, [engine.name for engine in ENGINES])


def reference(study: Study, results: Path = DEFAULT_RESULTS) -> WorkloadRef:
    """Returns all that a worker must know to train the trials of a study; `results`: the folder of its results."""
    folder = base_of(study.path, study.config.folder)
    workload = study.workload
    files = [folder / name for name in study.config.plugins]
    plugins = tuple(load_plugin(file) for file in files)
    identity = dict(workload.identity(study.baseline_config))
    return WorkloadRef(
        workload.name,
        plugins,
        command=command_line(sys.argv),
        watched=(study.path, *files),
        threads=workload.threads,
        folder=folder,
        identity=identity,
        parallel=study.baseline_description.parallel,
        resources=study.config.resources,
        gpus=_gpus(study) if identity.get("device") == "cuda" else None,
        own=OwnCode(folder.absolute(), results.absolute()) if workload.runs_apart else None,
        packed=workload.pack(),
    )


def _gpus(study: Study) -> float | None:
    """Returns the most GPUs that a trial of a study takes; None where it says nothing of them."""
    stated: list[float] = []
    for variant in study.variants:
        gpus = study.workload.gpus(variant.configs[study.tasks[0]])
        if gpus is not None:
            stated.append(gpus)
    if stated:
        return max(stated)
    gpus = study.config.resources.gpus
    # One, which is not said of a study either, leaves it to `--jobs` whether workers share it.
    return None if gpus == 1 else gpus


def _more_fit(study: Study) -> str:
    """Says how more trials run at once; nothing where the study, or the machine, has no room for more."""
    more = study.workload.more_at_once(study.baseline_config, default_jobs())
    return f" ({more})" if more else ""


class Workers(Supervised):
    """The supervised engine of a run.

    It starts processes when it is given trials, and ends them when it is left.
    """

    def __init__(self, study: Study, options: Options, server: Server | None = None) -> None:
        """Makes the engine of `--engine`, or with `--jobs 0` one in this process. Raises `AblateError`."""
        self.workload = study.workload
        self.where = reference(study, options.results_folder)
        if options.jobs == 0:
            engine: Engine = InProcess(self.where, study.workload)
        else:
            engine = engine_named(options.engine)(self.where, options.jobs, server)
        super().__init__(engine, self.where.environment)
        self._more_fit = _more_fit(study) if options.jobs is None and options.engine == LocalPool.name else ""

    def capacity(self) -> Capacity:
        """Returns what the engine says, and how more trials run at once where the study leaves cores idle."""
        capacity = super().capacity()
        return replace(capacity, where=f"{capacity.where}{self._more_fit}")

    def freeze(self) -> None:
        """Fixes the code and data that trials get. Raises `AblateError`."""
        self.workload.freeze()
