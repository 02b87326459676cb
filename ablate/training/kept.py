"""Evaluation of kept weights on the test split of the study's task, or of one that differs a little."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import CATALOGUE
from ablate.base.streams import stream_seed
from ablate.core.metric import sign
from ablate.core.signature import Signature
from ablate.core.trial import Trial
from ablate.core.workload import Evaluation
from ablate.models.attention import Attention
from ablate.models.build import build_model
from ablate.models.inspection import attention_maps, cut, layer_metrics, without_head
from ablate.models.model import Model
from ablate.tasks.task import Batch, Task
from ablate.training.evaluation import evaluate_split
from ablate.training.resume import unpack
from ablate.training.trial import TrialConfig, isolated, parse, resolve_device

EXAMPLES = 3  # Largest number of examples whose attention weights are returned.
# Largest number of attention weights of one variant that are returned; long sequences get fewer examples.
MAX_WEIGHTS = 1 << 20
KNOCKED_OUT = 1024  # Test examples at most that a model without a head is evaluated on.
CHUNK = 1 << 24  # Largest number of attention weights of one head that are computed together.


def check_evaluation(config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
    """Raises `Invalid`, with paths from the root, unless a model trained on `config` can be evaluated on `task`: `task`
    can be built, its inputs and outputs differ from those of training at most in length, and position and mixer can
    read that length.
    """
    trial = parse(config)
    trained = trial.built_task().signature
    with Gather() as at:
        with at("task"):
            evaluated = parse({**config, "task": task}).built_task().signature
        if at.problems:
            return
        with at("task"):
            _check_signature(trained, evaluated)
        _check_length(at, trial, trained.seq_len, evaluated.seq_len)
        if trained.source is not None and evaluated.source is not None:
            _check_length(at, trial, trained.source.seq_len, evaluated.source.seq_len)


def _check_signature(trained: Signature, evaluated: Signature) -> None:
    """Raises `Invalid` for the first field in which two signatures differ, apart from their `seq_len` and that of their
    sources.
    """
    if trained.source is not None and evaluated.source is not None:
        trained = replace(trained, source=replace(trained.source, seq_len=0))
        evaluated = replace(evaluated, source=replace(evaluated.source, seq_len=0))
    values = vars(evaluated)
    for field, value in vars(trained).items():
        if field != "seq_len" and values[field] != value:
            rule = f"must leave the {field} of the model's input and output as they were in training"
            raise Invalid("", rule, values[field], str(value))


def _check_length(at: Gather, trial: TrialConfig, trained: int, evaluated: int) -> None:
    """Collects a problem in `at` for each part, position or mixer, that cannot read lengths beyond `trained`, where
    `evaluated` is a greater length.
    """
    if evaluated <= trained:
        return
    rule = f"ends at length {trained}, the longest of training, and cannot be evaluated at {evaluated}"
    for slot, part in (("position", trial.model.position), ("mixer", trial.model.mixer)):
        # A plugin's module may not say; it is then assumed to have no longest sequence.
        is_bounded = not getattr(part.part, "any_length", True)
        able = ", ".join(CATALOGUE.able(slot, "any_length", silent=True))
        at.refuse(is_bounded, f"model.{slot}", rule, part.name, able)


def evaluate_kept(trial: Trial, weights: bytes, task: Mapping[str, Any], threads: int = 1) -> Evaluation:
    """Evaluates kept weights on the test split that `task` has for the trial's seed. Returns the task's metrics, those
    of the layers, the first metric with each attention head removed, on the first `KNOCKED_OUT` examples, and the
    attention weights of at most `EXAMPLES` examples.

    `task` is a section of a study. Decoded metrics and slices are not evaluated.
    """
    config = parse(trial.config)
    evaluated = parse({**trial.config, "task": task}).built_task()
    device = resolve_device(config.training.device)
    with isolated(device, stream_seed(trial.seed, "global", trial.stream), threads):
        # With the sizes of training, whatever it is evaluated on.
        model = build_model(
            config.model, config.built_task().signature, seed=trial.seed, stream=trial.stream, device=device
        )
        unpack(weights, model)
        split = evaluated.split(trial.seed, "test", device)
        metrics = evaluate_split(model, evaluated, split)
        metrics |= layer_metrics(model, cut(split, CHUNK))
        metrics |= _without_heads(model, evaluated, split[:KNOCKED_OUT])
        maps = _attention(model, split)
    # The parts that decide, beside the weights, which position attends to which.
    parts = (config.model.mixer, config.model.position, config.model.topology)
    return Evaluation(metrics, maps, json.dumps([part.model_dump() for part in parts]))


def _attention(model: Model, split: Batch) -> dict[str, NDArray[np.float32]]:
    """Returns the attention weights of the first N ≤ `EXAMPLES` examples, path of the module → (N, H, T_q, T_k), NaN
    at padding.

    N is as many as `MAX_WEIGHTS` numbers in all allow, at least one.
    """
    examples = next(iter(split.chunks(EXAMPLES)))
    maps: dict[str, NDArray[np.float32]] = {}
    for path, weights in attention_maps(model, examples, padding=math.nan).items():
        maps[path] = weights.cpu().numpy().astype(np.float32)
    total = sum(weights.size for weights in maps.values())
    count = max(1, EXAMPLES * MAX_WEIGHTS // max(1, total))
    return {path: weights[:count] for path, weights in maps.items()}


def _without_heads(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """Returns the task's first metric M with each attention head removed in turn, as `M_without_a_head/PATH/HEAD` with
    heads counted from 1, the mean of these values as `M_without_a_head`, and the worst of them as
    `M_without_its_best_head`; {} for a model without attention heads.
    """
    name, metric = next(iter(task.metrics.items()))
    values = {}
    for path, module in model.named_modules():
        if not isinstance(module, Attention):
            continue
        for head in range(module.num_heads):
            with without_head(module, head):
                metrics = evaluate_split(model, task, split)
            values[f"{name}_without_a_head/{path}/{head + 1}"] = metrics[name]
    if not values:
        return {}
    worst = min(values.values(), key=lambda value: sign(metric) * value)
    return {
        f"{name}_without_a_head": fmean(values.values()),
        f"{name}_without_its_best_head": worst,
        **values,
    }
