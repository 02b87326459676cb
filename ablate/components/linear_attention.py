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

    Encoder and decoder (sums over j ≤ i); padding anywhere, which adds nothing to the sums; any length. There
    are no weights that a position, a score or a mask for each query could act on. A sequence of padding alone
    gives zeros, before the output's bias.
    """

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
        d_model, heads = sizes.d_model, config.num_heads
        if d_model % heads and (config.d_k is None or config.d_v is None):
            raise Invalid(
                "num_heads",
                f"must divide d_model = {d_model} unless d_k and d_v are both given",
                heads,
                divisors(d_model),
            )
        self.num_heads = heads
        d_k, d_v = config.d_k or d_model // heads, config.d_v or d_model // heads
        self.query = nn.Linear(d_model, heads * d_k, bias=config.bias)
        self.key = nn.Linear(d_model, heads * d_k, bias=config.bias)
        self.value = nn.Linear(d_model, heads * d_v, bias=config.bias)
        self.output = nn.Linear(heads * d_v, d_model, bias=config.bias)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); `mask` is padding alone, (B, 1, 1, T)."""
        real_bt = self.real_positions(x_btd, mask)
        q, k, v = self._project(x_btd)
        if real_bt is not None:
            k = zero_padding(k, real_bt.unsqueeze(1))
        return self._merge(_causal(q, k, v) if self.is_causal else q @ (k.transpose(-2, -1) @ v))

    def step(self, x_b1d: Tensor, position: Position, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See `Mixer.step`; the state is Σ_j φ(k_j) [v_j, 1]ᵀ, (B, H, d_k, d_v + 1)."""
        q, k, v = self._project(x_b1d)
        new = k.transpose(-2, -1) @ v
        state = new if state is None else state + new
        return self._merge(q @ state), state

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        return {"elu": queries * (self.query.out_features + self.key.out_features)}

    def _project(self, x_btd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """φ(q), φ(k) and [v, 1]: the column of ones sums to the denominator beside the numerator."""
        q, k, v = (
            projection(x_btd).unflatten(2, (self.num_heads, -1)).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        return F.elu(q) + 1, F.elu(k) + 1, F.pad(v, (0, 1), value=1.0)

    def _merge(self, sums: Tensor) -> Tensor:
        """[numerator, denominator] (B, H, T, d_v + 1) → (B, T, D); 0/0 is 0."""
        numerator, denominator = sums[..., :-1], sums[..., -1:]
        mixed = numerator / denominator.masked_fill(denominator == 0, 1)
        return self.output(mixed.transpose(1, 2).flatten(2))


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Σ_{j≤i} (q_iᵀk_j) v_j, (B, H, T, d_v): within a chunk pair by pair, before it by cumulative sums.

    The sums after every single position, T · d_k · d_v numbers, are not held.
    """
    length = q.shape[2]
    size = min(CHUNK, length)
    q, k, v = (F.pad(x, (0, 0, 0, -length % size)).unflatten(2, (-1, size)) for x in (q, k, v))
    sums = k.transpose(-2, -1) @ v
    # Not `cumsum`, which has no repeatable kernel on CUDA.
    before = torch.stack(list(accumulate(sums.unbind(2)[:-1], initial=torch.zeros_like(sums[:, :, 0]))), 2)
    within = (q @ k.transpose(-2, -1)).tril() @ v
    return (within + q @ before).flatten(2, 3)[:, :, :length]
