"""Weightings: from scores to the weights of a mean, over keys; logits and weights are (B, H, T_q, T_k)."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from ablate.components.sizes import Sizes
from ablate.registry import PartConfig, register


class Weighting(nn.Module):
    """Base of all weightings."""

    fused: ClassVar[bool] = False
    "Whether it is the softmax, which torch's fused kernel computes."
    reads_scores: ClassVar[bool] = True
    "Whether scores matter; if not, attention has no queries."

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()

    def forward(self, logits: Tensor) -> Tensor:
        """Weights that sum to 1 over the keys; logits are −∞ where masked, never in a whole row."""
        raise NotImplementedError


@register("weighting", "softmax")
class Softmax(Weighting):
    """exp(a_j) / Σ_i exp(a_i) (Vaswani et al. 2017, equation 1)."""

    fused = True

    def forward(self, logits: Tensor) -> Tensor:
        """See `Weighting.forward`."""
        return logits.softmax(-1)
