"""Feed-forwards: the same map at every position, (B, T, D) → (B, T, D)."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, PositiveFloat
from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import OnOff, PartConfig, Slot, register
from ablate.components.activations import Activation
from ablate.components.sizes import Part, Sizes


class FeedForward(Part):
    """Base of all feed-forwards: modules that apply one map to every position by itself, (B, T, D) → (B, T, D)."""

    def forward(self, x_btd: Tensor) -> Tensor:
        """Maps every position by itself, (B, T, D) → (B, T, D); subclasses override this method, which raises
        `NotImplementedError` here.
        """
        raise NotImplementedError


@register("feedforward", "none")
class NoFeedForward(FeedForward):
    """x, unchanged: blocks omit this sublayer, with its norm and residual."""

    def forward(self, x_btd: Tensor) -> Tensor:
        """Returns `x_btd` itself, (B, T, D)."""
        return x_btd


def _without_fraction(number: float) -> float:
    """Returns a whole number as an int (4.0 as 4), and any other number unchanged.

    Equal settings thus have one name, and one trial.
    """
    return int(number) if number == int(number) else number


@register("feedforward", "mlp")
class MLP(FeedForward):
    """W_down Dropout(activation(W_up x + b_up)) + b_down (Vaswani et al. 2017, equation 2).

    A gated activation is given W_up x + b_up and W_gate x + b_gate (Shazeer 2020, equation 6), and the hidden layer
    is about two thirds as wide, so that the number of parameters stays nearest to that without a gate.
    """

    class Config(PartConfig):
        activation: Annotated[Any, Slot("activation")] = "relu"
        "The non-linearity between the two maps."
        expansion: Annotated[PositiveFloat, AfterValidator(_without_fraction)] = 4
        "Width of the hidden layer in units of d_model; with a gate, of the ungated layer with as many parameters."
        bias: OnOff = True
        "Whether the maps have a bias."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        activation = config.activation.part
        gated = issubclass(activation, Activation) and activation.gated
        hidden = hidden_width(config.expansion, sizes.d_model, gated, config.bias)
        self.up = nn.Linear(sizes.d_model, hidden, bias=config.bias)
        self.gate = nn.Linear(sizes.d_model, hidden, bias=config.bias) if gated else None
        with Gather() as at, at("activation"):
            self.activation = config.activation.build(sizes)
        self.hidden_dropout = sizes.dropout_at("feedforward_hidden")
        self.down = nn.Linear(hidden, sizes.d_model, bias=config.bias)

    def forward(self, x_btd: Tensor) -> Tensor:
        """Maps every position through the hidden layer, (B, T, D) → (B, T, D); in training, dropout acts on the
        hidden layer.
        """
        return self.down(self.hidden_dropout(self._hidden(x_btd)))

    def _hidden(self, x_btd: Tensor) -> Tensor:
        """Returns the hidden layer after its activation and before dropout, (B, T, D) → (B, T, h)."""
        if self.gate is None:
            return self.activation(self.up(x_btd))
        return self.activation(self.up(x_btd), self.gate(x_btd))

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns the activation's counts, function → how many numbers go through it, for `queries` positions of h
        hidden units each; `keys` does not count.
        """
        return self.activation.beside(queries * self.up.out_features, 0)


def hidden_width(expansion: float, d_model: int, gated: bool, bias: bool) -> int:
    """Returns the hidden layer's width, at least 1: expansion · d_model, rounded. A gated layer is about two thirds as
    wide, so that its number of parameters is nearest to that of the layer without a gate.
    """
    width = max(1, round(expansion * d_model))
    if not gated:
        return width
    # A hidden unit has a row, and a bias, in one map or with a gate in two, and a column in the last.
    return max(1, round(width * (2 * d_model + bias) / (3 * d_model + 2 * bias)))
