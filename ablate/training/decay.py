"""Weight decay, the same for every optimiser. The caller excludes norms and biases.

decoupled   w ← w − lr·λ·w − update    (Loshchilov and Hutter 2019, as in AdamW)
l2          g + 2λw, the gradient of loss + λ‖w‖², is clipped and passed to the optimiser
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor


class WeightDecay:
    """λ on those of `decayed` that have a gradient, of one kind; the other kind's method does nothing."""

    def __init__(self, kind: Literal["decoupled", "l2"], strength: float, decayed: Sequence[Tensor]) -> None:
        self.strength = strength
        self._by_gradient = decayed if kind == "l2" and strength else ()
        self._by_shrinking = decayed if kind == "decoupled" and strength else ()

    @torch.no_grad()
    def add_gradient(self) -> None:
        """Adds 2λw to the gradients; call it between the backward pass and clipping."""
        for parameter in self._by_gradient:
            if parameter.grad is not None:
                parameter.grad.add_(parameter, alpha=2 * self.strength)

    @torch.no_grad()
    def shrink(self, lr: float) -> None:
        """Subtracts lr·λ·w from the weights; just before the optimiser's step."""
        for parameter in self._by_shrinking:
            if parameter.grad is not None:
                parameter.mul_(1 - lr * self.strength)
