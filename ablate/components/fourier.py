"""The Fourier transform as a mixer."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ablate.base.registry import OnOff, PartConfig, register
from ablate.components.mixer import Mixer
from ablate.components.positions import Position
from ablate.components.sizes import Sizes


@register("mixer", "fourier")
class Fourier(Mixer):
    """Re(F_T(F_D(x))), the discrete Fourier transform over features and positions (Lee-Thorp et al. 2021, "FNet").

    No parameters. Encoder only, since each frequency sums over all positions; no padding, since the
    frequencies depend on the length with padding; any length.
    """

    begins_unlike = (
        "a sum over all T positions and D features, it has the scale √(T·D/2), or 1/√2 where unitary; "
        "attention, an average, 1/(3√T)"
    )
    causal = False
    padding = False
    reasons = {
        "causal": "each frequency sums over all positions",
        "padding": "the frequencies depend on how long the sequence is with its padding",
    }

    class Config(PartConfig):
        """Parameters of the Fourier transform."""

        unitary: OnOff = False
        "Whether the transform is divided by √(T·D), so that it keeps the norm of x; the paper's is not."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.norm = "ortho" if config.unitary else "backward"

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); raises `ValueError` for any mask."""
        self.real_positions(x_btd, mask)
        return torch.fft.fft2(x_btd, norm=self.norm).real

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """See `Part.beside`; 5 N log₂ N for N = T·D complex numbers, as Frigo and Johnson 2005 count."""
        size = queries * self.sizes.d_model
        return {"fft_flops": round(5 * size * math.log2(size))}
