"""Multi-head attention.

Shapes: B batch, H heads, H_kv heads of keys and values, T positions, D = d_model; q (B, H, T_q, d_q),
k (B, H, T_k, d_k), v (B, H, T_k, d_v).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import OnOff, PartConfig, Slot, register
from ablate.components.layers import projection
from ablate.components.masks import open_empty_rows, with_future_masked
from ablate.components.mixer import Mixer
from ablate.components.norms import RMSNorm
from ablate.components.positions import Position
from ablate.components.sizes import Sizes, divisors, together
from ablate.models.fused import fused_attention


class KeysAndValues(NamedTuple):
    """The keys (B, H_kv, T, d_k), not yet normalised or rotated, and the values (B, H_kv, T, d_v) of a sequence."""

    keys: Tensor  # (B, H_kv, T, d_k).
    values: Tensor  # (B, H_kv, T, d_v).


@register("mixer", "attention")
class Attention(Mixer):
    """Concat_h(w(a(q_h, k_h)) v_h) W_O: weighting w, score a, and q, k, v projected from x (Vaswani et al. 2017, 3.2).

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
        self.num_heads = config.num_heads
        self.num_kv_heads = config.num_kv_heads or config.num_heads
        self.tied = config.tied
        head_sizes = _head_sizes(config, sizes)
        with Gather() as at:
            _check_heads(at, config, sizes.d_model)
            _check_widths(at, config, head_sizes)
            _check_unread(at, config)
            self._build_parts(at, config, head_sizes)
        self._build_maps(config, head_sizes)

    def _build_parts(self, at: Gather, config: Config, sizes: Sizes) -> None:
        """Sets `weighting`, `value` and `score`, which is None where the weighting reads no scores;
        collects their problems in `at`.
        """
        with at("weighting"):
            self.weighting = config.weighting.build(sizes)
        with at("score"):
            self.score = config.score.build(sizes) if config.weighting.part.reads_scores else None
        with at("value"):
            splits = self.num_kv_heads if config.split == "before" else 1
            self.value = config.value.build(replace(sizes, num_heads=self.num_kv_heads, splits=splits))

    def _build_maps(self, config: Config, sizes: Sizes) -> None:
        """Sets the linear maps `query`, `key` and `output`, the norms of queries and keys, and the dropout of weights.

        `query` is None where the weighting reads no scores, `key` where nothing reads keys or it is `query` (`tied`).
        Norms are identities without `qk_norm`.
        """
        q_width = self.num_heads * sizes.d_q
        k_width = self.num_kv_heads * sizes.d_k
        q_splits = self.num_heads if config.split == "before" else 1
        k_splits = self.num_kv_heads if config.split == "before" else 1
        reads_scores = self.score is not None
        # Not under two names: `functional_call` would leave a module that it finds twice with the wrong weights.
        reads_keys = not self.tied and (reads_scores or self.value.reads_keys)

        self.query = projection(sizes.d_model, q_width, q_splits, config.bias) if reads_scores else None
        self.key = projection(sizes.d_model, k_width, k_splits, config.bias) if reads_keys else None
        self.query_norm = _head_norm(sizes, sizes.d_q) if config.qk_norm else nn.Identity()
        self.key_norm = _head_norm(sizes, sizes.d_k) if config.qk_norm else nn.Identity()
        self.output = nn.Linear(self.num_heads * sizes.d_v, sizes.d_model, bias=config.bias)
        self.weights_dropout = sizes.dropout_at("attention_weights")

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the output (B, T, D) of self-attention over inputs (B, T, D). `mask` is boolean, broadcastable to
        (B, 1, T_q, T_k), True where a query may attend.

        A causal model masks the future beside it. A query that may attend to nothing gets zeros, before the output's
        bias.
        """
        # Queries first: the backward pass adds up the gradients of x in the order of these maps.
        q = self.queries(x_btd)
        return self.attend(q, self.read(x_btd), position, mask, self.is_causal)

    def weights(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the weights (B, H, T, T) of `forward` for inputs (B, T, D), before dropout; 0 where `mask` hides a
        key or, in a causal model, the key is later than the query.
        """
        q = self.queries(x_btd)
        return self.attend_weights(q, self.read(x_btd), position, mask, self.is_causal)

    def step(
        self, x_b1d: Tensor, position: Position, state: KeysAndValues | None = None
    ) -> tuple[Tensor, KeysAndValues]:
        """Returns the output at one more position, (B, 1, D) → (B, 1, D), and the keys and values of all positions so
        far, which are the next `state`.

        `state` is None at the first position; see `Mixer.step`.
        """
        so_far = self.read(x_b1d)
        if state is not None:
            keys = torch.cat([state.keys, so_far.keys], 2)
            values = torch.cat([state.values, so_far.values], 2)
            so_far = KeysAndValues(keys, values)
        return self.attend(self.queries(x_b1d), so_far, position), so_far

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns function name → how many numbers go through the function, beside matrix products, in the weighting,
        the value, the score and the norms of queries and keys; see `Part.beside`.
        """
        counts = [self.weighting.beside(queries, keys), self.value.beside(queries, keys)]
        if self.score is not None:
            counts.append(self.score.beside(queries, keys))
        # A norm goes through every position of every head.
        if isinstance(self.query_norm, RMSNorm):
            q_positions = self.num_heads * queries
            counts.append(self.query_norm.beside(q_positions, q_positions))
        if isinstance(self.key_norm, RMSNorm):
            k_positions = self.num_kv_heads * keys
            counts.append(self.key_norm.beside(k_positions, k_positions))
        return together(counts)

    def queries(self, x_btd: Tensor) -> Tensor:
        """Returns the queries (B, H, T, d_q) of inputs (B, T, D), not yet normalised or rotated;
        of width 0 where the weighting reads no scores.
        """
        queries_btn = x_btd[..., :0] if self.query is None else self.query(x_btd)
        return _split(queries_btn, self.num_heads)

    def read(self, x_bsd: Tensor) -> KeysAndValues:
        """Returns the keys (B, H_kv, S, d_k), not yet normalised or rotated, and the values (B, H_kv, S, d_v)
        of inputs (B, S, D).

        Keys have width 0 where neither the score nor the value reads them.
        """
        key_map = self.query if self.tied else self.key
        keys_bsn = x_bsd[..., :0] if key_map is None else key_map(x_bsd)
        values_bsn = self.value(keys_bsn if self.value.reads_keys else x_bsd)
        return KeysAndValues(_split(keys_bsn, self.num_kv_heads), _split(values_bsn, self.num_kv_heads))

    def attend(
        self,
        q: Tensor,
        source: KeysAndValues,
        position: Position,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Returns the output (B, T_q, D) of attention: `q`, the queries (B, H, T_q, d_q) that `queries` returned,
        attend to `source`, the keys and values that `read` returned. `mask` is as in `forward`; `causal` hides keys
        later than the query.

        Keys and values are of the queries' sequence or of another one; with `causal`, the last query is at the last
        key's position.
        """
        q, k = self._positioned(q, source.keys, position)
        v = self._shared(source.values)
        inner = None
        if self.score is not None and self.weighting.fused and not self.weights_dropout.active:
            inner = self.score.inner(q, k)
        if inner is None:
            weights = self._weights(q, k, position, mask, causal)
            mixed = self.weights_dropout(weights) @ v
        else:
            bias = position.bias(q.shape[2], k.shape[2], q.device)
            mixed = fused_attention(inner, v, bias, mask=mask, causal=causal)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def attend_weights(
        self,
        q: Tensor,
        source: KeysAndValues,
        position: Position,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Returns the weights (B, H, T_q, T_k) with which `attend` mixes the values, before dropout; 0 where `mask` or
        `causal` hides a key.
        """
        q, k = self._positioned(q, source.keys, position)
        return self._weights(q, k, position, mask, causal)

    def _positioned(self, q: Tensor, k: Tensor, position: Position) -> tuple[Tensor, Tensor]:
        """Returns queries and keys as the score reads them: normalised, rotated, both of H heads.

        Without a score they are not normalised or rotated.
        """
        if self.score is not None:
            q, k = position.rotate(self.query_norm(q), self.key_norm(k))
        return q, self._shared(k)

    def _shared(self, x_bgtn: Tensor) -> Tensor:
        """Returns each head of keys or values repeated for the H / H_kv query heads that share it:
        (B, H_kv, T, d) → (B, H, T, d).
        """
        queries_per_head = self.num_heads // self.num_kv_heads
        return x_bgtn if queries_per_head == 1 else x_bgtn.repeat_interleave(queries_per_head, 1)

    def _weights(self, q: Tensor, k: Tensor, position: Position, mask: Tensor | None, causal: bool) -> Tensor:
        """Returns the weights (B, H, T_q, T_k) of queries and keys from `_positioned`;
        0 where `mask` is False or, with `causal`, the key is later.
        """
        logits = self._logits(q, k, position)
        if causal:
            mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)
        if mask is None:
            return self.weighting(logits)
        mask, empty = open_empty_rows(mask)
        return self.weighting(logits.masked_fill(~mask, -torch.inf)).masked_fill(empty, 0)

    def _logits(self, q: Tensor, k: Tensor, position: Position) -> Tensor:
        """Returns the score plus the position's bias, unmasked, (B, H, T_q, T_k); zeros without a score.

        Queries and keys are those of `_positioned`: normalised, rotated, of H heads each.
        """
        if self.score is None:
            return q.new_zeros(()).expand(*q.shape[:3], k.shape[2])
        logits = self.score.logits(q, k)
        bias = position.bias(q.shape[2], k.shape[2], q.device)
        return logits if bias is None else logits + bias


def _head_sizes(config: Attention.Config, sizes: Sizes) -> Sizes:
    """Returns `sizes` with the config's `bias`, numbers of heads and widths of a head, defaults filled in; nothing is
    checked.

    Where the number of heads is wrong, the widths only serve to find the problems of the other parts.
    """
    width = max(1, sizes.d_model // config.num_heads)
    d_k = config.d_k or width
    return replace(
        sizes,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads or config.num_heads,
        d_q=config.d_q or d_k,
        d_k=d_k,
        d_v=config.d_v or width,
        bias=config.bias,
    )


def _head_norm(sizes: Sizes, width: int) -> RMSNorm:
    """Returns a new RMS norm over the `width` features of one head."""
    return RMSNorm(RMSNorm.Config(), replace(sizes, d_model=width))


def _split(x_btn: Tensor, heads: int) -> Tensor:
    """Returns the features of each position split into heads: (B, T, heads · d) → (B, heads, T, d)."""
    return x_btn.unflatten(2, (heads, x_btn.shape[2] // heads)).transpose(1, 2)


def _check_heads(at: Gather, config: Attention.Config, d_model: int) -> None:
    """Collects in `at` a problem where `num_kv_heads` does not divide `num_heads`, and one where `num_heads` does not
    divide d_model; with `split: after` and both d_k and d_v given, d_model need not be divisible.
    """
    heads = config.num_heads
    kv_heads = config.num_kv_heads or heads
    rule = f"must divide d_model = {d_model}"
    width_is_needed = config.split == "before" or config.d_k is None or config.d_v is None
    if config.split == "after":
        rule += " unless d_k and d_v are both given"
    not_divided = width_is_needed and d_model % heads
    at.refuse(not_divided, "num_heads", rule, given=heads, allowed=divisors(d_model))
    rule = f"must divide num_heads = {heads}"
    at.refuse(heads % kv_heads, "num_kv_heads", rule, given=kv_heads, allowed=divisors(heads))


def _check_widths(at: Gather, config: Attention.Config, sizes: Sizes) -> None:
    """Collects in `at` a problem for `tied: on` where queries and keys differ in width or number of heads, for `d_q`
    where the score needs d_q = d_k, and for `d_v` where the value reads keys and d_v ≠ d_k.
    """
    d_q, d_k = sizes.d_q, sizes.d_k
    untieable = config.tied and (d_q != d_k or sizes.num_kv_heads != sizes.num_heads)
    rule = "needs queries and keys of one width and number of heads"
    at.refuse(untieable, "tied", rule, given="on", allowed="off")

    score = config.score
    unjoined = d_q != d_k and not score.part.joins_widths
    rule = f"must be d_k = {d_k} with score {score.name}, which needs one width"
    at.refuse(unjoined, "d_q", rule, given=d_q, allowed=f"{d_k}, or a score that joins two widths")

    other_width = config.value.part.reads_keys and d_k != sizes.d_v
    rule = f"must be d_k = {d_k} where values are the keys"
    at.refuse(other_width, "d_v", rule, given=sizes.d_v, allowed=str(d_k))


def _check_unread(at: Gather, config: Attention.Config) -> None:
    """Collects in `at` a problem for `tied`, for `qk_norm` and for a score other than the default,
    where the weighting reads no scores.
    """
    if config.weighting.part.reads_scores:
        return
    rule = f"has no effect with weighting {config.weighting.name}, which reads no scores"
    default_score = Attention.Config.model_fields["score"].default
    at.refuse(config.tied, "tied", rule, given="on", allowed="off")
    at.refuse(config.qk_norm, "qk_norm", rule, given="on", allowed="off")
    at.refuse(
        config.score.name != default_score, "score", rule, given=config.score.name, allowed="leave it out"
    )
