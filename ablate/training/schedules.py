"""Learning-rate schedules: warm-up, then a part of the slot `schedule`.

For update u = 1 … N, warm-up of W updates, peak learning rate η:

    u ≤ W    η · u / W                    rises linearly from 0, reaches the peak at update W
    u > W    η · factor(p)                p = (u − F) / (N − F), F = max(W, 1) the first update at the peak

so that p grows from 0 at F to 1 at the last update, and factor(0) = 1.
"""

import math
from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import Field

from ablate.base.registry import PartConfig, register
from ablate.training.section import TrainingSection


class Schedule(ABC):
    """The learning rate after the warm-up: a part of the slot `schedule`, built from its config alone."""

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def factor(self, progress: float) -> float:
        """Returns the share of the peak learning rate that is left at `progress`, which runs from 0 at the first update
        at the peak, where the share is 1, to 1 at the last update.
        """


@register("schedule", "constant")
class Constant(Schedule):
    """The peak at every update after the warm-up."""

    def factor(self, progress: float) -> float:
        """Returns 1 at any progress."""
        return 1.0


class Decay(Schedule):
    """The base of the schedules that fall from the peak learning rate to `final` times the peak at the last update."""

    class Config(PartConfig):
        final: Annotated[float, Field(ge=0, le=1)] = 0.0
        "Share of the peak that is left at the last update."


@register("schedule", "linear")
class Linear(Decay):
    """A fall in a straight line: 1 − (1 − final) · p at progress p."""

    def factor(self, progress: float) -> float:
        """Returns 1 − (1 − final) · p, p the progress."""
        return 1 - (1 - self.config.final) * progress


@register("schedule", "cosine")
class Cosine(Decay):
    """A fall along half a cosine: final + (1 − final) · (1 + cos πp) / 2 at progress p (Loshchilov and Hutter 2017)."""

    def factor(self, progress: float) -> float:
        """Returns final + (1 − final) · (1 + cos πp) / 2, p the progress."""
        final = self.config.final
        return final + (1 - final) * (1 + math.cos(math.pi * progress)) / 2


def learning_rates(training: TrainingSection) -> list[float]:
    """Returns the learning rate of every update, warm-up included: a list of `training.steps` numbers, the first
    update at index 0.
    """
    schedule: Schedule = training.schedule.build()
    warmup = training.warmup_steps
    first_at_peak = max(warmup, 1)
    span = max(training.steps - first_at_peak, 1)
    rates = []
    for update in range(1, training.steps + 1):
        progress = (update - first_at_peak) / span
        factor = update / warmup if update <= warmup else schedule.factor(progress)
        rates.append(training.lr * factor)
    return rates
