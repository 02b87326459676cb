"""The built-in workload: a sequence model, trained on a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import torch
from pydantic import BaseModel

from ablate.errors import Gather, Invalid
from ablate.models.build import build_model
from ablate.models.flops import forward_flops
from ablate.records.record import Record
from ablate.registry import CATALOGUE, Section, Slot, register
from ablate.streams import stream_seed
from ablate.study.sections.model import ModelSection
from ablate.study.sections.training import TrainingSection
from ablate.tasks.task import Task
from ablate.training import loop
from ablate.training.fingerprint import fingerprint
from ablate.training.schedules import learning_rates
from ablate.workload import Description, Emit, Trial

TaskConfig = Annotated[Any, Slot("task")]


class TrialConfig(Section):
    """The config of one trial."""

    task: TaskConfig
    model: ModelSection
    training: TrainingSection


@register("workload", "sequence")
class SequenceWorkload:
    """`task:`, `model:` and `training:`; see `ablate.workload.Workload` for what each method promises."""

    def load_parts(self) -> None:
        """Registers every part of the package, and those of installed plugins."""
        CATALOGUE.load_builtin()

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """A task must be named; model and training have defaults, which are validated like what is given."""
        return {"task": (TaskConfig, ...), "model": (ModelSection, {}), "training": (TrainingSection, {})}

    def check(self, config: Mapping[str, Any]) -> None:
        """Builds everything, the model without memory; all problems at once."""
        trial = _parse(config)
        with Gather() as at:
            with at("training"):
                _check_training(trial.training)
            with at("training", "schedule"):
                learning_rates(trial.training)
            with at("task"):
                task: Task = trial.task.build()
                with at("model", "topology"):
                    _check_topology(trial.model.topology.name, task, trial.task.name)
                with at("model"):
                    model = build_model(trial.model, task.signature, device="meta")
                    with at("training", "optimizer"):
                        trial.training.optimizer.build(list(model.parameters()))

    def describe(self, config: Mapping[str, Any]) -> Description:
        """Metrics of the task, parameters by part, FLOPs of a forward pass on one example."""
        trial = _parse(config)
        task: Task = trial.task.build()
        model = build_model(trial.model, task.signature, device="meta")
        flops = forward_flops(trial.model, task.signature)
        return Description(task.metrics, model.parameters_by_part(), flops)

    def fingerprint(self, config: Mapping[str, Any]) -> str:
        """Of task and model; `training:` has no part in it."""
        trial = _parse(config)
        with _isolated("cpu", stream_seed(0, "global")):
            return fingerprint(trial.model, trial.task.build())

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Torch version, type of the device, dtype."""
        device = resolve_device(_parse(config).training.device)
        return {"torch": torch.__version__, "device": device, "dtype": "float32"}

    def irrelevant(self) -> tuple[str, ...]:
        """The device as asked for: the one that is used is in `identity`."""
        return ("training.device",)

    def sources(self, config: BaseModel) -> list[Any]:
        """What every trial runs through."""
        return [SequenceWorkload.train, loop.train, build_model]

    def train(self, trial: Trial, emit: Emit) -> Record:
        """One trial on one thread; torch's global generators are as they were when it ends."""
        config = _parse(trial.config)
        task: Task = config.task.build()
        device = resolve_device(config.training.device)
        with _isolated(device, stream_seed(trial.seed, "global", trial.stream)):
            model = build_model(
                config.model, task.signature, seed=trial.seed, stream=trial.stream, device=device
            )
            outcome = loop.train(model, task, config.training, trial.seed, emit)
        return Record(
            id=trial.id,
            config=trial.config,
            seed=trial.seed,
            stream=trial.stream,
            status=outcome.status,
            reason=outcome.reason,
            metrics=outcome.metrics,
            curves=outcome.curves,
            arrays=outcome.arrays,
            data=dict(task.digests(trial.seed)),
        )


def resolve_device(name: str) -> str:
    """`cpu` or `cuda`, for `auto` the second where there is one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return name


def _parse(config: Mapping[str, Any]) -> TrialConfig:
    return TrialConfig.model_validate(dict(config))


def _check_training(training: TrainingSection) -> None:
    with Gather() as at:
        with at():
            if training.warmup_steps > training.steps:
                raise Invalid(
                    "warmup_steps",
                    f"must not be more than steps = {training.steps}",
                    training.warmup_steps,
                    f"0 to {training.steps}",
                )
        with at():
            if training.device == "cuda" and not torch.cuda.is_available():
                raise Invalid(
                    "device", "needs a GPU that torch can use; there is none here", "cuda", "auto, cpu"
                )


def _check_topology(topology: str, task: Task, task_name: str) -> None:
    if topology not in task.topologies:
        raise Invalid("", f"must be one that task {task_name} supports", topology, ", ".join(task.topologies))


@contextmanager
def _isolated(device: str, seed: int) -> Iterator[None]:
    """One thread and, on CUDA, repeatable kernels; global generators start from `seed` and are restored.

    The harness draws nothing from the global generators: seeding them makes a plugin's modules repeat as well.
    """
    threads = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    devices = [torch.cuda.current_device()] if device == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        try:
            torch.set_num_threads(1)
            if device == "cuda":
                torch.use_deterministic_algorithms(True)
            torch.manual_seed(seed)
            yield
        finally:
            torch.use_deterministic_algorithms(deterministic)
            torch.set_num_threads(threads)
