"""One trial of a sequence model → one record."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import torch

from ablate.base.registry import Slot, StrictModel
from ablate.base.streams import stream_seed
from ablate.core.record import Record
from ablate.core.trial import Emit, Trial
from ablate.models.build import build_model
from ablate.models.section import ModelSection
from ablate.tasks.task import Task
from ablate.training.loop import train
from ablate.training.section import TrainingSection

TaskConfig = Annotated[Any, Slot("task")]


class TrialConfig(StrictModel):
    """The resolved config of one trial: its sections `task`, `model` and `training`."""

    task: TaskConfig
    model: ModelSection
    training: TrainingSection

    def built_task(self) -> Task:
        """Builds the task, laid out for the model's topology. Raises `Invalid` where the task cannot be built, with
        paths that begin inside the section `task`: `seq_len`, not `task.seq_len`.
        """
        task: Task = self.task.build()
        return task.for_topology(self.model.topology.name)


def train_trial(trial: Trial, emit: Emit, threads: int = 1) -> Record:
    """Builds and trains the model of a trial on `threads` threads, and returns its record; torch's global generators,
    number of threads and choice of kernels are restored.
    """
    config = parse(trial.config)
    task = config.built_task()
    device = resolve_device(config.training.device)
    with isolated(device, stream_seed(trial.seed, "global", trial.stream), threads):
        model = build_model(config.model, task.signature, seed=trial.seed, stream=trial.stream, device=device)
        return train(model, task, config.training, trial, emit)


def resolve_device(name: str) -> str:
    """Returns `cpu` or `cuda`: for `auto`, `cuda` where torch can use a GPU, else `cpu`; any other name as it is."""
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def parse(config: Mapping[str, Any]) -> TrialConfig:
    """Returns the sections of a trial from nested plain data. Raises pydantic's `ValidationError` for unknown,
    missing or wrong fields.
    """
    return TrialConfig.model_validate(dict(config))


@contextmanager
def isolated(device: str, seed: int, threads: int = 1) -> Iterator[None]:
    """Runs its block on `threads` threads with torch's global generators seeded by `seed` and, for `cuda`, with
    repeatable kernels. Afterwards restores threads, kernels and the generators of the CPU and, for `cuda`, of the
    current GPU; `CUBLAS_WORKSPACE_CONFIG` stays set.

    The harness draws nothing from the global generators; seeded, a plugin's modules repeat too.
    """
    threads_before = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        try:
            torch.set_num_threads(threads)
            if device == "cuda":
                # cuBLAS needs it to repeat itself, and reads it when its first handle is made.
                os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
                torch.use_deterministic_algorithms(True)
            torch.manual_seed(seed)
            yield
        finally:
            if device == "cuda":
                torch.use_deterministic_algorithms(deterministic)
            torch.set_num_threads(threads_before)
