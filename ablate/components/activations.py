"""Activations: the non-linearity of the feed-forward, element by element."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from ablate.components.sizes import Sizes
from ablate.registry import PartConfig, register


class Activation(nn.Module):
    """Base of all activations."""

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        raise NotImplementedError


@register("activation", "relu")
class ReLU(Activation):
    """max(0, x) (Nair and Hinton 2010)."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        return F.relu(x)


@register("activation", "gelu")
class GELU(Activation):
    """x Φ(x) with the exact normal distribution function Φ (Hendrycks and Gimpel 2016)."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        return F.gelu(x)


@register("activation", "silu")
class SiLU(Activation):
    """x σ(x) (Elfwing et al. 2018)."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        return F.silu(x)


@register("activation", "tanh")
class Tanh(Activation):
    """tanh(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        return x.tanh()


@register("activation", "identity")
class Identity(Activation):
    """x: no non-linearity."""

    def forward(self, x: Tensor) -> Tensor:
        """Any shape, kept."""
        return x
