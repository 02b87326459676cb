"""Perceptrons over positions, as mixers: a weight belongs to a place in the sequence, not to its content.

Their length is fixed: a sequence shorter than max_len is padded with zeros, and uses the weights of its own
places alone; a longer one is an error. Padding is set to zero before positions are mixed, so that neither its content
nor its length matters.

Shapes: B batch, T positions, D = d_model, h hidden width.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.registry import PartConfig, register
from ablate.components.initial import Draw, as_linear
from ablate.components.masks import zero_padding
from ablate.components.mixer import Mixer
from ablate.components.norms import LayerNorm
from ablate.components.positions import Position
from ablate.components.sizes import Sizes, check_even

# Linear maps before and after a GELU begin with about 1/(3√3) of the scale of a unit-variance input; this makes it
# 1/3.
AFTER_GELU = 3**0.5


class FixedLength(Mixer):
    """Base of the mixers whose weights belong to places in the sequence; `forward` raises `ValueError` for a sequence
    longer than max_len.
    """

    reasons = {"any_length": "its weights belong to places in the sequence"}


class AllPositions(FixedLength):
    """Base of the mixers that compute W_down GELU(W_up x + b_up) + b_down; each hidden unit reads all positions."""

    reasons = {**FixedLength.reasons, "causal": "each of its hidden units reads all positions"}

    def __init__(self, config: PartConfig, sizes: Sizes, length: int, hidden: int) -> None:
        super().__init__(config, sizes)
        self.up = nn.Linear(length, hidden)
        self.down = nn.Linear(hidden, length)

    def initialise(self, draw: Draw) -> None:
        """Multiplies W_down, already filled as a linear map, in place by `averaged` · √3 (see `Mixer.averaged`)."""
        self.down.weight.mul_(AFTER_GELU * self.averaged)

    def through(self, x: Tensor) -> Tensor:
        """Returns W_down GELU(W_up x + b_up) + b_down, (…, n) → (…, n), for n up to the `length` of the constructor, by
        the first n columns of W_up, rows of W_down and numbers of b_down.
        """
        length = x.shape[-1]
        hidden = F.gelu(F.linear(x, self.up.weight[:, :length], self.up.bias))
        return F.linear(hidden, self.down.weight[:length], self.down.bias[:length])


@register("mixer", "mlp")
class FlatMLP(AllPositions):
    """W_down GELU(W_up vec(x) + b_up) + b_down over the flattened sequence vec(x) ∈ R^{T·D} (Rumelhart et al. 1986).
    The constructor raises `Invalid` for a causal model.

    Encoder only, since each hidden unit reads all positions; padding anywhere, as zeros; up to max_len.
    """

    causal = False
    padding = True
    any_length = False
    attends = False

    class Config(PartConfig):
        hidden: PositiveInt | None = None
        "h; d_model when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes, sizes.max_len * sizes.d_model, config.hidden or sizes.d_model)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding. Raises
        `ValueError` for T > max_len, and for a mask with a row for each query.
        """
        x_btd = zero_padding(x_btd, self.real_positions(x_btd, mask))
        return self.through(x_btd.flatten(1)).view_as(x_btd)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"gelu": h}, h the hidden units: each reads the whole sequence at once, so that `queries` and `keys`
        do not count.
        """
        return {"gelu": self.up.out_features}


@register("mixer", "mlp_mixer")
class MLPMixer(AllPositions):
    """W_down GELU(W_up x_d + b_up) + b_down for each feature x_d ∈ R^T (Tolstikhin et al. 2021, equation 1).
    The constructor raises `Invalid` for a causal model.

    The token-mixing half of a Mixer block; the feed-forward with GELU is the other. Encoder only, since each
    hidden unit reads all positions; padding anywhere, as zeros; up to max_len.
    """

    causal = False
    padding = True
    any_length = False
    attends = False

    class Config(PartConfig):
        hidden: PositiveInt | None = None
        "h, the paper's D_S; half of d_model when not given, as in the paper."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes, sizes.max_len, config.hidden or max(1, sizes.d_model // 2))

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding. Raises
        `ValueError` for T > max_len, and for a mask with a row for each query.
        """
        x_btd = zero_padding(x_btd, self.real_positions(x_btd, mask))
        return self.through(x_btd.transpose(1, 2)).transpose(1, 2)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"gelu": D · h}: the h hidden units, once per feature; `queries` and `keys` do not count."""
        return {"gelu": self.sizes.d_model * self.up.out_features}


@register("mixer", "resmlp")
class ResMLP(FixedLength):
    """y_t = Σ_s A_ts x_s + b_t with one A ∈ R^{T×T} for all features (Touvron et al. 2021, section 2).
    Where causal, only the lower triangle of A is read.

    The paper's affine maps around it are the norms of the model. Encoder, and decoder with the lower triangle
    of A; padding anywhere, as zeros; up to max_len.
    """

    causal = True
    padding = True
    any_length = False
    attends = False

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.tokens = TokenLinear(sizes)

    def initialise(self, draw: Draw) -> None:
        """Multiplies A, already filled as a linear map, in place by `averaged` / √3 (see `Mixer.averaged`)."""
        self.tokens.weight.mul_(self.averaged / 3**0.5)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding. Raises
        `ValueError` for T > max_len, and for a mask with a row for each query.
        """
        return self.tokens(zero_padding(x_btd, self.real_positions(x_btd, mask)))


@register("mixer", "gmlp")
class GMLP(FixedLength):
    """(u ⊙ (A Norm(v) + b)) W_down with [u, v] = GELU(x W_up), A ∈ R^{T×T} (Liu et al. 2021, section 2).
    Where causal, only the lower triangle of A is read. The constructor raises `Invalid` for an odd `hidden`.

    The whole block of the paper between its norm and its residual; the paper has no other feed-forward
    (`feedforward: none`); Norm is a layer norm, b a number for each position. Encoder, and decoder with the
    lower triangle of A; padding anywhere, as zeros where positions are mixed; up to max_len.
    """

    causal = True
    padding = True
    any_length = False
    attends = False

    class Config(PartConfig):
        hidden: PositiveInt | None = None
        "Width of u and v together, the paper's d_ffn; 4 d_model when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        hidden = config.hidden or 4 * sizes.d_model
        check_even("hidden", hidden, "must be even, half for the gate")
        self.up = nn.Linear(sizes.d_model, hidden)
        self.norm = LayerNorm(LayerNorm.Config(), replace(sizes, d_model=hidden // 2))
        self.gate = TokenLinear(sizes)
        self.down = nn.Linear(hidden // 2, sizes.d_model)

    def initialise(self, draw: Draw) -> None:
        """Fills A from U(−0.001/T, 0.001/T), T = max_len, and b with ones, and multiplies W_down in place by
        `averaged` · √3.

        The gate thus begins at about 1 ± 0.001, and each position goes through a feed-forward alone (section 2.1);
        `Mixer.averaged` says why W_down is scaled.
        """
        bound = 1e-3 / self.max_len
        self.gate.weight.uniform_(-bound, bound, generator=draw("gate.weight"))
        self.gate.bias.fill_(1)
        self.down.weight.mul_(AFTER_GELU * self.averaged)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding. Raises
        `ValueError` for T > max_len, and for a mask with a row for each query.
        """
        real_bt = self.real_positions(x_btd, mask)
        u_bth, v_bth = F.gelu(self.up(x_btd)).chunk(2, -1)
        gate_bth = self.gate(zero_padding(self.norm(v_bth), real_bt))
        return self.down(u_bth * gate_bth)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"gelu": queries · hidden, "norm": queries · hidden / 2}: u and v go through GELU, v through the
        norm; `keys` does not count.
        """
        return {"gelu": queries * self.up.out_features, **self.norm.beside(queries, keys)}


class TokenLinear(nn.Module):
    """y_t = Σ_s A_ts x_s + b_t, over s ≤ t where causal: (B, T, N) → (B, T, N), for T up to max_len."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.is_causal = sizes.causal
        self.weight = nn.Parameter(torch.empty(sizes.max_len, sizes.max_len))
        self.bias = nn.Parameter(torch.empty(sizes.max_len))

    def initialise(self, draw: Draw) -> None:
        """Fills A from U(−1/√T, 1/√T), T = max_len its number of inputs, and the bias with zeros."""
        as_linear(self.weight, self.bias, self.weight.shape[1], draw)

    def forward(self, x_btn: Tensor) -> Tensor:
        """Returns the mixed sequence, (B, T, N) → (B, T, N), by the first T rows and columns of A, their lower triangle
        where causal, and the first T numbers of b.
        """
        length = x_btn.shape[1]
        weight = self.weight[:length, :length]
        if self.is_causal:
            weight = weight.tril()
        return weight @ x_btn + self.bias[:length, None]
