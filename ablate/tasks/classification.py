"""One class for each sequence: cross-entropy and accuracy."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from ablate.core.metric import Metric
from ablate.tasks.task import Batch, Task, Topology


class Classification(Task):
    """A task whose logits are (B, num_outputs) and whose targets are classes (B)."""

    topologies: tuple[Topology, ...] = ("encoder", "decoder")

    def set_metrics(self, *, num_classes: int, num_test: int, solved: float) -> None:
        """Sets `metrics` and `chance_loss` for classes that are equally likely.

        num_classes: classes that a guess chooses from (at most `num_outputs`).
        num_test: N, examples of the test split; an accuracy moves in steps of 1/N.
        solved: the accuracy at which the task counts as learned.
        """
        self.chance_loss = math.log(num_classes)
        self.metrics = {
            "accuracy": Metric("max", 1 / num_test, floor=1 / num_classes, ceiling=1.0, solved=solved),
            "loss": Metric("min", floor=self.chance_loss, ceiling=0.0),
        }

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats."""
        return functional.cross_entropy(logits, batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """`accuracy`: 1 where the largest logit is the target's; `loss`: cross-entropy in nats."""
        return {
            "accuracy": (logits.argmax(-1) == batch.targets).to(torch.float32),
            "loss": functional.cross_entropy(logits, batch.targets, reduction="none"),
        }
