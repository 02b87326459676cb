"""Positions that act inside attention, in every layer: on queries and keys, or on the logits.

All of them depend on distances alone, and are defined for any length.
"""

import math
from collections.abc import Mapping

import torch
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig, register
from ablate.components.initial import Draw
from ablate.components.positions import Position, angles
from ablate.components.sizes import Sizes


@register("position", "rope")
class Rotary(Position):
    """q, k at position m → R_m q, R_m k, where R_m turns features (2i, 2i+1) by the angle m / base^{2i/d_k}.
    The constructor raises `Invalid` unless d_k is even and d_q = d_k.

    Su et al. 2021, equation 15. The inner product of a query and a key then depends on their distance alone, and
    values carry no position.
    """

    neutral = True
    any_length = True
    inside_attention = True
    table: Tensor

    class Config(PartConfig):
        base: PositiveFloat = 10_000.0
        "Sets the slowest angle: the wavelengths grow from 2π towards 2π · base."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        if sizes.d_k % 2:
            raise Invalid(
                "",
                f"rotates pairs of features and needs an even d_k; that of a head is {sizes.d_k}",
                "rope",
                "alibi, relative, or a mixer of an even d_k = d_model / num_heads",
            )
        if sizes.d_q not in (0, sizes.d_k):
            raise Invalid(
                "",
                "rotates queries and keys alike and needs one width; the mixer has "
                f"d_q = {sizes.d_q} and d_k = {sizes.d_k}",
                "rope",
                "alibi, relative, or a mixer of one width",
            )
        self.base = config.base
        self.register_buffer("table", torch.empty(2, sizes.max_len, sizes.d_k // 2), persistent=False)

    def initialise(self, draw: Draw) -> None:
        """Fills the table (2, max_len, d_k / 2) with the `rotations` of every position; nothing is drawn."""
        _, length, half = self.table.shape
        self.table.copy_(rotations(length, 2 * half, self.base))

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Returns queries (B, H, T_q, d_k) and keys (B, H_kv, T_k, d_k), turned by their positions, for any T_k. The
        last query is at the last key's position.
        """
        t_q = q.shape[2]
        t_k = k.shape[2]
        table = self.table
        if t_k > table.shape[1]:
            table = rotations(t_k, q.shape[3], self.base).to(table)
        return turned(q, table[:, t_k - t_q : t_k]), turned(k, table[:, :t_k])

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"rotation": (H · queries + H_kv · keys) · d_k}: how many numbers of queries and keys are turned."""
        num_vectors = self.sizes.num_heads * queries + self.sizes.num_kv_heads * keys
        return {"rotation": num_vectors * self.sizes.d_k}


def rotations(length: int, width: int, base: float) -> Tensor:
    """Returns cosines, then sines, of `angles(length, width, base)`, (2, length, width / 2), on CPU in float64; `width`
    must be even, which is not checked here.
    """
    angle = angles(length, width, base)
    return torch.stack([angle.cos(), angle.sin()])


def turned(x: Tensor, table: Tensor) -> Tensor:
    """Returns x (…, T, d) with each pair (2i, 2i+1) of its features turned by the angles whose cosines are table[0] and
    whose sines are table[1], each (T, d / 2).
    """
    cos, sin = table.unbind()
    even = x[..., 0::2]
    odd = x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


def distances(t_q: int, t_k: int, device: torch.device) -> Tensor:
    """Returns how many positions each query i is after each key j, i − j, int64 (T_q, T_k), below 0 for later keys.
    The last query is at the last key's position.
    """
    query_places = torch.arange(t_k - t_q, t_k, device=device)
    key_places = torch.arange(t_k, device=device)
    return query_places.unsqueeze(1) - key_places


@register("position", "alibi")
class Alibi(Position):
    """a(q_i, k_j) − slope_h · |i − j| with slope_h = 2^{−8h/H} for h = 1 … H = 2^n (Press et al. 2022, section 3).

    Where H is no power of two, the slopes are those of the power below, then every other one of the power above,
    from its first (the paper's code). The paper is causal; here distances count in the same way on both sides.
    """

    neutral = True
    any_length = True
    inside_attention = True
    slopes: Tensor

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.register_buffer("slopes", torch.empty(sizes.num_heads), persistent=False)

    def initialise(self, draw: Draw) -> None:
        """Fills the slope of each head, (H); nothing is drawn."""
        self.slopes.copy_(torch.tensor(alibi_slopes(len(self.slopes)), dtype=torch.float64))

    def bias(self, t_q: int, t_k: int, device: torch.device) -> Tensor:
        """Returns −slope_h · |i − j|, (H, T_q, T_k), for a query at position i and a key at position j. The last query
        is at the last key's position.
        """
        return -self.slopes[:, None, None] * distances(t_q, t_k, device).abs()


def alibi_slopes(num_heads: int) -> list[float]:
    """Returns the slope of each head h = 1 … H: 2^{−8h/H} where H is a power of two, else the slopes that `Alibi`
    describes.
    """
    power: int = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    if power == num_heads:
        return slopes
    between = alibi_slopes(2 * power)[0::2]
    return slopes + between[: num_heads - power]


@register("position", "relative")
class Relative(Position):
    """a(q_i, k_j) + b_h[i − j] with b learned for each head and distance, and shared by all layers.
    The constructor raises `Invalid` for a max_distance above max_len − 1, or above 1 where max_len is 1.

    The bias of Raffel et al. 2020 (section 2.1) without its buckets: distances are clipped at ±max_distance, as
    those of Shaw et al. 2018 (equation 4), also beyond the lengths that were trained on. A causal model has no
    distances below 0.
    """

    neutral = True
    any_length = True
    inside_attention = True

    class Config(PartConfig):
        max_distance: PositiveInt | None = None
        "Distances beyond share its bias; max_len − 1, the longest in training, when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        longest = max(1, sizes.max_len - 1)
        self.max_distance = config.max_distance or longest
        if self.max_distance > longest:
            raise Invalid(
                "max_distance",
                f"must not exceed the longest distance in training, max_len − 1 = {longest}",
                config.max_distance,
                f"1 to {longest}",
            )
        self.lowest = 0 if sizes.causal else -self.max_distance
        self.std = sizes.d_model**-0.5
        self.bias_by_distance = nn.Parameter(
            torch.empty(sizes.num_heads, self.max_distance - self.lowest + 1)
        )

    def initialise(self, draw: Draw) -> None:
        """Fills the biases from the normal distribution of variance 1/D, as the code of Raffel et al. does."""
        self.bias_by_distance.normal_(std=self.std, generator=draw("bias_by_distance"))

    def bias(self, t_q: int, t_k: int, device: torch.device) -> Tensor:
        """Returns b_h[i − j], (H, T_q, T_k), with i − j clipped to −max_distance … max_distance, or to 0 … max_distance
        where causal. The last query is at the last key's position.
        """
        column = distances(t_q, t_k, device).clamp(self.lowest, self.max_distance) - self.lowest
        return self.bias_by_distance.index_select(1, column.flatten()).unflatten(1, (t_q, t_k))
