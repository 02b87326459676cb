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
def outcomes(model: Model, task: Task, split: Batch) -> Outcomes:
    """Each metric of every example, in the order of `split`, in evaluation mode; the model's mode is restored."""
    was_training = model.training
    model.eval()
    try:
        found: dict[str, list[torch.Tensor]] = {}
        for batch in split.chunks(CHUNK):
            for name, values in task.measure(model(**batch.model_inputs()), batch).items():
                found.setdefault(name, []).append(values)
    finally:
        model.train(was_training)
    return {name: torch.cat(values).float().cpu().numpy() for name, values in found.items()}


def means(found: Outcomes) -> dict[str, float]:
    """Each metric's mean over the examples, summed in float64."""
    return {name: float(np.mean(values, dtype=np.float64)) for name, values in found.items()}


def evaluate(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """The mean of each of the task's metrics over the examples of `split`; see `outcomes`."""
    return means(outcomes(model, task, split))
