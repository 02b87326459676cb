"""Multi-head self-attention.

Shapes: B batch, H heads, T positions, D = d_model; q and k (B, H, T, d_k), v (B, H, T, d_v).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.components.dropout import Dropout
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.errors import Gather, Invalid
from ablate.registry import OnOff, PartConfig, Slot, register


@register("mixer", "attention")
class Attention(nn.Module):
    """Concat_h(softmax(a(q_h, k_h)) v_h) W_O with q, k, v projected from x (Vaswani et al. 2017, 3.2).

    Q, K and V are projected first and split into heads after. Scores that are an inner product go to torch's
    fused kernel unless the weights themselves are needed, so that a comparison of speed compares scores and
    not kernels.
    """

    class Config(PartConfig):
        """Parameters of attention."""

        num_heads: PositiveInt = 4
        "H; divides d_model unless d_k and d_v are both given."
        d_k: PositiveInt | None = None
        "Query and key width of one head; d_model / num_heads when not given."
        d_v: PositiveInt | None = None
        "Value width of one head; d_model / num_heads when not given."
        score: Annotated[Any, Slot("score")] = "scaled_dot"
        "How well a key answers a query."
        value: Annotated[Any, Slot("value")] = "full"
        "What a position hands over."
        bias: OnOff = False
        "Whether the projections to Q, K, V and the output have a bias."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__()
        d_model, heads = sizes.d_model, config.num_heads
        with Gather() as at:
            with at():
                _check_heads(config, d_model)
            # After a problem with the heads these widths only serve to find those of the children.
            width = max(1, d_model // heads)
            sizes = replace(
                sizes, num_heads=heads, d_k=config.d_k or width, d_v=config.d_v or width, bias=config.bias
            )
            with at("score"):
                self.score = config.score.build(sizes)
            with at("value"):
                self.value = config.value.build(sizes)
        self.num_heads, self.causal = heads, sizes.causal
        self.query = nn.Linear(d_model, heads * sizes.d_k, bias=config.bias)
        self.key = nn.Linear(d_model, heads * sizes.d_k, bias=config.bias)
        self.output = nn.Linear(heads * sizes.d_v, d_model, bias=config.bias)
        self.weights_dropout = Dropout(sizes.dropout.get("attention_weights", 0.0))

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D).

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a causal model
        masks the future beside it. A query that may attend to nothing gets zeros.
        """
        q, k = position.rotate(self._split(self.query(x_btd)), self._split(self.key(x_btd)))
        v = self._split(self.value(x_btd))
        bias = position.bias(q.shape[2], k.shape[2], q.device)
        inner = None if self.weights_dropout.active else self.score.inner(q, k)
        if inner is None:
            mixed = self.weights_dropout(self._weights(q, k, bias, mask)) @ v
        else:
            mixed = self._fused(inner, v, bias, mask)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def weights(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """The attention weights (B, H, T_q, T_k), before dropout; masked ones are exactly zero."""
        q, k = position.rotate(self._split(self.query(x_btd)), self._split(self.key(x_btd)))
        return self._weights(q, k, position.bias(q.shape[2], k.shape[2], q.device), mask)

    def _split(self, x_btn: Tensor) -> Tensor:
        """(B, T, H·d) → (B, H, T, d)."""
        return x_btn.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def _weights(self, q: Tensor, k: Tensor, bias: Tensor | None, mask: Tensor | None) -> Tensor:
        logits = self.score.logits(q, k)
        if bias is not None:
            logits = logits + bias
        if self.causal:
            mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
        if mask is None:
            return logits.softmax(-1)
        mask, empty = open_empty_rows(mask)
        return logits.masked_fill(~mask, -torch.inf).softmax(-1).masked_fill(empty, 0)

    def _fused(
        self,
        inner: tuple[Tensor, Tensor, float],
        v: Tensor,
        bias: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """The same weights times v, by torch's kernel, which never forms them."""
        q, k, scale = inner
        if bias is not None:
            bias = bias.unsqueeze(0)
        if mask is None and bias is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=scale)
        if self.causal:
            mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
        if mask is None:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
        mask, empty = open_empty_rows(mask)
        added = mask if bias is None else bias.masked_fill(~mask, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale).masked_fill(empty, 0)


def with_future_masked(mask: Tensor | None, t_q: int, t_k: int, device: torch.device) -> Tensor:
    """`mask` and the causal one, (…, T_q, T_k)."""
    causal = torch.ones(t_q, t_k, dtype=torch.bool, device=device).tril()
    return causal if mask is None else mask & causal


def open_empty_rows(mask: Tensor) -> tuple[Tensor, Tensor]:
    """`mask` with its all-False rows opened, and which rows those are (…, T_q, 1).

    A softmax over nothing is NaN, forwards and backwards: such rows attend anywhere and are zeroed after.
    """
    empty = ~mask.any(-1, keepdim=True)
    return mask | empty, empty


def _check_heads(config: Attention.Config, d_model: int) -> None:
    if d_model % config.num_heads and (config.d_k is None or config.d_v is None):
        divisors = [str(n) for n in range(1, d_model + 1) if d_model % n == 0]
        rule = f"must divide d_model = {d_model} unless d_k and d_v are both given"
        raise Invalid("num_heads", rule, config.num_heads, ", ".join(divisors))
