"""Metrics, sizes and costs of a config, known before it is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["max", "min"]


@dataclass(frozen=True)
class Metric:
    """Direction, range and resolution of a number by which trials are judged."""

    direction: Direction
    "`max`: more is better."
    resolution: float = 0.0
    "The smallest possible difference: 1/N for an accuracy over N examples."
    floor: float | None = None
    "The value of guessing (for `max`), or the worst meaningful value."
    ceiling: float | None = None
    "The best possible value."
    solved: float | None = None
    "The threshold at which the task counts as learned; None where the metric does not say."


@dataclass(frozen=True)
class Description:
    """Metrics, sizes and costs of a config, known without training it."""

    metrics: Mapping[str, Metric]
    parameters_by_part: Mapping[str, int] = field(default_factory=dict)
    "Number of trainable parameters by part."
    flops: int | None = None
    "Floating-point operations of the matrix products of one forward pass on one example."
    training_flops: int | None = None
    "The same of a forward and a backward pass."
    examples: int | None = None
    "Training examples that a whole training run processes; None where that is not known."
    reports: Sequence[int] | None = None
    "Steps at which a trial reports metrics on validation data, the last included; None where that is not known."
    data_fixed: bool = False
    "The test data are the same for every seed, so that verdicts are conditional on them."

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(self.parameters_by_part.values())

    @property
    def compute(self) -> int | None:
        """FLOPs of the whole training, forward and backward; None where they are not known."""
        if self.training_flops is None or self.examples is None:
            return None
        return self.training_flops * self.examples
