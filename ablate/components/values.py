"""Value maps: the vector that each position contributes when it is attended to, (B, T, D) → (B, T, H·d_v).

Attention splits what a value returns into H heads of width d_v.
"""

from typing import Annotated, ClassVar

from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Invalid
from ablate.base.registry import PartConfig, Stated, register
from ablate.components.initial import Draw
from ablate.components.layers import projection
from ablate.components.sizes import Part, Sizes


class Value(Part):
    """Base of all values: modules that give the vectors which attention averages, (B, T, D) → (B, T, H·d_v)."""

    reads_keys: ClassVar[Annotated[bool, Stated("whether it reads the keys in place of x")]]
    "Whether it reads the keys (B, T, H·d_k), before their norm and positions, in place of x."


@register("value", "full")
class Full(Value):
    """x W_V with W_V ∈ R^{D×H·d_v} (Vaswani et al. 2017, section 3.2.2)."""

    reads_keys = False

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.projection = projection(sizes.d_model, sizes.num_heads * sizes.d_v, sizes.splits, sizes.bias)

    def forward(self, x_btd: Tensor) -> Tensor:
        """Returns the values of all heads side by side, (B, T, D) → (B, T, H·d_v), head by head."""
        return self.projection(x_btd)


@register("value", "low_rank")
class LowRank(Value):
    """x W_down W_up with W_down ∈ R^{D×r} shared by all heads and W_up ∈ R^{r×H·d_v}, without bias.
    The constructor raises `Invalid` for a rank above d_model, and where heads read shares of x (`split: before`).

    The factorisation W_V = W_down W_up of Elhage et al. 2021 ("A Mathematical Framework for Transformer
    Circuits"), with one W_down for all heads.
    """

    reads_keys = False

    class Config(PartConfig):
        rank: PositiveInt
        "r, at most d_model."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        if sizes.splits > 1:
            raise Invalid("", "reads all of x, which `split: before` does not allow", "low_rank", "full")
        if config.rank > sizes.d_model:
            raise Invalid(
                "rank", f"must not exceed d_model = {sizes.d_model}", config.rank, f"1 to {sizes.d_model}"
            )
        self.down = nn.Linear(sizes.d_model, config.rank, bias=False)
        self.up = nn.Linear(config.rank, sizes.num_heads * sizes.d_v, bias=False)

    def initialise(self, draw: Draw) -> None:
        """Multiplies W_up, already filled as a linear map, in place by √3: the output has the scale of `full`."""
        self.up.weight.mul_(3**0.5)

    def forward(self, x_btd: Tensor) -> Tensor:
        """Returns the values of all heads side by side, (B, T, D) → (B, T, H·d_v), head by head."""
        return self.up(self.down(x_btd))


@register("value", "shared_kv")
class SharedKV(Value):
    """k before its norm and position: values are the keys, V = K, so that one projection serves both.

    As in Luong et al. 2015, where the states that are scored are those that are averaged. Keys (B, T, H·d_k) → the
    same, (B, T, H·d_v); costs nothing.
    """

    reads_keys = True

    def forward(self, keys_btn: Tensor) -> Tensor:
        """Returns `keys_btn` itself as the values, (B, T, H·d_k) → (B, T, H·d_v) with d_v = d_k."""
        return keys_btn
