"""Norms keep the scale of the residual stream, (B, T, D) → (B, T, D)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.registry import PartConfig, Stated, register
from ablate.components.initial import Draw
from ablate.components.masks import zero_padding
from ablate.components.sizes import NEUTRAL, Part, Sizes


class Norm(Part):
    """Base of all norms, modules (B, T, D) → (B, T, D). Weight decay leaves their parameters out.

    In training, one with `reads_batch` may read other examples of the batch, and later positions.
    """

    neutral: ClassVar[Annotated[bool, NEUTRAL]]
    reads_batch: ClassVar[Annotated[bool, Stated("whether it reads other examples in training")]]

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """Returns the normalised positions, (B, T, D) → (B, T, D); subclasses override this method, which raises
        `NotImplementedError` here. `real_bt` is boolean (B or 1, T), False at padding; None where no position is
        padding.
        """
        raise NotImplementedError


@register("norm", "none")
class NoNorm(Norm):
    """x, unchanged."""

    neutral = True
    reads_batch = False

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """Returns `x_btd` itself, (B, T, D)."""
        return x_btd


class Affine(Norm):
    """Base of the norms that multiply each feature by a weight and, unless `shifts` is False, add a bias; `eps` is
    added to the variance or the mean square.
    """

    shifts: ClassVar[bool] = True
    bias: nn.Parameter | None

    def __init__(self, config: PartConfig, sizes: Sizes, eps: float) -> None:
        super().__init__(config, sizes)
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(sizes.d_model))
        self.bias = nn.Parameter(torch.empty(sizes.d_model)) if self.shifts else None

    def initialise(self, draw: Draw) -> None:
        """Fills the weight with ones, and the bias, if any, with zeros."""
        self.weight.fill_(1)
        if self.bias is not None:
            self.bias.zero_()

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"norm": queries · D}: how many numbers are normalised, D at each of `queries` positions; `keys`
        does not count.
        """
        return {"norm": queries * self.sizes.d_model}


@register("norm", "layer")
class LayerNorm(Affine):
    """weight · (x − mean) / √(var + eps) + bias, over the D features of one position (Ba et al. 2016)."""

    neutral = True
    reads_batch = False

    class Config(PartConfig):
        eps: PositiveFloat = 1e-5
        "Added to the variance."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes, config.eps)

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """Returns each position normalised by itself, (B, T, D) → (B, T, D); `real_bt` is not read."""
        return F.layer_norm(x_btd, self.weight.shape, self.weight, self.bias, self.eps)


@register("norm", "rms")
class RMSNorm(Affine):
    """weight · x / √(mean(x²) + eps), over the D features of one position (Zhang and Sennrich 2019)."""

    neutral = True
    reads_batch = False
    shifts = False

    class Config(PartConfig):
        eps: PositiveFloat = 1e-6
        "Added to the mean square."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes, config.eps)

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """Returns each position normalised by itself, (B, T, D) → (B, T, D); `real_bt` is not read."""
        return F.rms_norm(x_btd, self.weight.shape, self.weight, self.eps)


@register("norm", "batch")
class BatchNorm(Affine):
    """weight · (x − mean) / √(var + eps) + bias, over the real positions of the batch for each feature.
    Evaluation uses running averages of the mean and of the unbiased variance, which training updates.

    Ioffe and Szegedy 2015. Padding enters no statistic. A position sees the later ones of its sequence through the
    statistics, in training of a causal model too.
    """

    neutral = True
    reads_batch = True
    bias: nn.Parameter
    running_mean: Tensor
    running_var: Tensor

    class Config(LayerNorm.Config):
        momentum: Annotated[float, Field(gt=0, le=1)] = 0.1
        "Weight of the newest batch in the running statistics."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes, config.eps)
        self.momentum = config.momentum
        self.register_buffer("running_mean", torch.empty(sizes.d_model))
        self.register_buffer("running_var", torch.empty(sizes.d_model))

    def initialise(self, draw: Draw) -> None:
        """Fills weight and running variance, (D), with ones, bias and running mean, (D), with zeros."""
        super().initialise(draw)
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def forward(self, x_btd: Tensor, real_bt: Tensor | None = None) -> Tensor:
        """Returns the normalised positions, (B, T, D) → (B, T, D). Training also updates the running statistics, and
        outputs the bias at padding, where `real_bt`, (B or 1, T), is False; evaluation does not read `real_bt`.
        """
        positions = x_btd.shape[:2]
        # Torch's kernel does not support padding, nor training on a single position.
        if self.training and (real_bt is not None or positions.numel() == 1):
            if real_bt is None:
                real_bt = torch.ones(positions, dtype=torch.bool, device=x_btd.device)
            return self._normalised_over_real(x_btd, real_bt.expand(positions))
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

    def _normalised_over_real(self, x_btd: Tensor, real_bt: Tensor) -> Tensor:
        """Returns the output of `forward` in training, (B, T, D): positions where `real_bt`, (B, T), is True are
        normalised by their mean and variance, the others become the bias. Also updates the running statistics.

        The variance of a single position, or of none, is 0.
        """
        count = real_bt.sum()
        mean_d = zero_padding(x_btd, real_bt).sum((0, 1)) / count.clamp(min=1)
        centred_btd = zero_padding(x_btd - mean_d, real_bt)
        squares_d = centred_btd.square().sum((0, 1))
        self._update_running(mean_d, squares_d, count)
        var_d = squares_d / count.clamp(min=1)
        return centred_btd * ((var_d + self.eps).rsqrt() * self.weight) + self.bias

    def _update_running(self, mean_d: Tensor, squares_d: Tensor, count: Tensor) -> None:
        """Moves the running mean towards mean_d and the running variance towards squares_d / (count − 1), in place, by
        the fraction `momentum` of the difference. A count of 0 leaves the mean unchanged, a count below 2 the variance.

        count: the number of positions, a scalar tensor. squares_d: the sum of their squared deviations from their
        mean.
        """
        with torch.no_grad():
            self.running_mean.add_((mean_d - self.running_mean) * (self.momentum * (count > 0)))
            unbiased_d = squares_d / (count - 1).clamp(min=1)
            self.running_var.add_((unbiased_d - self.running_var) * (self.momentum * (count > 1)))
