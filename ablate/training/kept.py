"""Evaluation of kept weights on the test split of the study's task, or of one that differs a little."""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from statistics import fmean
from typing import Any

import numpy as np

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
from ablate.training.evaluation import evaluate
from ablate.training.resume import unpack
from ablate.training.trial import isolated, parse, resolve_device

EXAMPLES = 3  # Largest number of examples whose attention weights are returned.
# Largest number of attention weights of one variant that are returned; long sequences get fewer examples.
MAX_WEIGHTS = 1 << 20
KNOCKED_OUT = 1024  # Test examples at most that a model without a head is evaluated on.
CHUNK = 1 << 24  # Largest number of attention weights of one head that are computed together.


def check_evaluation(config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
    """Raises `Invalid` when a model that was trained on `config` cannot be evaluated on `task`."""
    trial = parse(config)
    trained = trial.built_task()
    with Gather() as at:
        with at("task"):
            asked = parse({**config, "task": task}).built_task()
        if at.problems:
            return
        with at("task"):
            _check_signature(trained.signature, asked.signature)
        lengths = [(trained.signature, asked.signature)]
        if trained.signature.source is not None and asked.signature.source is not None:
            lengths.append((trained.signature.source, asked.signature.source))
        for old, new in lengths:
            for slot, part in (("position", trial.model.position), ("mixer", trial.model.mixer)):
                at.refuse(
                    new.seq_len > old.seq_len and not getattr(part.part, "any_length", True),
                    f"model.{slot}",
                    f"ends at length {old.seq_len}, the longest of training, and cannot be evaluated at {new.seq_len}",
                    part.name,
                    ", ".join(CATALOGUE.able(slot, "any_length", silent=True)),
                )


def evaluate_kept(trial: Trial, weights: bytes, task: Mapping[str, Any], threads: int = 1) -> Evaluation:
    """The task's metrics and those of the layers; the data are those of the trial's seed."""
    config = parse(trial.config)
    trained = config.built_task()
    asked = parse({**trial.config, "task": task}).built_task()
    device = resolve_device(config.training.device)
    with isolated(device, stream_seed(trial.seed, "global", trial.stream), threads):
        # With the sizes of training, whatever it is evaluated on.
        model = build_model(
            config.model, trained.signature, seed=trial.seed, stream=trial.stream, device=device
        )
        unpack(weights, model)
        split = asked.split(trial.seed, "test", device)
        metrics = evaluate(model, asked, split)
        metrics |= layer_metrics(model, cut(split, CHUNK))
        metrics |= _without_heads(model, asked, split[:KNOCKED_OUT])
        examples = next(iter(split.chunks(EXAMPLES)))
        maps = {
            path: found.cpu().numpy().astype(np.float32)
            for path, found in attention_maps(model, examples, padding=math.nan).items()
        }
    # As many examples as MAX_WEIGHTS lets through, at least one.
    few = max(1, EXAMPLES * MAX_WEIGHTS // max(1, sum(found.size for found in maps.values())))
    # The parts that decide, beside the weights, which position attends to which.
    parts = (config.model.mixer, config.model.position, config.model.topology)
    return Evaluation(
        metrics,
        {path: found[:few] for path, found in maps.items()},
        json.dumps([part.model_dump() for part in parts]),
    )


def _without_heads(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """The first metric without each head of the trained weights, `/PATH/HEAD`; their mean, and that of the head that
    is missed most.
    """
    name, metric = next(iter(task.metrics.items()))
    found = {}
    for path, module in model.named_modules():
        for head in range(module.num_heads) if isinstance(module, Attention) else ():
            with without_head(module, head):
                found[f"{name}_without_a_head/{path}/{head + 1}"] = evaluate(model, task, split)[name]
    if not found:
        return {}
    worst = min(found.values(), key=lambda value: sign(metric) * value)
    return {f"{name}_without_a_head": fmean(found.values()), f"{name}_without_its_best_head": worst, **found}


def _check_signature(old: Signature, new: Signature) -> None:
    """Raises `Invalid` when the shapes of input or output differ in more than the length."""
    for field in fields(Signature):
        before, after = getattr(old, field.name), getattr(new, field.name)
        if isinstance(before, Signature) and isinstance(after, Signature):
            before, after = replace(before, seq_len=0), replace(after, seq_len=0)
        if field.name != "seq_len" and before != after:
            rule = f"must leave the {field.name} of the model's input and output as they were in training"
            raise Invalid("", rule, after, str(before))
