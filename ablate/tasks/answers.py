"""What rows of a user's file are asked for, labels or numbers: the loss, the metrics, and what guessing comes to.

A guess knows the answers of training; its metrics are those on test.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ablate.core.metric import Metric
from ablate.tasks.task import Batch, Outcomes


class Labels:
    """One of several labels, coded from 0; logits are (B, labels), targets (B), int64."""

    def __init__(
        self, train: NDArray[np.int64], test: NDArray[np.int64], size: int, solved: float | None
    ) -> None:
        counts = np.bincount(train, minlength=size) + 1
        majority = np.full(len(test), counts.argmax())
        self.chance_loss = chance = float(-np.log(counts / counts.sum())[test].mean())
        guess = {
            "accuracy": float((test == majority).mean()),
            "macro_f1": _macro_f1(test, majority),
            "loss": chance,
        }
        self.constants = {"majority": guess}
        self.metrics = {
            "accuracy": Metric("max", 1 / len(test), floor=guess["accuracy"], ceiling=1.0, solved=solved),
            "macro_f1": Metric("max", floor=guess["macro_f1"], ceiling=1.0),
            "loss": Metric("min", floor=chance, ceiling=0.0),
        }

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats."""
        return functional.cross_entropy(logits, batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> dict[str, Tensor]:
        """Of each example; `label` and `answer` are for `summarise`."""
        answers = logits.argmax(-1)
        return {
            "accuracy": (answers == batch.targets).float(),
            "label": batch.targets,
            "answer": answers,
            "loss": functional.cross_entropy(logits, batch.targets, reduction="none"),
        }

    def beside(self, means: Mapping[str, float], found: Outcomes) -> dict[str, float]:
        """`macro_f1`: the mean of F1 over the labels that are asked for or answered."""
        return {"macro_f1": _macro_f1(found["label"], found["answer"])}


class Numbers:
    """A number; logits are (B, 1), targets (B), float32, with mean 0 and variance 1 in training."""

    def __init__(self, train: NDArray[np.float64], test: NDArray[np.float64], solved: float | None) -> None:
        self.mean, self.scale = float(train.mean()), float(train.std())
        # Of always answering the mean of training.
        self.chance_loss = naive = float(np.square(self.coded(test)).mean())
        error = self.scale * naive**0.5
        self.constants = {"naive": {"r2": 0.0, "error": error, "loss": naive}}
        self.metrics = {
            "r2": Metric("max", floor=0.0, ceiling=1.0, solved=solved),
            "error": Metric("min", floor=error, ceiling=0.0),
            "loss": Metric("min", floor=naive, ceiling=0.0),
        }

    def coded(self, numbers: NDArray[np.float64]) -> NDArray[np.float32]:
        """Numbers as targets."""
        return ((numbers - self.mean) / self.scale).astype(np.float32)

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean squared error of targets."""
        return functional.mse_loss(logits.squeeze(-1), batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> dict[str, Tensor]:
        """`r2`: 1 − squared error / that of the naive answer; its mean is the share of variance that is explained."""
        errors = (logits.squeeze(-1) - batch.targets).square()
        return {"r2": 1 - errors / self.chance_loss, "loss": errors}

    def beside(self, means: Mapping[str, float], found: Outcomes) -> dict[str, float]:
        """`error`: the root mean squared error in the column's own unit."""
        return {"error": self.scale * means["loss"] ** 0.5}


def _macro_f1(labels: NDArray[np.generic], answers: NDArray[np.generic]) -> float:
    occurring = np.union1d(labels, answers)
    hits = [np.sum((labels == label) & (answers == label)) for label in occurring]
    sizes = [np.sum(labels == label) + np.sum(answers == label) for label in occurring]
    return float(np.mean(2 * np.array(hits) / np.array(sizes)))
