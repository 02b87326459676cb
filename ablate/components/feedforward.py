"""Feed-forwards: the same map at every position, (B, T, D) → (B, T, D)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.components.sizes import Sizes
from ablate.errors import Gather
from ablate.registry import OnOff, PartConfig, Slot, register


@register("feedforward", "mlp")
class MLP(nn.Module):
    """W_down Dropout(activation(W_up x + b_up)) + b_down (Vaswani et al. 2017, equation 2)."""

    class Config(PartConfig):
        """Parameters of the two-layer perceptron."""

        activation: Annotated[Any, Slot("activation")] = "relu"
        "The non-linearity between the two maps."
        expansion: PositiveInt = 4
        "Width of the hidden layer in units of d_model."
        bias: OnOff = True
        "Whether both maps have a bias."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__()
        hidden = config.expansion * sizes.d_model
        self.up = nn.Linear(sizes.d_model, hidden, bias=config.bias)
        with Gather() as at, at("activation"):
            self.activation = config.activation.build(sizes)
        self.hidden_dropout = sizes.dropout_at("feedforward_hidden")
        self.down = nn.Linear(hidden, sizes.d_model, bias=config.bias)

    def forward(self, x_btd: Tensor) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        return self.down(self.hidden_dropout(self.activation(self.up(x_btd))))
