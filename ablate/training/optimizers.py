"""Optimisers: gradients → update of the parameters. Weight decay is not theirs (`ablate.training.decay`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor

from ablate.errors import Invalid
from ablate.registry import OnOff, PartConfig, register

Momentum = Annotated[float, Field(ge=0, lt=1)]


class Optimizer(ABC):
    """A part of the slot `optimizer`, built from its config and the parameters that it updates."""

    @abstractmethod
    def step(self, lr: float) -> None:
        """One update in place, from the parameters' `.grad`, at learning rate `lr`."""


class TorchOptimizer(Optimizer):
    """An optimiser of `torch.optim`."""

    inner: torch.optim.Optimizer

    def step(self, lr: float) -> None:
        """See `Optimizer.step`."""
        for group in self.inner.param_groups:
            group["lr"] = lr
        self.inner.step()


@register("optimizer", "adamw")
class AdamW(TorchOptimizer):
    """Adam (Kingma and Ba 2015); with `decay: decoupled` AdamW (Loshchilov and Hutter 2019).

    m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − lr · m̂ / (√v̂ + eps), with m̂ = m / (1 − β₁ᵗ) and
    v̂ = v / (1 − β₂ᵗ) at the t-th update.
    """

    class Config(PartConfig):
        """Parameters of Adam."""

        beta1: Momentum = 0.9
        "β₁, decay of the mean of gradients."
        beta2: Momentum = 0.999
        "β₂, decay of the mean of squared gradients."
        eps: PositiveFloat = 1e-8
        "Added to the root in the denominator."

    def __init__(self, config: Config, parameters: Sequence[Tensor]) -> None:
        self.inner = torch.optim.AdamW(
            parameters,
            betas=(config.beta1, config.beta2),
            eps=config.eps,
            weight_decay=0.0,
            fused=_can_fuse(parameters),
        )


@register("optimizer", "sgd")
class SGD(TorchOptimizer):
    """Gradient descent: b ← momentum · b + g, w ← w − lr · b; nesterov: w ← w − lr · (g + momentum · b)."""

    class Config(PartConfig):
        """Parameters of gradient descent."""

        momentum: Momentum = 0.0
        "Share of the previous update that is kept; b starts as the first gradient."
        nesterov: OnOff = False
        "Looks ahead by the momentum (Sutskever et al. 2013)."

    def __init__(self, config: Config, parameters: Sequence[Tensor]) -> None:
        if config.nesterov and config.momentum == 0:
            raise Invalid(
                "momentum", "must be positive with nesterov on", config.momentum, "above 0, below 1"
            )
        self.inner = torch.optim.SGD(
            parameters, momentum=config.momentum, nesterov=config.nesterov, fused=_can_fuse(parameters)
        )


def _can_fuse(parameters: Sequence[Tensor]) -> bool:
    """Whether torch has one kernel for the whole update, by far the fastest of its ways for small models."""
    return all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in parameters)
