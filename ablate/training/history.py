"""Measurements of a training run: numbers of every step, curves, the best evaluation, divergence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ablate.core.metric import Direction
from ablate.core.record import Curve

RISE = 1.1
"""A final training loss above this multiple of max(initial, chance) is divergence: the run ends clearly worse
than it began, and than guessing."""


class History:
    """Training loss and gradient norm of every step; curves at evaluations. Steps count updates done."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0
        self._losses = np.empty(steps, dtype=np.float32)
        self._norms = np.empty(steps, dtype=np.float32)
        self._evaluated = 0
        self._points: dict[str, list[tuple[int, float]]] = {}

    def add(self, loss: float, norm: float) -> bool:
        """Keeps one step's numbers; False when its loss is not finite."""
        self._losses[self.done] = loss
        self._norms[self.done] = norm
        self.done += 1
        return math.isfinite(loss)

    def evaluated(self, lr: float, validation: Mapping[str, float]) -> dict[str, float]:
        """Adds a point to every curve, of means since the last evaluation; returns the point."""
        since = slice(self._evaluated, self.done)
        self._evaluated = self.done
        point = {
            "train_loss": _mean(self._losses[since]),
            "grad_norm": _mean(self._norms[since]),
            "lr": lr,
            **{f"validation_{name}": value for name, value in validation.items()},
        }
        for name, value in point.items():
            self._points.setdefault(name, []).append((self.done, value))
        return point

    def state(self) -> dict[str, Any]:
        """The values from which `load` continues."""
        return {
            "losses": torch.from_numpy(self._losses[: self.done]),
            "norms": torch.from_numpy(self._norms[: self.done]),
            "evaluated": self._evaluated,
            "points": self._points,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Takes over the `state` of a run of as many steps."""
        self.done = len(state["losses"])
        self._losses[: self.done] = state["losses"].numpy()
        self._norms[: self.done] = state["norms"].numpy()
        self._evaluated, self._points = state["evaluated"], state["points"]

    @property
    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """`train_loss` and `grad_norm` of every step that was made."""
        return {
            "train_loss": self._losses[: self.done].copy(),
            "grad_norm": self._norms[: self.done].copy(),
        }

    @property
    def curves(self) -> dict[str, Curve]:
        """All curves by name."""
        return {
            name: Curve(
                np.array([step for step, _ in points], dtype=np.int64),
                np.array([value for _, value in points], dtype=np.float64),
            )
            for name, points in self._points.items()
        }

    def summary(self) -> dict[str, float]:
        """`train_loss` over the last 5 % of the steps that were made, and the gradient's norm over all."""
        norms = self._norms[: self.done]
        return {
            "train_loss": self.final_loss(),
            "grad_norm_median": float(np.median(norms)),
            "grad_norm_max": float(np.max(norms)),
        }

    def final_loss(self) -> float:
        """Mean training loss over the last 5 % of the steps that were made, rounded up to whole steps."""
        return _mean(self._losses[self.done - math.ceil(self.done / 20) : self.done])

    def risen(self, chance_loss: float) -> str:
        """Why a finished run counts as diverged although every loss is finite, or nothing."""
        initial, final = float(self._losses[0]), self.final_loss()
        if final <= RISE * max(initial, chance_loss):
            return ""
        return (
            f"diverged: training loss {final:.4g} over the last 5 % of {self.done} steps; "
            f"it began at {initial:.4g}, chance is {chance_loss:.4g}"
        )


class Best:
    """The evaluation at which one validation metric was best, the first on ties, with its weights."""

    def __init__(self, metric: str, direction: Direction) -> None:
        self.metric = metric
        self.step: int | None = None
        self.weights: dict[str, Tensor] = {}
        self._sign = 1 if direction == "max" else -1
        self._value = -math.inf

    def offer(self, step: int, validation: Mapping[str, float], model: nn.Module) -> None:
        """Copies the weights when `validation` is better than all before."""
        value = self._sign * validation[self.metric]
        if value > self._value:
            self.step, self._value = step, value
            self.weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

    def state(self) -> dict[str, Any]:
        """The values from which `load` continues."""
        return {"step": self.step, "value": self._value, "weights": self.weights}

    def load(self, state: Mapping[str, Any]) -> None:
        """Takes over the `state` of a run that is judged by the same metric."""
        self.step, self._value, self.weights = state["step"], state["value"], state["weights"]


def _mean(values: NDArray[np.float32]) -> float:
    return float(np.mean(values, dtype=np.float64))
