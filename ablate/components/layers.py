"""Layers inside several parts: dropout whose masks are a function of seed, site and step; linear maps into heads."""

import torch
from torch import Tensor, nn

from ablate.components.initial import Draw, as_linear


class Dropout(nn.Module):
    """x · m / (1 − rate) with m ~ Bernoulli(1 − rate), in training only (Srivastava et al. 2014, inverted).

    The mask is drawn from the site's own generator, which `Model.start_step` seeds by the site's path in the
    model and the step: two variants drop the same values wherever they have a site in common, and no
    other random draw changes the mask. A site of rate 0 is inactive and costs nothing.
    """

    def __init__(self, rate: float, placement: str = "") -> None:
        super().__init__()
        self.rate = rate
        self.placement = placement
        self.generator: torch.Generator | None = None

    @property
    def active(self) -> bool:
        """True where the next pass drops values: in training, at a rate above 0."""
        return self.training and self.rate > 0

    def reseed(self, seed: int, device: torch.device | str = "cpu") -> None:
        """Replaces the generator of the masks by a new one on `device`, where the inputs must be, seeded with
        `seed`.
        """
        self.generator = torch.Generator(device).manual_seed(seed)

    def forward(self, x: Tensor) -> Tensor:
        """Returns x unchanged where `active` is False, else x with values zeroed with probability `rate` and the others
        divided by 1 − rate. Raises `RuntimeError` for an active site before its first `reseed`.
        """
        if not self.active:
            return x
        if self.generator is None:
            raise RuntimeError(
                "dropout has no random stream yet; call `model.start_step(step)` before the step"
            )
        keep = 1 - self.rate
        # Comparing uniform numbers takes half the time of `bernoulli_` on CPU; 16 bits would be too coarse.
        uniform = torch.empty_like(x, dtype=torch.promote_types(x.dtype, torch.float32))
        return x * uniform.uniform_(generator=self.generator).lt_(keep).div_(keep).to(x.dtype)


class SplitLinear(nn.Module):
    """[x_1 W_1 … x_n W_n] + b, (B, T, D) → (B, T, N): x is cut into n = `splits` shares of equal width, each with its
    own map. `splits` must divide both widths, which is not checked here.
    """

    def __init__(self, d_in: int, d_out: int, splits: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(splits, d_in // splits, d_out // splits))
        self.bias = nn.Parameter(torch.empty(d_out)) if bias else None

    def initialise(self, draw: Draw) -> None:
        """Fills each of the n maps from U(−1/√w, 1/√w), w = D / n its number of inputs, and the bias, if any, with
        zeros.
        """
        as_linear(self.weight, self.bias, self.weight.shape[1], draw)

    def forward(self, x_btd: Tensor) -> Tensor:
        """Returns the mapped shares side by side, (B, T, D) → (B, T, N)."""
        shares = x_btd.unflatten(-1, (self.weight.shape[0], -1))
        y_btn = torch.einsum("bthi,hio->btho", shares, self.weight).flatten(2)
        return y_btn if self.bias is None else y_btn + self.bias


def projection(d_in: int, d_out: int, splits: int, bias: bool) -> nn.Module:
    """Makes a module (B, T, d_in) → (B, T, d_out): a linear map of all features where `splits` is 1, else a
    `SplitLinear`, a map for each of `splits` shares of equal width.
    """
    return nn.Linear(d_in, d_out, bias) if splits == 1 else SplitLinear(d_in, d_out, splits, bias)
