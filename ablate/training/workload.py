"""The built-in workload: a sequence model, trained on a task."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from pydantic import BaseModel

from ablate.base.errors import Gather
from ablate.base.registry import CATALOGUE, register
from ablate.base.streams import stream_seed
from ablate.core.data_statement import DataStatement
from ablate.core.metric import Description, Metric
from ablate.core.record import Record
from ablate.core.signature import Signature
from ablate.core.speed import Operation
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Evaluation, Workload
from ablate.models.build import build_model
from ablate.models.contract import check_parts
from ablate.models.flops import Flops, count, skeleton
from ablate.models.inspection import measurable
from ablate.models.model import Model
from ablate.models.section import ModelSection
from ablate.tasks.mixed_columns import mixed_columns
from ablate.tasks.pool import Pool
from ablate.tasks.task import Task
from ablate.training.description import constants, stability, task_cautions
from ablate.training.evaluation import metrics_of
from ablate.training.fingerprint import fingerprint
from ablate.training.kept import check_evaluation, evaluate_kept
from ablate.training.limits import check_limits, check_memory
from ablate.training.operations import operations_of
from ablate.training.reach import unreached
from ablate.training.section import TrainingSection
from ablate.training.trial import TaskConfig, TrialConfig, isolated, parse, resolve_device, train_trial

# Used when the task cannot be built, so that the problems of the model are found too.
_STAND_IN = Signature(seq_len=8, num_outputs=2, vocab_size=2)


@register("workload", "sequence")
class SequenceWorkload(Workload):
    """The built-in workload, whose sections are `task:`, `model:` and `training:`; `train_trial` trains each trial."""

    keeps_weights = True
    resumes = True
    steps_path = "training.steps"
    rate_path = "training.lr"
    best_path = "training.evaluation.best"

    def __init__(self) -> None:
        # Many variants, and a search, ask for one model again and again: task and model → its facts.
        self._facts: dict[str, _ModelFacts] = {}
        # Task and skeleton → facts of all models of that skeleton.
        self._skeletons: dict[str, _SkeletonFacts] = {}
        # The last model that was built, since what is checked is then described.
        self._last: tuple[ModelSection, Signature, Model] | None = None
        # Models and parts that break no rule of the contract, which `check_parts` keeps.
        self._sound: set[Any] = set()

    def load_parts(self) -> None:
        """Registers, for the whole process, every part of the package and those of installed plugins."""
        CATALOGUE.load_builtin()

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """Returns the sections of a study, name → (type, default): `task`, which has no default and must be given,
        `model` and `training`.

        The defaults of model and training are validated like values that a study gives.
        """
        return {"task": (TaskConfig, ...), "model": (ModelSection, {}), "training": (TrainingSection, {})}

    def check(self, config: Mapping[str, Any]) -> None:
        """Checks a config in four steps, and raises `Invalid` with all problems of the first step that finds any, paths
        from the root: numbers beyond limits; training, task, model and optimizer; memory; the rules for a user's parts.

        The model is built on the meta device, without memory.
        """
        trial = _within_limits(config)
        with Gather() as at:
            _check_training(at, trial.training)
            signature = _STAND_IN
            with at("task"):
                task = trial.built_task()
                task.check_declared()
                signature = task.signature
                _check_task(at, trial, task)
            with at("model"):
                model = self._built(trial.model, signature)
                with at("training", "optimizer"):
                    _build_optimizer(trial.training, model)
            if not at.problems:
                check_memory(trial, signature, model)
                with at("model"), isolated("cpu", stream_seed(0, "global")):
                    check_parts(trial.model, signature, model, self._sound)

    def _built(self, section: ModelSection, signature: Signature) -> Model:
        """Returns the model of a section, built on the meta device, or the previous call's model where section and
        signature are unchanged. Raises `Invalid` where the model cannot be built, with paths from the section.
        """
        if self._last is None or self._last[:2] != (section, signature):
            self._last = section, signature, build_model(section, signature, device="meta")
        return self._last[2]

    def describe(self, config: Mapping[str, Any]) -> Description:
        """Returns metrics, sizes and costs of a config, found without training; FLOPs are None where they cannot be
        counted. Raises `Invalid` for a config beyond limits, or whose task or model cannot be built.
        """
        trial, task = _read(config)
        training = trial.training
        facts = self._facts_of(trial, task)
        flops = facts.skeleton.flops
        return Description(
            metrics=facts.metrics,
            parameters_by_part=facts.parameters_by_part,
            flops=flops.forward if flops else None,
            training_flops=flops.training if flops else None,
            beside=facts.beside,
            examples=training.steps * training.batch_size,
            reports=training.reports,
            validation=training.validation_size(task),
            forwarded=training.forwarded(task),
            outcome=task.outcome,
            sampling=task.sampling,
            stability=stability(trial, task, facts.layer_metrics),
            constants=constants(task, facts.metrics),
        )

    def _facts_of(self, trial: TrialConfig, task: Task) -> _ModelFacts:
        """Returns sizes, metrics and costs of a trial's model, found once for each pair of sections `task` and
        `model`.

        They do not depend on the section `training`.
        """
        key = repr((trial.task, trial.model))
        if key not in self._facts:
            self._facts[key] = self._find_facts(trial, task)
        return self._facts[key]

    def _find_facts(self, trial: TrialConfig, task: Task) -> _ModelFacts:
        """Returns sizes, metrics and costs of a trial's model, which is built on the meta device; models that differ
        only in neutral parts and dropout share the FLOPs. Raises `Invalid` where the model cannot be built.

        The paths of `Invalid` are from the model section. A model equal to the last is not built again.
        """
        model = self._built(trial.model, task.signature)
        parameters_by_part = model.parameters_by_part()
        shared_key = f"{trial.task!r} {skeleton(trial.model, model)}"
        if shared_key not in self._skeletons:
            num_parameters = sum(parameters_by_part.values())
            self._skeletons[shared_key] = _SkeletonFacts(trial.model, task, num_parameters)
        shared = self._skeletons[shared_key]
        return _ModelFacts(
            parameters_by_part=parameters_by_part,
            layer_metrics=measurable(model),
            beside=shared.flops.beside(model) if shared.flops else {},
            metrics=metrics_of(model, task),
            skeleton=shared,
        )

    def parameters(self, config: Mapping[str, Any]) -> int:
        """Returns the number of trainable parameters of a config, without counting FLOPs. Raises `Invalid` for a config
        beyond limits, or whose task or model cannot be built.
        """
        trial, task = _read(config)
        return sum(self._built(trial.model, task.signature).parameters_by_part().values())

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """Returns texts on what limits a verdict on a config: table columns whose numbers are read as names, inputs
        that the output cannot depend on, and the cautions on its task (`task_cautions`). Raises `Invalid` for a config
        beyond limits, or whose task or model cannot be built.
        """
        trial, task = _read(config)
        draws = trial.training.steps * trial.training.batch_size
        unreached = self._facts_of(trial, task).skeleton.unreached
        return [*mixed_columns(trial.task), *unreached, *task_cautions(task, draws)]

    def advice(self, config: Mapping[str, Any]) -> list[str]:
        """Returns one text where a config trains for fewer steps than its task recommends; else an empty list."""
        trial = _within_limits(config)
        steps = trial.training.steps
        task_class: type[Task] = type(trial.task).part
        recommended = task_class.recommended.get("training", {}).get("steps")
        if recommended is None or steps >= recommended:
            return []
        return [
            f"gets {steps:,} training steps; a small baseline takes about {recommended:,} to learn it "
            f"(`ablate list task {trial.task.name}`)"
        ]

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement | None:
        """Returns None for every config: a study states nothing about its data, because each task says itself how its
        test examples are drawn.
        """
        return None

    def fingerprint(self, config: Mapping[str, Any]) -> str:
        """Returns 32 hexadecimal digits, equal for configs whose task and model compute the same from the same initial
        values, whatever the section `training`. Raises `Invalid` for a config beyond limits, or whose task or model
        cannot be built.
        """
        with isolated("cpu", stream_seed(0, "global")):
            trial, task = _read(config)
            with Gather() as at, at("model"):
                digest = fingerprint(trial.model, task)
        return digest

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns name → text of what a result depends on beside the config: the version of `torch`, the type of
        `device` that is used, `dtype`, and `threads` where there is more than one.
        """
        device = resolve_device(parse(config).training.device)
        versions = {"torch": str(torch.__version__), "device": device, "dtype": "float32"}
        return {**super().identity(config), **versions}

    def irrelevant(self) -> tuple[str, ...]:
        """Returns `training.device` alone: trial ids leave out the requested device, since `identity` has the device
        that is used.
        """
        return ("training.device",)

    def sources(self, config: BaseModel) -> list[Any]:
        """Returns a list of `train_trial` alone: trial ids stand for the source of this function, not for this class
        and its checks.
        """
        return [train_trial]

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Builds and trains the model of a trial, and returns its record."""
        return train_trial(trial, emit, self.threads)

    def operations(self, config: Mapping[str, Any]) -> Mapping[str, Operation]:
        """Returns name → operation that can be timed: `forward`, `step` and, for a causal model without segments,
        `generation`. Builds the model in memory, not on the meta device.
        """
        return operations_of(_within_limits(config), partial(self.describe, config), self.threads)

    def check_evaluation(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        """Raises `Invalid`, with paths from the root, where a number of the section `task` is beyond limits, or a model
        trained on `config` cannot be evaluated on `task`.
        """
        check_limits({"task": task})
        check_evaluation(config, task)

    def evaluate(self, trial: Trial, weights: bytes, task: Mapping[str, Any]) -> Evaluation:
        """Returns metrics and attention weights of kept weights on the test split that the section `task` has for the
        trial's seed.
        """
        return evaluate_kept(trial, weights, task, self.threads)


@dataclass(frozen=True)
class _ModelFacts:
    """The sizes, descriptions of metrics, and costs of a model on a task; none of them depends on the section
    `training`.
    """

    parameters_by_part: Mapping[str, int]
    layer_metrics: Set[str]  # Names of the metrics that its layers have.
    beside: Mapping[str, int]  # See `Description.beside`.
    metrics: Mapping[str, Metric]
    skeleton: _SkeletonFacts


@dataclass(frozen=True)
class _SkeletonFacts:
    """The FLOPs and unreached inputs of a model, found when asked for; models that differ in neutral parts and
    dropout alone share them.

    See `flops.skeleton`. A plugin may not stand to be looked into, in float64 or on made-up values; it can train all
    the same.
    """

    section: ModelSection
    task: Task
    num_parameters: int

    @cached_property
    def flops(self) -> Flops | None:
        """The floating-point operations of one example, forward and in training; None where counting raises."""
        with suppress(Exception), isolated("cpu", stream_seed(0, "global")):
            return count(self.section, self.task.signature, self.num_parameters)
        return None

    @cached_property
    def unreached(self) -> list[str]:
        """Texts on the inputs that the output cannot see, as `reach.unreached` returns them; an empty list where the
        search raises.
        """
        with suppress(Exception), isolated("cpu", stream_seed(0, "global")):
            return unreached(self.section, self.task)
        return []


def _read(config: Mapping[str, Any]) -> tuple[TrialConfig, Task]:
    """Returns the sections of a trial's config, and the task built for the model's topology. Raises `Invalid` for
    numbers beyond limits and for a task that cannot be built, `ValidationError` for wrong fields.
    """
    trial = _within_limits(config)
    return trial, trial.built_task()


def _within_limits(config: Mapping[str, Any]) -> TrialConfig:
    """Returns the sections of a trial's config. Raises `Invalid` for numbers beyond limits, else `ValidationError`
    for wrong fields.
    """
    check_limits(config)
    return parse(config)


def _check_training(at: Gather, training: TrainingSection) -> None:
    """Collects in `at` the problems of the training section alone: more warm-up steps than steps, a GPU that is not
    there, a schedule that cannot be built.
    """
    warmup = training.warmup_steps
    steps = training.steps
    rule = f"must not be more than steps = {steps}"
    at.refuse(warmup > steps, "training.warmup_steps", rule, warmup, f"0 to {steps}")
    lacks_gpu = training.device == "cuda" and not torch.cuda.is_available()
    rule = "needs a GPU that torch can use; there is none here"
    at.refuse(lacks_gpu, "training.device", rule, "cuda", "auto, cpu")
    with at("training", "schedule"):
        training.schedule.build()


def _check_task(at: Gather, trial: TrialConfig, task: Task) -> None:
    """Collects in `at` a topology that the task does not support and, for a data set, a batch larger than its
    training examples.
    """
    topology = trial.model.topology.name
    rule = f"must be one that task {trial.task.name} supports"
    at.refuse(topology not in task.topologies, "model.topology", rule, topology, ", ".join(task.topologies))
    if not isinstance(task, Pool):
        return
    batch_size = trial.training.batch_size
    examples = len(task.indices(0)["train"])
    rule = f"must not be more than the {examples} examples for training"
    at.refuse(batch_size > examples, "training.batch_size", rule, batch_size, f"1 to {examples}")


def _build_optimizer(training: TrainingSection, model: Model) -> None:
    """Builds the optimizer for one parameter of each number of dimensions in the model, and drops the optimizer. Raises
    `Invalid` where the optimizer refuses its config or these parameters.
    """
    by_dimensions = {parameter.ndim: parameter for parameter in model.parameters()}
    training.optimizer.build(list(by_dimensions.values()))
