"""Evaluation of a model on a split, and on the test split with its slices."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ablate.core.metric import Metric, sliced
from ablate.core.signature import Signature
from ablate.models.model import Model, evaluating
from ablate.tasks.task import Batch, Outcomes, Task

CHUNK = 256  # Examples that are evaluated at a time: what they take stays in a cache.


@torch.inference_mode()
def outcomes(model: Model, task: Task, split: Batch, *, decoded: bool = False) -> tuple[Outcomes, float]:
    """What the task measures of every example, in the order of `split`, and its loss, the mean over the examples.

    In evaluation mode; the model's mode is restored. A chunk's loss counts by the number of its examples. With
    `decoded`, what `Task.decode` gives is measured too.
    """
    found: dict[str, list[torch.Tensor]] = {}
    losses: list[torch.Tensor] = []
    with evaluating(model):
        for batch in split.chunks(CHUNK):
            logits = model(**batch.model_inputs())
            losses.append(task.loss(logits, batch).double() * len(batch))
            more = task.decode(model, batch) if decoded else {}
            for name, values in {**task.measure(logits, batch), **more}.items():
                found.setdefault(name, []).append(values)
    by_example = {name: torch.cat(values).float().cpu().numpy() for name, values in found.items()}
    return by_example, (torch.stack(losses).sum() / len(split)).item()


def evaluate(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """The task's metrics on `split`; see `outcomes`."""
    return task.summarise(outcomes(model, task, split)[0])


@dataclass(frozen=True)
class Tested:
    """What the test split and its slices show of a model."""

    # Of the task, and for each slice the first metric there: `accuracy@far`.
    metrics: Mapping[str, float]
    # Of those metrics that are means over examples, each example's value, (N).
    by_example: Mapping[str, NDArray[np.float32]]
    loss: float
    finite: Mapping[str, float]  # What must be finite, or the run diverged: not what slices show.


def tested(model: Model, task: Task, seed: int, device: str) -> Tested:
    """On the test split of a seed, and on each slice that the model can read."""
    found, loss = outcomes(model, task, task.split(seed, "test", device), decoded=True)
    by_example = {name: found[name] for name in (*task.metrics, *task.decoded) if name in found}
    metrics = own = task.summarise(found)
    first = next(iter(task.metrics))
    for name, of in slices_of(model, task).items():
        there = outcomes(model, of, of.split(seed, "test", device))[0]
        metrics = metrics | {sliced(first, name): of.summarise(there)[first]}
        by_example |= {sliced(first, name): there[first]} if first in there else {}
    return Tested(metrics, by_example, loss, {**own, "loss": loss})


def slices_of(model: Model, task: Task) -> dict[str, Task]:
    """The task of each evaluation slice, but those of longer sequences where the model's length is fixed."""
    found = {name: task.sliced(name) for name in task.slices()}
    reach = _lengths(task.signature)
    return {
        name: of
        for name, of in found.items()
        if model.any_length or all(new <= old for new, old in zip(_lengths(of.signature), reach, strict=True))
    }


def metrics_of(model: Model, task: Task) -> dict[str, Metric]:
    """Of the test split and of each slice that the model can read."""
    first = next(iter(task.metrics), "")
    of_slices = {
        sliced(first, name): of.metrics[first] for name, of in slices_of(model, task).items() if first
    }
    return {**task.metrics, **task.decoded, **of_slices}


def _lengths(signature: Signature) -> tuple[int, int]:
    return signature.seq_len, signature.source.seq_len if signature.source else 0
