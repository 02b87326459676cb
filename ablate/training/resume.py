"""A training run between two steps as bytes, from which it continues to the same result.

Data and dropout are functions of the seed and the step, and need no state: batches are drawn again, up to the
step that the run has reached.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ablate.models.initialise import tensors_of
from ablate.models.model import Model
from ablate.tasks.task import Batch
from ablate.training.history import Best, History
from ablate.training.optimizers import Optimizer


@dataclass
class Run:
    """Everything that changes while a model trains."""

    model: Model
    optimizer: Optimizer
    history: History
    best: Best
    started: float
    "When this attempt began, by `time.perf_counter`."
    metrics: dict[str, float | None] = field(default_factory=dict)
    unread: list[Tensor] = field(default_factory=list)
    "Loss and gradient norm, one after the other, of the steps that `history` does not know yet."
    done: int = 0
    "Steps made."
    before: float = 0.0
    "Seconds that were spent before the run was cut short."

    @property
    def seconds(self) -> float:
        """Wall clock of training so far, that of earlier attempts included."""
        return self.before + time.perf_counter() - self.started

    def save(self) -> bytes:
        """All of it, and torch's global generators: a plugin may draw from them."""
        cuda = self.model.device.type == "cuda"
        content = {
            "model": tensors_of(self.model),
            "optimizer": self.optimizer.state(),
            "history": vars(self.history),
            "best": vars(self.best),
            "metrics": self.metrics,
            "unread": self.unread,
            "done": self.done,
            "seconds": self.seconds,
            "generator": torch.get_rng_state(),
            "cuda_generator": torch.cuda.get_rng_state() if cuda else None,
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        return buffer.getvalue()

    def load(self, state: bytes, batches: Iterator[Batch]) -> None:
        """Takes over what `save` returned, and draws from `batches` those of the steps that were made."""
        content = torch.load(io.BytesIO(state), map_location=self.model.device, weights_only=True)
        with torch.no_grad():
            for name, tensor in tensors_of(self.model).items():
                tensor.copy_(content["model"][name])
        self.optimizer.load(content["optimizer"])
        vars(self.history).update(content["history"])
        vars(self.best).update(content["best"])
        self.metrics |= content["metrics"]
        self.unread += content["unread"]
        self.done, self.before = content["done"], content["seconds"]
        for _ in range(self.done):
            next(batches)
        torch.set_rng_state(content["generator"].cpu())
        if content["cuda_generator"] is not None:
            torch.cuda.set_rng_state(content["cuda_generator"].cpu())
