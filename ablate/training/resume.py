"""A training run between two steps as bytes, from which it continues to the same result.

Data and dropout are functions of the seed and the step, and need no state: batches are drawn again, up to the
step that the run has reached.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ablate.models.model import Model
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
            "model": _tensors(self.model),
            "optimizer": self.optimizer.state(),
            "history": self.history.state(),
            "best": self.best.state(),
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

    def load(self, state: bytes, replay: Callable[[int], None]) -> None:
        """Takes over what `save` returned; `replay(n)` draws the batches of the first n steps."""
        content = torch.load(io.BytesIO(state), map_location="cpu", weights_only=True)
        device = self.model.device
        with torch.no_grad():
            for name, tensor in _tensors(self.model).items():
                tensor.copy_(content["model"][name])
        self.optimizer.load(_moved(content["optimizer"], device))
        self.history.load(content["history"])
        self.best.load(_moved(content["best"], device))
        self.metrics |= content["metrics"]
        self.unread += _moved(content["unread"], device)
        self.done, self.before = content["done"], content["seconds"]
        replay(self.done)
        torch.set_rng_state(content["generator"])
        if content["cuda_generator"] is not None:
            torch.cuda.set_rng_state(content["cuda_generator"])


def _tensors(model: Model) -> dict[str, Tensor]:
    """Parameters, and all buffers: those too that are left out of the kept weights."""
    return {name: tensor.detach() for name, tensor in model.named_parameters()} | dict(model.named_buffers())


def _moved(value: object, device: torch.device) -> Any:
    """`value` with the tensors inside on `device`."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: _moved(item, device) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, device) for item in value]
    return value
