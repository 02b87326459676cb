"""The global norm of the gradient, and its bound (Pascanu et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


@torch.no_grad()
def clip_gradients(parameters: Sequence[Tensor], max_norm: float | None) -> Tensor:
    """Scales all gradients so that their global 2-norm is at most `max_norm`, where one is given.

    Returns the norm as it was before, a scalar on the device of the parameters.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.flatten() for g in gradients]))
    # On CPU the comparison is free; elsewhere it would wait for the device.
    if max_norm is not None and (norm.device.type != "cpu" or not norm <= max_norm):
        scale = (max_norm / norm).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(scale)
    return norm
