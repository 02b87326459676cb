"""Linear maps into heads: each head reads all features of x, or only its share of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ablate.components.initial import Draw, as_linear
from ablate.components.sizes import Sizes


class SplitLinear(nn.Module):
    """x = [x_1 … x_n] → [x_1 W_1 … x_n W_n]: (B, T, D) → (B, T, N), each share of x with a map of its own."""

    def __init__(self, d_in: int, d_out: int, splits: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(splits, d_in // splits, d_out // splits))
        self.bias = nn.Parameter(torch.empty(d_out)) if bias else None

    def initialise(self, draw: Draw) -> None:
        """As linear maps of the share's width; no bias at first."""
        as_linear(self.weight, self.bias, self.weight.shape[1], draw)

    def forward(self, x_btd: Tensor) -> Tensor:
        """(B, T, D) → (B, T, N)."""
        shares = x_btd.unflatten(-1, (self.weight.shape[0], -1))
        y = torch.einsum("bthi,hio->btho", shares, self.weight).flatten(2)
        return y if self.bias is None else y + self.bias


def projection(sizes: Sizes, width: int, splits: int) -> nn.Module:
    """D → `width`, with the sizes' bias; of all features, or of `splits` shares of them."""
    if splits == 1:
        return nn.Linear(sizes.d_model, width, bias=sizes.bias)
    return SplitLinear(sizes.d_model, width, splits, sizes.bias)
