"""Filters over positions, as mixers: convolution, and the Fourier transform."""

import math
from collections.abc import Mapping

import torch
from pydantic import PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.registry import OnOff, PartConfig, register
from ablate.components.initial import Draw, as_linear
from ablate.components.masks import zero_padding
from ablate.components.mixer import Mixer
from ablate.components.positions import Position
from ablate.components.sizes import Sizes


@register("mixer", "conv")
class Convolution(Mixer):
    """y_t = Σ_k W_k x_{t+k−c} + b over `kernel_size` positions, W_k ∈ R^{D×D} (Waibel et al. 1989).
    The offset c centres these positions on t or, in a causal topology, lets them end at t.

    c = ⌊(kernel_size − 1) / 2⌋: centred, one more to the right than to the left where kernel_size is even;
    c = kernel_size − 1 in a causal topology, which ends at t (van den Oord et al. 2016). Positions outside of
    the sequence are zeros, and so is padding, wherever it is. Encoder and decoder; any length.
    """

    causal = True
    padding = True
    any_length = True
    attends = False

    class Config(PartConfig):
        kernel_size: PositiveInt = 3
        "Number of positions that one output reads."
        bias: OnOff = True
        "Whether the convolution has a bias, b."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.before = config.kernel_size - 1 if sizes.causal else (config.kernel_size - 1) // 2
        self.after = config.kernel_size - 1 - self.before
        self.weight = nn.Parameter(torch.empty(sizes.d_model, sizes.d_model, config.kernel_size))
        self.bias = nn.Parameter(torch.empty(sizes.d_model)) if config.bias else None

    def initialise(self, draw: Draw) -> None:
        """Fills the weight from U(−u, u), u = `averaged` / √(3 · D · kernel_size), and the bias, if any, with zeros.

        D · kernel_size is the number of inputs that one output reads; `Mixer.averaged` says why it is scaled.
        """
        as_linear(self.weight, self.bias, self.weight[0].numel(), draw)
        self.weight.mul_(self.averaged / 3**0.5)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the convolved sequence, (B, T, D) → (B, T, D). Inputs at padding, where `mask`, None or (B, 1, 1, T),
        is False, count as zeros. Raises `ValueError` for a mask with a row for each query.
        """
        x_btd = zero_padding(x_btd, self.real_positions(x_btd, mask))
        return self._convolve(F.pad(x_btd, (0, 0, self.before, self.after)))

    def step(self, x_b1d: Tensor, position: Position, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Returns the output at one more position of a causal model, (B, 1, D) → (B, 1, D), and the state for the next
        call: the last kernel_size − 1 inputs, (B, kernel_size − 1, D). A `state` of None, at the first position, stands
        for zeros.
        """
        if state is None:
            state = x_b1d.new_zeros(x_b1d.shape[0], self.before, x_b1d.shape[2])
        window = torch.cat([state, x_b1d], 1)
        return self._convolve(window), window[:, 1:]

    def _convolve(self, x_btd: Tensor) -> Tensor:
        """Convolves inputs that include the kernel_size − 1 zeros or earlier inputs around the T positions,
        (B, T + kernel_size − 1, D) → (B, T, D).
        """
        return F.conv1d(x_btd.transpose(1, 2), self.weight, self.bias).transpose(1, 2)


@register("mixer", "fourier")
class Fourier(Mixer):
    """Re(F_T(F_D(x))), the discrete Fourier transform over features and positions (Lee-Thorp et al. 2021, "FNet").
    The constructor raises `Invalid` for a causal model, and for a task with padding.

    No parameters. Encoder only, since each frequency sums over all positions; no padding, since the
    frequencies depend on the length with padding; any length.
    """

    begins_unlike = (
        "a sum over all T positions and D features, it has the scale √(T·D/2), or 1/√2 where unitary; "
        "attention, an average, 1/(3√T)"
    )
    causal = False
    padding = False
    any_length = True
    attends = False
    reasons = {
        "causal": "each frequency sums over all positions",
        "padding": "the frequencies depend on how long the sequence is with its padding",
    }

    class Config(PartConfig):
        unitary: OnOff = False
        "Whether the transform is divided by √(T·D), so that it keeps the norm of x; the paper's is not."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.norm = "ortho" if config.unitary else "backward"

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the real part of the transform over positions and features, (B, T, D) → (B, T, D). Raises
        `ValueError` for any mask but None. `position` is not read.
        """
        self.real_positions(x_btd, mask)
        return torch.fft.fft2(x_btd, norm=self.norm).real

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"fft_flops": 5 N log₂ N}, floating-point operations, for N = queries · D complex numbers; `keys`
        does not count.

        The count is that of Frigo and Johnson 2005.
        """
        size = queries * self.sizes.d_model
        return {"fft_flops": round(5 * size * math.log2(size))}
