"""`training:` how every variant is trained."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from ablate.base.registry import Slot, StrictModel


class TrainingSection(StrictModel):
    """One optimiser, one schedule, a fixed number of steps."""

    steps: PositiveInt = 1000
    "Number of updates."
    batch_size: PositiveInt = 64
    "Examples per update."
    optimizer: Annotated[Any, Slot("optimizer")] = "adamw"
    "adamw or sgd."
    lr: PositiveFloat = 1e-3
    "Peak learning rate."
    weight_decay: NonNegativeFloat = 0.0
    "Strength λ of weight decay; norms and biases are exempt."
    decay: Literal["decoupled", "l2"] = "decoupled"
    "decoupled: w ← w − lr·λ·w beside the update; l2: λ‖w‖² added to the loss."
    schedule: Annotated[Any, Slot("schedule")] = "constant"
    "Learning rate after the warm-up: constant, linear or cosine."
    warmup_steps: NonNegativeInt = 0
    "Updates over which the learning rate rises linearly from 0."
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    "Largest global norm of the gradient; not given: not clipped."
    eval_every: PositiveInt = 100
    "Updates between two evaluations on validation data."
    device: Literal["auto", "cpu", "cuda"] = "auto"
    "auto: cuda when there is one."
