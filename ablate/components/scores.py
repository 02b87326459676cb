"""Scores a(q, k): how well each key answers each query, before the softmax.

Shapes: q (B, H, T_q, d_k), k (B, H, T_k, d_k), logits (B, H, T_q, T_k).
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.components.initial import Draw, fan_in_uniform
from ablate.components.sizes import Sizes
from ablate.registry import PartConfig, register


class Score(nn.Module):
    """Base of all scores; a subclass overrides `inner` where it is an inner product, else `logits`."""

    joins_widths: ClassVar[bool] = False
    "Whether queries and keys may differ in width."

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float] | None:
        """q′, k′ and scale with logits = scale · q′ᵀk′, which a fused kernel can use; None: no such form."""
        return None

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """The score of every query with every key, (B, H, T_q, T_k)."""
        inner = self.inner(q, k)
        if inner is None:
            raise NotImplementedError(f"{type(self).__name__} must define `inner` or `logits`")
        q, k, scale = inner
        return (q * scale) @ k.transpose(-2, -1)


@register("score", "dot")
class Dot(Score):
    """qᵀk (Luong et al. 2015, "dot")."""

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """q, k and 1."""
        return q, k, 1.0


@register("score", "scaled_dot")
class ScaledDot(Score):
    """qᵀk / √d_k (Vaswani et al. 2017, equation 1)."""

    def inner(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor, float]:
        """q, k and 1/√d_k."""
        return q, k, q.shape[-1] ** -0.5


@register("score", "additive")
class Additive(Score):
    """w_vᵀ tanh(W_q q + W_k k), without bias (Bahdanau et al. 2015, appendix A.1.2).

    Each head has its own W_q, W_k (d_k × hidden) and w_v. All pairs are held at once: memory grows with
    B · H · T_q · T_k · hidden.
    """

    class Config(PartConfig):
        """Parameters of the additive score."""

        hidden: PositiveInt | None = None
        "Width of the hidden layer; d_k when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        hidden = config.hidden or sizes.d_k
        self.query = nn.Parameter(torch.empty(sizes.num_heads, sizes.d_k, hidden))
        self.key = nn.Parameter(torch.empty(sizes.num_heads, sizes.d_k, hidden))
        self.weight = nn.Parameter(torch.empty(sizes.num_heads, hidden, 1))

    def initialise(self, draw: Draw) -> None:
        """As linear maps."""
        for name, parameter in self.named_parameters(recurse=False):
            fan_in_uniform(parameter, parameter.shape[1], draw(name))

    def logits(self, q: Tensor, k: Tensor) -> Tensor:
        """The score of every query with every key, (B, H, T_q, T_k)."""
        hidden_bhqkn = ((q @ self.query).unsqueeze(3) + (k @ self.key).unsqueeze(2)).tanh()
        t_q, t_k = hidden_bhqkn.shape[2:4]
        return (hidden_bhqkn.flatten(2, 3) @ self.weight).unflatten(2, (t_q, t_k)).squeeze(-1)
