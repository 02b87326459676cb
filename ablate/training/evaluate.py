"""The metrics of a model over a split."""

from __future__ import annotations

import torch

from ablate.models.model import Model
from ablate.tasks.task import Batch, Task

CHUNK = 1024
"""Examples that are evaluated at a time."""


@torch.inference_mode()
def evaluate(model: Model, task: Task, split: Batch) -> dict[str, float]:
    """The mean of each of the task's metrics over the examples of `split`, in evaluation mode.

    The model's mode is restored. Sums are in float64.
    """
    was_training = model.training
    model.eval()
    try:
        sums: dict[str, torch.Tensor] = {}
        for batch in split.chunks(CHUNK):
            for name, values in task.measure(model(**batch.model_inputs()), batch).items():
                sums[name] = sums.get(name, 0) + values.sum(dtype=torch.float64)
    finally:
        model.train(was_training)
    return {name: total.item() / len(split) for name, total in sums.items()}
