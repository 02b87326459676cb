"""Multi-head attention.

Shapes: B batch, H heads, H_kv key and value heads, T positions, D = d_model; q (B, H, T_q, d_q), k (B, H, T_k, d_k),
v (B, H, T_k, d_v).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.errors import Gather
from ablate.base.registry import OnOff, PartConfig, Slot, register
from ablate.components.masks import open_empty_rows, with_future_masked
from ablate.components.mixer import Mixer
from ablate.components.norms import RMSNorm
from ablate.components.positions import Position
from ablate.components.projection import projection
from ablate.components.sizes import Sizes, divisors

State = tuple[Tensor, Tensor]
"""Keys before their positions and values of all positions so far, (B, H_kv, T, d)."""


@register("mixer", "attention")
class Attention(Mixer):
    """Concat_h(w(a(q_h, k_h)) v_h) W_O with q, k, v projected from x (Vaswani et al. 2017, 3.2).

    Scores that are an inner product go, under a softmax, to torch's fused kernel unless the weights themselves
    are needed, so that a comparison of speed compares scores and not kernels.
    """

    attends = True
    reads_order = False

    class Config(PartConfig):
        """Parameters of attention."""

        num_heads: PositiveInt = 4
        "H; divides d_model unless d_k and d_v are both given."
        num_kv_heads: PositiveInt | None = None
        """Heads of keys and values, each shared by num_heads / num_kv_heads queries (1: multi-query, Shazeer 2019;
        more: grouped, Ainslie et al. 2023); num_heads when not given."""
        d_k: PositiveInt | None = None
        "Query and key width of one head; d_model / num_heads when not given."
        d_q: PositiveInt | None = None
        "Query width of one head, for a score that joins two widths; d_k when not given."
        d_v: PositiveInt | None = None
        "Value width of one head; d_model / num_heads when not given."
        score: Annotated[Any, Slot("score")] = "scaled_dot"
        "How well a key answers a query."
        weighting: Annotated[Any, Slot("weighting")] = "softmax"
        "How scores become weights."
        value: Annotated[Any, Slot("value")] = "full"
        "What a position hands over."
        bias: OnOff = False
        "Whether the projections to Q, K, V and the output have a bias."
        tied: OnOff = False
        "Whether queries and keys share one projection, W_Q = W_K."
        split: Literal["after", "before"] = "after"
        """Heads are split after the projections, each of which reads all of x; or before them, so that a head reads
        only its D / H features of x, and a head of keys or values only those of the queries that share it."""
        qk_norm: OnOff = False
        """Whether queries and keys pass through an RMS norm over the head's width, in place of the layer norm of
        Dehghani et al. 2023."""

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.num_heads = heads = config.num_heads
        self.num_kv_heads = kv_heads = config.num_kv_heads or heads
        with Gather() as at:
            with at():
                _check_heads(config, sizes.d_model)
            # After a problem with the heads these widths only serve to find those of the children.
            width = max(1, sizes.d_model // heads)
            d_k = config.d_k or width
            sizes = replace(
                sizes,
                num_heads=heads,
                d_q=config.d_q or d_k,
                d_k=d_k,
                d_v=config.d_v or width,
                bias=config.bias,
            )
            with at():
                _check_switches(config, sizes)
            reads_scores = config.weighting.part.reads_scores
            before = config.split == "before"
            with at("weighting"):
                self.weighting = config.weighting.build(sizes)
            with at("score"):
                self.score = config.score.build(sizes) if reads_scores else None
            with at("value"):
                self.value = config.value.build(
                    replace(sizes, num_heads=kv_heads, splits=kv_heads if before else 1)
                )
        self.query = self.key = self.query_norm = self.key_norm = None
        if reads_scores:
            self.query = projection(sizes, heads * sizes.d_q, heads if before else 1)
        self.tied = config.tied
        if not self.tied and (reads_scores or self.value.reads_keys):
            self.key = projection(sizes, kv_heads * sizes.d_k, kv_heads if before else 1)
        if config.qk_norm:
            self.query_norm = RMSNorm(RMSNorm.Config(), replace(sizes, d_model=sizes.d_q))
            self.key_norm = RMSNorm(RMSNorm.Config(), replace(sizes, d_model=sizes.d_k))
        self.output = nn.Linear(heads * sizes.d_v, sizes.d_model, bias=config.bias)
        self.weights_dropout = sizes.dropout_at("attention_weights")

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D).

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a causal model
        masks the future beside it. A query that may attend to nothing gets zeros, before the output's bias.
        """
        return self._attend(self._queries(x_btd), self.read(x_btd), position, mask, self.is_causal)

    def weights(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """The attention weights (B, H, T_q, T_k), before dropout; masked ones are exactly zero."""
        q, k = self._positioned(self._queries(x_btd), self.read(x_btd)[0], position)
        return self._weights(q, k, position, mask, self.is_causal)

    def step(self, x_b1d: Tensor, position: Position, state: State | None = None) -> tuple[Tensor, State]:
        """See `Mixer.step`; the state is what has been read."""
        read = self.read(x_b1d)
        if state is not None:
            read = (torch.cat([state[0], read[0]], 2), torch.cat([state[1], read[1]], 2))
        return self._attend(self._queries(x_b1d), read, position, None, False), read

    def read(self, x_bsd: Tensor) -> State:
        """Keys, before their positions, and values of (B, S, D); keys of no width where none are read."""
        batch, length, _ = x_bsd.shape
        # Not under two names: `functional_call` would leave a module that it finds twice with the wrong weights.
        project = self.query if self.tied else self.key
        if project is None:
            keys = x_bsd.new_zeros(batch, self.num_kv_heads, length, 0)
            return keys, self._split(self.value(x_bsd), self.num_kv_heads)
        keys_bsn = project(x_bsd)
        values_bsn = self.value(keys_bsn) if self.value.reads_keys else self.value(x_bsd)
        return self._split(keys_bsn, self.num_kv_heads), self._split(values_bsn, self.num_kv_heads)

    def attend(self, x_btd: Tensor, read: State, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D): cross-attention to what was `read`, without a causal mask."""
        return self._attend(self._queries(x_btd), read, position, mask, False)

    def attend_weights(
        self, x_btd: Tensor, read: State, position: Position, mask: Tensor | None = None
    ) -> Tensor:
        """The weights (B, H, T_q, T_k) of `attend`."""
        q, k = self._positioned(self._queries(x_btd), read[0], position)
        return self._weights(q, k, position, mask, False)

    def _queries(self, x_btd: Tensor) -> Tensor:
        if self.query is None:
            return x_btd.new_zeros(x_btd.shape[0], self.num_heads, x_btd.shape[1], 0)
        return self._split(self.query(x_btd), self.num_heads)

    def _split(self, x_btn: Tensor, heads: int) -> Tensor:
        """(B, T, H·d) → (B, H, T, d)."""
        return x_btn.unflatten(2, (heads, -1)).transpose(1, 2)

    def _shared(self, x_bgtn: Tensor) -> Tensor:
        """(B, H_kv, T, d) → (B, H, T, d): each head of keys or values for all of its queries."""
        group = self.num_heads // self.num_kv_heads
        return x_bgtn if group == 1 else x_bgtn.repeat_interleave(group, 1)

    def _positioned(self, q: Tensor, k: Tensor, position: Position) -> tuple[Tensor, Tensor]:
        """Queries and keys as they meet in the score: normalised, with their positions, H heads of each."""
        if self.score is None:
            return q, self._shared(k)
        if self.query_norm is not None and self.key_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        q, k = position.rotate(q, k)
        return q, self._shared(k)

    def _attend(
        self, q: Tensor, read: State, position: Position, mask: Tensor | None, causal: bool
    ) -> Tensor:
        k, v = read
        q, k, v = *self._positioned(q, k, position), self._shared(v)
        inner = None
        if self.score is not None and self.weighting.fused and not self.weights_dropout.active:
            inner = self.score.inner(q, k)
        if inner is None:
            mixed = self.weights_dropout(self._weights(q, k, position, mask, causal)) @ v
        else:
            mixed = _fused(inner, v, position.bias(q.shape[2], k.shape[2], q.device), mask, causal)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _weights(self, q: Tensor, k: Tensor, position: Position, mask: Tensor | None, causal: bool) -> Tensor:
        if self.score is None:
            logits = q.new_zeros(()).expand(*q.shape[:3], k.shape[2])
        else:
            logits = self.score.logits(q, k)
            bias = position.bias(q.shape[2], k.shape[2], q.device)
            logits = logits if bias is None else logits + bias
        if causal:
            mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
        if mask is None:
            return self.weighting(logits)
        mask, empty = open_empty_rows(mask)
        return self.weighting(logits.masked_fill(~mask, -torch.inf)).masked_fill(empty, 0)


def _fused(
    inner: tuple[Tensor, Tensor, float],
    v: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    """softmax(scale · qᵀk + bias) v by torch's kernel, which never forms the weights.

    It is made for q, k and v of one width, and forms the weights for others: zeros fill the narrower ones up.
    """
    q, k, scale = inner
    d_v, width = v.shape[-1], max(q.shape[-1], v.shape[-1])
    q, k, v = (F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in (q, k, v))
    return _kernel(q, k, v, scale, bias, mask, causal)[..., :d_v]


def _kernel(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    bias: Tensor | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    if bias is not None:
        bias = bias.unsqueeze(0)
    if mask is None and bias is None:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    if causal:
        mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
    mask, empty = open_empty_rows(mask)
    added = mask if bias is None else bias.masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale).masked_fill(empty, 0)


def _check_heads(config: Attention.Config, d_model: int) -> None:
    heads, kv_heads = config.num_heads, config.num_kv_heads or config.num_heads
    before = config.split == "before"
    divides = d_model % heads == 0 or not (before or config.d_k is None or config.d_v is None)
    unless = "" if before else " unless d_k and d_v are both given"
    with Gather() as at:
        at.refuse(
            not divides, "num_heads", f"must divide d_model = {d_model}{unless}", heads, divisors(d_model)
        )
        at.refuse(
            heads % kv_heads, "num_kv_heads", f"must divide num_heads = {heads}", kv_heads, divisors(heads)
        )


def _check_switches(config: Attention.Config, sizes: Sizes) -> None:
    """Refuses what has no effect, and what does not fit."""
    weighting, value = config.weighting.part, config.value.part
    kv_heads = config.num_kv_heads or config.num_heads
    score, d_q, d_k = config.score, sizes.d_q, sizes.d_k
    with Gather() as at:
        at.refuse(
            config.tied and (d_q != d_k or kv_heads != config.num_heads),
            "tied",
            "needs queries and keys of one width and number of heads",
            "on",
            "off",
        )
        at.refuse(
            d_q != d_k and not score.part.joins_widths,
            "d_q",
            f"must be d_k = {d_k} with score {score.name}, which needs one width",
            d_q,
            f"{d_k}, or a score that joins two widths",
        )
        at.refuse(
            value.reads_keys and d_k != sizes.d_v,
            "d_v",
            f"must be d_k = {d_k} where values are the keys",
            sizes.d_v,
            str(d_k),
        )
        if weighting.reads_scores:
            return
        unread = f"has no effect with weighting {weighting.name}, which reads no scores"
        for name in ("tied", "qk_norm"):
            at.refuse(getattr(config, name), name, unread, "on", "off")
        chosen = score.name != Attention.Config.model_fields["score"].default
        at.refuse(chosen, "score", unread, score.name, "leave it out")
