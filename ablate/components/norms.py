"""Norms keep the scale of the residual stream, (B, T, D) → (B, T, D)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.registry import PartConfig, register
from ablate.components.initial import Draw
from ablate.components.masks import zero_padding
from ablate.components.sizes import Part, Sizes


class Norm(Part):
    """Base of all norms. Their parameters are exempt from weight decay.

    One that reads, in training, the other examples of the batch, or later positions, says so: `reads_batch = True`.
    """

    neutral = True

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); `real_bt` is False at padding, None where there is none."""
        raise NotImplementedError


@register("norm", "none")
class NoNorm(Norm):
    """x."""

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """(B, T, D), unchanged."""
        return x_btd


class Affine(Norm):
    """Base of the norms that multiply each feature by a weight and, unless `shifts` is False, add a bias."""

    shifts: ClassVar[bool] = True
    bias: Any

    def __init__(self, config: Any, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.eps: float = config.eps
        self.weight = nn.Parameter(torch.empty(sizes.d_model))
        self.bias = nn.Parameter(torch.empty(sizes.d_model)) if self.shifts else None

    def initialise(self, draw: Draw) -> None:
        """Weight 1, bias 0."""
        self.weight.fill_(1)
        if self.bias is not None:
            self.bias.zero_()

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        return {"norm": queries * self.sizes.d_model}


@register("norm", "layer")
class LayerNorm(Affine):
    """weight · (x − mean) / √(var + eps) + bias, over the D features of one position (Ba et al. 2016)."""

    class Config(PartConfig):
        eps: PositiveFloat = 1e-5
        "Added to the variance."

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return F.layer_norm(x_btd, self.weight.shape, self.weight, self.bias, self.eps)


@register("norm", "rms")
class RMSNorm(Affine):
    """weight · x / √(mean(x²) + eps), over the D features of one position (Zhang and Sennrich 2019)."""

    shifts = False

    class Config(PartConfig):
        eps: PositiveFloat = 1e-6
        "Added to the mean square."

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return F.rms_norm(x_btd, self.weight.shape, self.weight, self.eps)


@register("norm", "batch")
class BatchNorm(Affine):
    """weight · (x − mean) / √(var + eps) + bias, over the real positions of the batch for each feature.

    Ioffe and Szegedy 2015; in evaluation with the running mean and (unbiased) variance. Padding enters no
    statistic. A position sees the later ones of its sequence through the statistics, in training of a causal model
    too.
    """

    reads_batch: ClassVar[bool] = True
    running_mean: Tensor
    running_var: Tensor

    class Config(LayerNorm.Config):
        momentum: Annotated[float, Field(gt=0, le=1)] = 0.1
        "Weight of the newest batch in the running statistics."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.momentum = config.momentum
        self.register_buffer("running_mean", torch.empty(sizes.d_model))
        self.register_buffer("running_var", torch.empty(sizes.d_model))

    def initialise(self, draw: Draw) -> None:
        """Weight 1, bias 0; running mean 0, variance 1."""
        super().initialise(draw)
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); in training updates the running statistics, and returns the bias at padding."""
        positions = x_btd.shape[:2]
        # Torch's kernel does not support padding, nor training on a single position.
        if self.training and (real_bt is not None or positions.numel() == 1):
            if real_bt is None:
                real_bt = torch.ones(positions, dtype=torch.bool, device=x_btd.device)
            return self._over_real(x_btd, real_bt.expand(positions))
        y_nd = F.batch_norm(
            x_btd.flatten(0, 1),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )
        return y_nd.view_as(x_btd)

    def _over_real(self, x_btd: Tensor, real_bt: Tensor) -> Tensor:
        """In training, with statistics of real positions; of a single one, or none, the variance is 0."""
        count = real_bt.sum()
        mean_d = zero_padding(x_btd, real_bt).sum((0, 1)) / count.clamp(min=1)
        centred_btd = zero_padding(x_btd - mean_d, real_bt)
        squares_d = centred_btd.square().sum((0, 1))
        # The variance only from two positions or more.
        with torch.no_grad():
            self.running_mean.add_((mean_d - self.running_mean) * (self.momentum * (count > 0)))
            unbiased_d = squares_d / (count - 1).clamp(min=1)
            self.running_var.add_((unbiased_d - self.running_var) * (self.momentum * (count > 1)))
        var_d = squares_d / count.clamp(min=1)
        return centred_btd * ((var_d + self.eps).rsqrt() * self.weight) + self.bias
