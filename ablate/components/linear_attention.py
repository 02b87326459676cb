"""Linear attention: kernel feature maps in place of the softmax, so that time grows with T and not T².

Shapes: B batch, H heads, T positions, D = d_model; q and k (B, H, T, d_k) after the feature map, v (B, H, T, d_v).
"""

from collections.abc import Mapping
from itertools import accumulate

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, PartConfig, register
from ablate.components.masks import zero_padding
from ablate.components.mixer import Mixer
from ablate.components.positions import Position
from ablate.components.sizes import Sizes, divisors

CHUNK = 64  # Length of a chunk: positions within one are compared pair by pair, earlier chunks enter as sums.


@register("mixer", "linear_attention")
class LinearAttention(Mixer):
    """Σ_j φ(q_i)ᵀφ(k_j) v_j / Σ_j φ(q_i)ᵀφ(k_j) for each head, then W_O; φ(x) = elu(x) + 1 (Katharopoulos et al. 2020).
    The constructor raises `Invalid` where num_heads does not divide d_model, unless d_k and d_v are both given.

    Encoder and decoder (sums over j ≤ i); padding anywhere, which adds nothing to the sums; any length. There
    are no weights that a position, a score or a mask for each query could act on. A sequence of padding alone
    gives zeros, before the output's bias.
    """

    causal = True
    padding = True
    any_length = True
    attends = False
    reads_order = False

    class Config(PartConfig):
        num_heads: PositiveInt = 4
        "H; divides d_model unless d_k and d_v are both given."
        d_k: PositiveInt | None = None
        "Query and key width of one head; d_model / num_heads when not given."
        d_v: PositiveInt | None = None
        "Value width of one head; d_model / num_heads when not given."
        bias: OnOff = False
        "Whether the projections to Q, K, V and the output have a bias."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        d_model = sizes.d_model
        num_heads = config.num_heads
        if d_model % num_heads and (config.d_k is None or config.d_v is None):
            raise Invalid(
                "num_heads",
                f"must divide d_model = {d_model} unless d_k and d_v are both given",
                num_heads,
                divisors(d_model),
            )
        self.num_heads = num_heads
        d_k = config.d_k or d_model // num_heads
        d_v = config.d_v or d_model // num_heads
        self.query = nn.Linear(d_model, num_heads * d_k, bias=config.bias)
        self.key = nn.Linear(d_model, num_heads * d_k, bias=config.bias)
        self.value = nn.Linear(d_model, num_heads * d_v, bias=config.bias)
        self.output = nn.Linear(num_heads * d_v, d_model, bias=config.bias)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding. Raises
        `ValueError` for a mask with a row for each query. `position` is not read.
        """
        real_bt = self.real_positions(x_btd, mask)
        q, k, v = self._project(x_btd)
        if real_bt is not None:
            k = zero_padding(k, real_bt.unsqueeze(1))
        sums = _causal_sums(q, k, v) if self.is_causal else q @ (k.transpose(-2, -1) @ v)
        return self._merge(sums)

    def step(self, x_b1d: Tensor, position: Position, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Returns the output at one more position of a causal model, (B, 1, D) → (B, 1, D), and the state to pass to
        the next call: Σ_j φ(k_j) [v_j, 1]ᵀ so far, (B, H, d_k, d_v + 1). `state` is None at the first position.
        """
        q, k, v = self._project(x_b1d)
        summand = k.transpose(-2, -1) @ v
        state = summand if state is None else state + summand
        return self._merge(q @ state), state

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"elu": 2 · queries · H · d_k}, how many numbers of Q and K go through φ at `queries` positions;
        `keys` does not count.
        """
        return {"elu": queries * (self.query.out_features + self.key.out_features)}

    def _project(self, x_btd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns φ(q) and φ(k), (B, H, T, d_k), and [v, 1], (B, H, T, d_v + 1), of inputs (B, T, D).

        The column of ones sums to the denominator beside the numerator.
        """
        q = self._split(self.query(x_btd))
        k = self._split(self.key(x_btd))
        v = self._split(self.value(x_btd))
        return F.elu(q) + 1, F.elu(k) + 1, F.pad(v, (0, 1), value=1.0)

    def _split(self, x_btn: Tensor) -> Tensor:
        """Splits the features of each position into heads, (B, T, H·d) → (B, H, T, d)."""
        return x_btn.unflatten(2, (self.num_heads, -1)).transpose(1, 2)

    def _merge(self, sums: Tensor) -> Tensor:
        """Returns W_O of each head's numerator / denominator, (B, H, T, d_v + 1) → (B, T, D); the denominator is the
        last column of `sums`, and 0/0 counts as 0.
        """
        numerator = sums[..., :-1]
        denominator = sums[..., -1:]
        mixed = numerator / denominator.masked_fill(denominator == 0, 1)
        return self.output(mixed.transpose(1, 2).flatten(2))


def _causal_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns Σ_{j≤i} (q_iᵀk_j) v_j at each position i, (B, H, T, d_v), for q and k (B, H, T, d_k) and v (B, H, T,
    d_v).

    Positions within a chunk are compared pair by pair, earlier chunks enter as cumulative sums. The sums after every
    single position, T · d_k · d_v numbers, are not held.
    """
    length = q.shape[2]
    size = min(CHUNK, length)
    q = _in_chunks(q, size)
    k = _in_chunks(k, size)
    v = _in_chunks(v, size)
    sums = k.transpose(-2, -1) @ v
    # Not `cumsum`, which has no repeatable kernel on CUDA.
    zero = torch.zeros_like(sums[:, :, 0])
    earlier_sums = torch.stack(list(accumulate(sums.unbind(2)[:-1], initial=zero)), 2)
    within = (q @ k.transpose(-2, -1)).tril() @ v
    return (within + q @ earlier_sums).flatten(2, 3)[:, :, :length]


def _in_chunks(x: Tensor, size: int) -> Tensor:
    """Cuts (B, H, T, d) into chunks of `size` positions, (B, H, chunks, size, d), the last one filled up
    with zeros.
    """
    missing = -x.shape[2] % size
    return F.pad(x, (0, 0, 0, missing)).unflatten(2, (-1, size))
