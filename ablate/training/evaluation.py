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
def measure_examples(
    model: Model, task: Task, split: Batch, *, decoded: bool = False
) -> tuple[Outcomes, float]:
    """Returns what `Task.measure` gives for each example of a split, name → float32 (N) in the order of the split, and
    the mean loss of the examples. The model is in evaluation mode meanwhile; `decoded` adds what `Task.decode` gives.

    A chunk's loss counts by the number of its examples. The model's former mode comes back.
    """
    chunks: dict[str, list[torch.Tensor]] = {}
    losses: list[torch.Tensor] = []
    with evaluating(model):
        for batch in split.chunks(CHUNK):
            logits = model(**batch.model_inputs())
            losses.append(task.loss(logits, batch).double() * len(batch))
            measured = dict(task.measure(logits, batch))
            if decoded:
                measured |= task.decode(model, batch)
            for name, values in measured.items():
                chunks.setdefault(name, []).append(values)
    by_example = {name: torch.cat(values).float().cpu().numpy() for name, values in chunks.items()}
    return by_example, (torch.stack(losses).sum() / len(split)).item()


def evaluate_split(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """Returns the task's metrics on a split except the decoded metrics, name → value; the model is in evaluation mode
    meanwhile.
    """
    by_example, _ = measure_examples(model, task, split)
    return task.summarise(by_example)


@dataclass(frozen=True)
class TestEvaluation:
    """The metrics of a model on the test split and on the slices of a task, and the model's mean loss on the test
    split.
    """

    # Of the task, and for each slice the first metric there: `accuracy@far`.
    metrics: Mapping[str, float]
    # Of those metrics that are means over examples, each example's value, (N).
    by_example: Mapping[str, NDArray[np.float32]]
    loss: float
    finite: Mapping[str, float]  # What must be finite, or the run diverged: not what slices show.


def evaluate_on_test(model: Model, task: Task, seed: int, device: str) -> TestEvaluation:
    """Evaluates a model by all metrics of the task, decoded ones included, on the test split of a seed, and by the
    task's first metric, as `METRIC@SLICE`, on each slice that the model can read.
    """
    values, loss = measure_examples(model, task, task.split(seed, "test", device), decoded=True)
    by_example = {name: values[name] for name in (*task.metrics, *task.decoded) if name in values}
    on_split = task.summarise(values)
    metrics = dict(on_split)
    first = next(iter(task.metrics))
    for name, slice_task in slices_of(model, task).items():
        split = slice_task.split(seed, "test", device)
        values, _ = measure_examples(model, slice_task, split)
        metrics[sliced(first, name)] = slice_task.summarise(values)[first]
        if first in values:
            by_example[sliced(first, name)] = values[first]
    return TestEvaluation(
        metrics=metrics, by_example=by_example, loss=loss, finite={**on_split, "loss": loss}
    )


def slices_of(model: Model, task: Task) -> dict[str, Task]:
    """Returns slice → the task whose test split is that slice, for each slice that the model can read.

    A model of fixed length cannot read inputs or sources that are longer than those of `task`.
    """
    slices = {name: task.sliced(name) for name in task.slices()}
    if model.any_length:
        return slices
    return {name: other for name, other in slices.items() if _is_within(other.signature, task.signature)}


def metrics_of(model: Model, task: Task) -> dict[str, Metric]:
    """Returns name → direction and range, not values: the task's metrics, the decoded ones, and the first metric on
    each slice that a model can read, `METRIC@SLICE`.
    """
    metrics = {**task.metrics, **task.decoded}
    slices = slices_of(model, task)
    if task.metrics:
        first = next(iter(task.metrics))
        metrics |= {sliced(first, name): other.metrics[first] for name, other in slices.items()}
    return metrics


def _is_within(signature: Signature, limit: Signature) -> bool:
    """Returns True where neither inputs nor source of `signature` have more positions than those of `limit`."""
    return signature.seq_len <= limit.seq_len and _source_length(signature) <= _source_length(limit)


def _source_length(signature: Signature) -> int:
    """Returns the number of positions of the source; 0 where the signature has no source."""
    return signature.source.seq_len if signature.source else 0
