"""Multi-head attention.

Shapes: B batch, H heads, H_kv key and value heads, T positions, D = d_model; q (B, H, T_q, d_q), k (B, H, T_k, d_k),
v (B, H, T_k, d_v).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.errors import Gather
from ablate.base.registry import OnOff, PartConfig, Slot, register
from ablate.components.layers import projection
from ablate.components.masks import open_empty_rows, with_future_masked
from ablate.components.mixer import Mixer
from ablate.components.norms import RMSNorm
from ablate.components.positions import Position
from ablate.components.sizes import Sizes, divisors, together

State = tuple[
    Tensor, Tensor
]  # Keys before their positions and values of all positions so far, (B, H_kv, T, d).


@register("mixer", "attention")
class Attention(Mixer):
    """Concat_h(w(a(q_h, k_h)) v_h) W_O with q, k, v projected from x (Vaswani et al. 2017, 3.2).

    Scores that are an inner product go, under a softmax, to torch's fused kernel unless the weights themselves
    are needed, so that a comparison of speed compares scores and not kernels.
    """

    causal = True
    padding = True
    any_length = True
    attends = True
    reads_order = False

    class Config(PartConfig):
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
        "How well a key matches a query."
        weighting: Annotated[Any, Slot("weighting")] = "softmax"
        "How scores become weights."
        value: Annotated[Any, Slot("value")] = "full"
        "The vector that a position contributes where it is attended to."
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
            _check_heads(at, config, sizes.d_model)
            # When the heads are wrong, these widths only serve to find the problems of the other parts.
            width = max(1, sizes.d_model // heads)
            d_k = config.d_k or width
            sizes = replace(
                sizes,
                num_heads=heads,
                num_kv_heads=kv_heads,
                d_q=config.d_q or d_k,
                d_k=d_k,
                d_v=config.d_v or width,
                bias=config.bias,
            )
            _check_switches(at, config, sizes)
            reads_scores = config.weighting.part.reads_scores
            splits, kv_splits = (heads, kv_heads) if config.split == "before" else (1, 1)
            with at("weighting"):
                self.weighting = config.weighting.build(sizes)
            with at("score"):
                self.score = config.score.build(sizes) if reads_scores else None
            with at("value"):
                self.value = config.value.build(replace(sizes, num_heads=kv_heads, splits=kv_splits))
        self.query = (
            projection(sizes.d_model, heads * sizes.d_q, splits, config.bias) if reads_scores else None
        )
        # Not under two names: `functional_call` would leave a module that it finds twice with the wrong weights.
        self.tied = config.tied
        reads_keys = not self.tied and (reads_scores or self.value.reads_keys)
        self.key = (
            projection(sizes.d_model, kv_heads * sizes.d_k, kv_splits, config.bias) if reads_keys else None
        )
        self.query_norm, self.key_norm = (
            RMSNorm(RMSNorm.Config(), replace(sizes, d_model=width)) if config.qk_norm else nn.Identity()
            for width in (sizes.d_q, sizes.d_k)
        )
        self.output = nn.Linear(heads * sizes.d_v, sizes.d_model, bias=config.bias)
        self.weights_dropout = sizes.dropout_at("attention_weights")

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D).

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a causal model
        masks the future beside it. A query that may attend to nothing gets zeros, before the output's bias.
        """
        # Queries first: the backward pass adds up the gradients of x in the order of these maps.
        return self.attend(self.queries(x_btd), self.read(x_btd), position, mask, self.is_causal)

    def weights(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """The attention weights (B, H, T_q, T_k), before dropout; masked ones are exactly zero."""
        return self.attend_weights(self.queries(x_btd), self.read(x_btd), position, mask, self.is_causal)

    def step(self, x_b1d: Tensor, position: Position, state: State | None = None) -> tuple[Tensor, State]:
        """See `Mixer.step`; the state is what `read` returned."""
        read = self.read(x_b1d)
        if state is not None:
            read = (torch.cat([state[0], read[0]], 2), torch.cat([state[1], read[1]], 2))
        return self.attend(self.queries(x_b1d), read, position), read

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        asked, read = self.num_heads * queries, self.num_kv_heads * keys
        parts = (self.weighting, self.value, self.score)
        found = [part.beside(queries, keys) for part in parts if part is not None]
        norms = ((self.query_norm, asked), (self.key_norm, read))
        return together([*found, *(norm.beside(n, n) for norm, n in norms if isinstance(norm, RMSNorm))])

    def queries(self, x_btd: Tensor) -> Tensor:
        """Returns the queries of each head for inputs (B, T, D), before their positions.

        They have width 0 where the attention reads none.
        """
        return _split(x_btd[..., :0] if self.query is None else self.query(x_btd), self.num_heads)

    def read(self, x_bsd: Tensor) -> State:
        """Keys, before their positions, and values of (B, S, D); keys of width 0 where none are read."""
        project = self.query if self.tied else self.key
        keys_bsn = x_bsd[..., :0] if project is None else project(x_bsd)
        values_bsn = self.value(keys_bsn if self.value.reads_keys else x_bsd)
        return _split(keys_bsn, self.num_kv_heads), _split(values_bsn, self.num_kv_heads)

    def attend(
        self, q: Tensor, read: State, position: Position, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """(B, H, T, d_q) → (B, T, D): attention to what was `read`, of the same sequence or of another one."""
        (q, k), v = self._positioned(q, read[0], position), self._shared(read[1])
        inner = None
        if self.score is not None and self.weighting.fused and not self.weights_dropout.active:
            inner = self.score.inner(q, k)
        if inner is None:
            mixed = self.weights_dropout(self._weights(q, k, position, mask, causal)) @ v
        else:
            mixed = _fused(inner, v, position.bias(q.shape[2], k.shape[2], q.device), mask, causal)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def attend_weights(
        self, q: Tensor, read: State, position: Position, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """The weights (B, H, T_q, T_k) of `attend`."""
        q, k = self._positioned(q, read[0], position)
        return self._weights(q, k, position, mask, causal)

    def _positioned(self, q: Tensor, k: Tensor, position: Position) -> tuple[Tensor, Tensor]:
        """Returns queries and keys ready for the score: normalised, with their positions, H heads of each."""
        if self.score is not None:
            q, k = position.rotate(self.query_norm(q), self.key_norm(k))
        return q, self._shared(k)

    def _shared(self, x_bgtn: Tensor) -> Tensor:
        """(B, H_kv, T, d) → (B, H, T, d): each head of keys or values for all of its queries."""
        group = self.num_heads // self.num_kv_heads
        return x_bgtn if group == 1 else x_bgtn.repeat_interleave(group, 1)

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


def _split(x_btn: Tensor, heads: int) -> Tensor:
    """(B, T, H·d) → (B, H, T, d)."""
    return x_btn.unflatten(2, (heads, x_btn.shape[2] // heads)).transpose(1, 2)


def _fused(
    inner: tuple[Tensor, Tensor, float],
    v: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    """softmax(scale · qᵀk + bias) v by torch's kernel, which never forms the weights.

    The kernel is made for q, k and v of one width, and forms the weights for others: zeros fill up the narrower ones.
    """
    q, k, scale = inner
    d_v, width = v.shape[-1], max(q.shape[-1], v.shape[-1])
    q, k, v = (F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in (q, k, v))
    added = None if bias is None else bias.unsqueeze(0)
    is_causal = causal and mask is None and added is None
    if causal and not is_causal:
        mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
    empty = None
    if mask is not None:
        mask, empty = open_empty_rows(mask)
        added = mask if added is None else added.masked_fill(~mask, -torch.inf)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=added, is_causal=is_causal, scale=scale)
    return (mixed if empty is None else mixed.masked_fill(empty, 0))[..., :d_v]


def _check_heads(at: Gather, config: Attention.Config, d_model: int) -> None:
    heads, kv_heads = config.num_heads, config.num_kv_heads or config.num_heads
    before = config.split == "before"
    divides = d_model % heads == 0 or not (before or config.d_k is None or config.d_v is None)
    rule = f"must divide d_model = {d_model}" + ("" if before else " unless d_k and d_v are both given")
    at.refuse(not divides, "num_heads", rule, heads, divisors(d_model))
    rule = f"must divide num_heads = {heads}"
    at.refuse(heads % kv_heads, "num_kv_heads", rule, kv_heads, divisors(heads))


def _check_switches(at: Gather, config: Attention.Config, sizes: Sizes) -> None:
    """Refuses settings that have no effect or contradict one another."""
    weighting, value, score = config.weighting, config.value.part, config.score
    kv_heads, d_q, d_k = config.num_kv_heads or config.num_heads, sizes.d_q, sizes.d_k
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
    if not weighting.part.reads_scores:
        unread = f"has no effect with weighting {weighting.name}, which reads no scores"
        for name in ("tied", "qk_norm"):
            at.refuse(getattr(config, name), name, unread, "on", "off")
        chosen = score.name != Attention.Config.model_fields["score"].default
        at.refuse(chosen, "score", unread, score.name, "leave it out")
