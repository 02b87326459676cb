"""The metrics of a model over a split."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from ablate.models.model import Model
from ablate.tasks.task import Batch, Task

CHUNK = 1024
"""Examples that are evaluated at a time."""

Outcomes = Mapping[str, NDArray[np.float32]]
"""Each of a task's metrics for every example of a split, (N)."""


@torch.inference_mode()
def outcomes(model: Model, task: Task, split: Batch) -> tuple[Outcomes, float]:
    """Each metric of every example, in the order of `split`, and the task's loss, the mean over the examples.

    In evaluation mode; the model's mode is restored. A chunk's loss counts by the number of its examples.
    """
    was_training = model.training
    model.eval()
    found: dict[str, list[torch.Tensor]] = {}
    losses: list[torch.Tensor] = []
    try:
        for batch in split.chunks(CHUNK):
            logits = model(**batch.model_inputs())
            losses.append(task.loss(logits, batch).double() * len(batch))
            for name, values in task.measure(logits, batch).items():
                found.setdefault(name, []).append(values)
    finally:
        model.train(was_training)
    by_example = {name: torch.cat(values).float().cpu().numpy() for name, values in found.items()}
    return by_example, (torch.stack(losses).sum() / len(split)).item()


def means(found: Outcomes) -> dict[str, float]:
    """Each metric's mean over the examples, summed in float64."""
    return {name: float(np.mean(values, dtype=np.float64)) for name, values in found.items()}


def evaluate(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """The mean of each of the task's metrics over the examples of `split`; see `outcomes`."""
    return means(outcomes(model, task, split)[0])
