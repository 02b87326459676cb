"""The built-in workload: a sequence model, trained on a task."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from pydantic import BaseModel

from ablate.base.errors import Gather
from ablate.base.registry import CATALOGUE, register
from ablate.base.streams import stream_seed
from ablate.base.wording import exact
from ablate.core.data_statement import DataStatement
from ablate.core.metric import Description, Metric, sign
from ablate.core.record import Record
from ablate.core.signature import Signature
from ablate.core.speed import Operation
from ablate.core.spelling import spelled
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Evaluation, Workload
from ablate.models.build import build_model
from ablate.models.contract import check_parts
from ablate.models.flops import Flops, count, skeleton
from ablate.models.inspection import DEAD, LOGIT, measurable
from ablate.models.model import Model
from ablate.models.section import ModelSection
from ablate.tasks.mixed_columns import mixed_columns
from ablate.tasks.pool import Pool
from ablate.tasks.task import Task
from ablate.training.evaluation import metrics_of
from ablate.training.history import WINDOW
from ablate.training.kept import check_evaluation, evaluate_kept
from ablate.training.limits import check_limits, check_memory
from ablate.training.operations import operations_of
from ablate.training.probes import fingerprint, unreached
from ablate.training.section import TrainingSection
from ablate.training.trial import TaskConfig, TrialConfig, isolated, parse, resolve_device, train_trial


@register("workload", "sequence")
class SequenceWorkload(Workload):
    """`task:`, `model:` and `training:`, trained by `train_trial`."""

    keeps_weights = True
    resumes = True
    steps_path = "training.steps"
    rate_path = "training.lr"
    best_path = "training.evaluation.best"

    def __init__(self) -> None:
        self._models: dict[str, _Model] = {}
        self._skeletons: dict[str, _Skeleton] = {}
        # The last, since what is checked is then described.
        self._last: tuple[ModelSection, Signature, Model] | None = None
        self._sound: set[Any] = set()

    def _built(self, section: ModelSection, signature: Signature) -> Model:
        """On the meta device. Raises `Invalid` with paths from the section."""
        if self._last is None or self._last[:2] != (section, signature):
            self._last = section, signature, build_model(section, signature, device="meta")
        return self._last[2]

    def _known(self, trial: TrialConfig, task: Task) -> _Model:
        """Many variants, and a search, ask for one model again and again."""
        key = repr((trial.task, trial.model))
        if key not in self._models:
            model = self._built(trial.model, task.signature)
            parameters, shared = model.parameters_by_part(), f"{trial.task!r} {skeleton(trial.model, model)}"
            found = self._skeletons.setdefault(shared, _Skeleton(trial.model, task, sum(parameters.values())))
            beside = found.flops.beside(model) if found.flops else {}
            self._models[key] = _Model(parameters, measurable(model), beside, metrics_of(model, task), found)
        return self._models[key]

    def load_parts(self) -> None:
        """Registers every part of the package, and those of installed plugins."""
        CATALOGUE.load_builtin()

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """A task must be named; model and training have defaults, which are validated like what is given."""
        return {"task": (TaskConfig, ...), "model": (ModelSection, {}), "training": (TrainingSection, {})}

    def check(self, config: Mapping[str, Any]) -> None:
        """Builds everything, the model without memory; all problems at once."""
        trial = _within_limits(config)
        training = trial.training
        warmup, steps, device = training.warmup_steps, training.steps, training.device
        batch = training.batch_size
        with Gather() as at:
            rule = f"must not be more than steps = {steps}"
            at.refuse(warmup > steps, "training.warmup_steps", rule, warmup, f"0 to {steps}")
            no_gpu = device == "cuda" and not torch.cuda.is_available()
            rule = "needs a GPU that torch can use; there is none here"
            at.refuse(no_gpu, "training.device", rule, "cuda", "auto, cpu")
            with at("training", "schedule"):
                training.schedule.build()
            signature = _STAND_IN
            with at("task"):
                task = trial.built_task()
                task.check_declared()
                signature = task.signature
                topology, able = trial.model.topology.name, task.topologies
                rule = f"must be one that task {trial.task.name} supports"
                at.refuse(topology not in able, "model.topology", rule, topology, ", ".join(able))
                held = len(task.indices(0)["train"]) if isinstance(task, Pool) else batch
                rule = f"must not be more than the {held} examples for training"
                at.refuse(batch > held, "training.batch_size", rule, batch, f"1 to {held}")
            with at("model"):
                model = self._built(trial.model, signature)
                with at("training", "optimizer"):
                    # One of each number of dimensions.
                    training.optimizer.build(list({p.ndim: p for p in model.parameters()}.values()))
            if not at.problems:
                check_memory(trial, signature, model)
                with at("model"), isolated("cpu", stream_seed(0, "global")):
                    check_parts(trial.model, signature, model, self._sound)

    def describe(self, config: Mapping[str, Any]) -> Description:
        """Metrics of the task, parameters by part, FLOPs of one example; None where they cannot be counted."""
        trial, task = _read(config)
        known, training = self._known(trial, task), trial.training
        flops = known.skeleton.flops
        return Description(
            known.metrics,
            known.parameters_by_part,
            flops.forward if flops else None,
            training_flops=flops.training if flops else None,
            beside=known.beside,
            examples=training.steps * training.batch_size,
            reports=training.reports,
            validation=training.validation_size(task),
            forwarded=training.forwarded(task),
            outcome=task.outcome,
            sampling=task.sampling,
            stability=_stability(trial, task, known.measured),
            constants=_constants(task, known.metrics),
        )

    def parameters(self, config: Mapping[str, Any]) -> int:
        """Trainable parameters alone, without counting FLOPs."""
        trial, task = _read(config)
        return sum(self._built(trial.model, task.signature).parameters_by_part().values())

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """Numbers read as names, inputs out of reach, test examples seen in training, the best without an ability."""
        trial, task = _read(config)
        draws = trial.training.steps * trial.training.batch_size
        unreached = self._known(trial, task).skeleton.unreached
        return [*mixed_columns(trial.task), *unreached, *_of_task(task, draws)]

    def advice(self, config: Mapping[str, Any]) -> list[str]:
        """Says where a config trains for fewer steps than its task recommends."""
        trial = _within_limits(config)
        steps = trial.training.steps
        part: type[Task] = type(trial.task).part
        recommended = part.recommended.get("training", {}).get("steps")
        if recommended is None or steps >= recommended:
            return []
        return [
            f"gets {steps:,} training steps; a small baseline takes about {recommended:,} to learn it "
            f"(`ablate list task {trial.task.name}`)"
        ]

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement | None:
        """Nothing: tasks say how their test examples are drawn."""
        return None

    def fingerprint(self, config: Mapping[str, Any]) -> str:
        """Of task and model, without `training:`."""
        with isolated("cpu", stream_seed(0, "global")):
            trial, task = _read(config)
            with Gather() as at, at("model"):
                digest = fingerprint(trial.model, task)
        return digest

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Torch version, type of the device, dtype; number of threads, where it is not 1."""
        device = resolve_device(parse(config).training.device)
        own = {"torch": str(torch.__version__), "device": device, "dtype": "float32"}
        return {**super().identity(config), **own}

    def irrelevant(self) -> tuple[str, ...]:
        """The requested device, since `identity` has the one that is used."""
        return ("training.device",)

    def sources(self, config: BaseModel) -> list[Any]:
        """The path of every trial, without the checks and descriptions of this class."""
        return [train_trial]

    def train(self, trial: Trial, emit: Emit) -> Record:
        return train_trial(trial, emit, self.threads)

    def operations(self, config: Mapping[str, Any]) -> Mapping[str, Operation]:
        return operations_of(_within_limits(config), partial(self.describe, config), self.threads)

    def check_evaluation(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        check_limits({"task": task})
        check_evaluation(config, task)

    def evaluate(self, trial: Trial, weights: bytes, task: Mapping[str, Any]) -> Evaluation:
        return evaluate_kept(trial, weights, task, self.threads)


@dataclass(frozen=True)
class _Model:
    """What is known of a model on a task, whatever its training."""

    parameters_by_part: Mapping[str, int]
    measured: Set[str]
    beside: Mapping[str, int]
    metrics: Mapping[str, Metric]
    skeleton: _Skeleton


@dataclass(frozen=True)
class _Skeleton:
    """What is known of all models of one skeleton on a task.

    A plugin may not stand to be looked into, in float64 or on made-up values; it can train all the same.
    """

    section: ModelSection
    task: Task
    parameters: int

    @cached_property
    def flops(self) -> Flops | None:
        """None where they cannot be counted."""
        with suppress(Exception), isolated("cpu", stream_seed(0, "global")):
            return count(self.section, self.task.signature, self.parameters)
        return None

    @cached_property
    def unreached(self) -> list[str]:
        with suppress(Exception), isolated("cpu", stream_seed(0, "global")):
            return unreached(self.section, self.task)
        return []


def _read(config: Mapping[str, Any]) -> tuple[TrialConfig, Task]:
    """Returns the sections of a trial's config, and its task."""
    trial = _within_limits(config)
    return trial, trial.built_task()


def _within_limits(config: Mapping[str, Any]) -> TrialConfig:
    """The sections of a trial that may be built; raises `Invalid` for one that is too large."""
    check_limits(config)
    return parse(config)


def _stability(trial: TrialConfig, task: Task, measured: Collection[str]) -> dict[str, Metric]:
    """What a record says of stability, and in which direction it is better; attention may be spread or not."""
    found = {"test_loss": Metric("min", floor=task.chance_loss), "grad_norm_max": Metric("min")}
    if (steps := trial.training.steps - WINDOW) > 0:
        found["loss_spikes"] = Metric("min", 1 / steps, floor=1.0, ceiling=0.0)
    of_layers = {LOGIT: Metric("min"), DEAD: Metric("min", floor=1.0, ceiling=0.0)}
    asked = measured if trial.training.evaluation.layers else ()
    return found | {name: metric for name, metric in of_layers.items() if name in asked}


def _constants(task: Task, metrics: Mapping[str, Metric]) -> dict[str, Mapping[str, float]]:
    """What claims may compare with: of each metric the value of guessing, and the task's own constants."""
    chance = {name: of.floor for name, of in metrics.items() if of.floor is not None}
    return {GUESSING: chance, **task.constants()}


def _of_task(task: Task, draws: int) -> Iterator[str]:
    """What limits every model on a task, after so many training examples."""
    yield from task.cautions()
    metric, facts = next(iter(task.metrics.items()))
    share = task.coverage(draws)
    if share is not None and share > OVERLAP:
        yield f"{100 * share:.0f} % of the test examples occur among the {draws:,} that training draws"
    for name, values in task.constants().items():
        best, lacking = values.get(metric), name.startswith("without_")
        if (
            lacking
            and best is not None
            and facts.floor is not None
            and sign(facts) * (best - facts.floor) > 0
        ):
            chance = f"chance is {exact(facts.floor)}"
            yield f"{spelled(name)}, the best {spelled(metric)} is {exact(best)}; {chance}"


GUESSING = "guessing"
OVERLAP = 0.01  # Share of the test examples that training may have seen without a word.
# Used when the task cannot be built, so that the problems of the model are found too.
_STAND_IN = Signature(seq_len=8, num_outputs=2, vocab_size=2)
