"""Recurrent networks as mixers: a state is carried through the sequence, and backwards too unless it is causal.

Shapes: B batch, T positions, D = d_model, h width of one direction's state, G gates.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.registry import PartConfig, register
from ablate.components.initial import Draw, fan_in_uniform
from ablate.components.mixer import Mixer
from ablate.components.positions import Position
from ablate.components.sizes import Sizes, check_even

State = tuple[Tensor, ...]  # State of a cell, each tensor (B, h): its output first, then its hidden part.
# Why recurrent mixers begin unlike attention.
UNSCALED = (
    "its output is its state, of a scale of {} at every length T, where attention, an average, has 1/(3√T)"
)


@dataclass(frozen=True)
class CellKind:
    """The kernel of a recurrent cell, its numbers of gates and states, its forget gate, if any, and how often a step
    evaluates each function.
    """

    # Torch's kernel, which returns the outputs, then each state after the last position, (1, B, h).
    kernel: Callable[..., tuple[Tensor, ...]]
    num_gates: int  # G, maps of x and of the output that a step computes.
    # Index of the gate that decides how much of the state is kept; None without one.
    forget_gate: int | None
    num_states: int  # Length of `State`.
    # How often a step computes a function for each number of the state.
    evaluates: Mapping[str, int]


class Recurrent(Mixer):
    """Base of the recurrent mixers, (B, T, D) → (B, T, D): one cell reads forwards and, unless causal, another
    backwards. The constructor raises `Invalid` for an odd `hidden` unless causal.

    Causal: one cell reads forwards. Otherwise one reads forwards and one backwards, each with half of the
    state, their outputs side by side (Schuster and Paliwal 1997). A linear map follows where the state is not
    as wide as the stream.

    Padding is skipped wherever it is: a cell reads the real positions one after the other. Any length.
    """

    kind: ClassVar[CellKind]
    "The equations of its cells."

    class Config(PartConfig):
        hidden: PositiveInt | None = None
        "Width of the state, of both directions together where nothing is causal; d_model when not given."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        d_model = sizes.d_model
        self.hidden = config.hidden or d_model
        if not sizes.causal:
            rule = "must be even, half for each direction, unless the topology is causal"
            check_even("hidden", self.hidden, rule)
        width = self.hidden if sizes.causal else self.hidden // 2
        self.forwards = RecurrentCell(self.kind, d_model, width)
        self.backwards = None if sizes.causal else RecurrentCell(self.kind, d_model, width)
        self.output = nn.Identity() if self.hidden == d_model else nn.Linear(self.hidden, d_model)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D). `mask` is None or (B, 1, 1, T), False at padding, which
        the cells skip. Raises `ValueError` for a mask with a row for each query. `position` is not read.
        """
        real_bt = self.real_positions(x_btd, mask)
        y_bth = _outputs(self.forwards, x_btd, real_bt)
        if self.backwards is not None:
            flipped_real_bt = None if real_bt is None else real_bt.flip(1)
            flipped_bth = _outputs(self.backwards, x_btd.flip(1), flipped_real_bt)
            y_bth = torch.cat([y_bth, flipped_bth.flip(1)], -1)
        return self.output(y_bth)

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns function → how many numbers go through it: `CellKind.evaluates` · hidden · queries; `keys` does not
        count.
        """
        return {function: times * self.hidden * queries for function, times in self.kind.evaluates.items()}

    def step(self, x_b1d: Tensor, position: Position, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the output at one more position of a causal model, (B, 1, D) → (B, 1, D), and the state to pass to
        the next call: a tuple of tensors (B, h). `state` is None at the first position.
        """
        y_b1h, state = self.forwards(x_b1d, state)
        return self.output(y_b1h), state


class RecurrentCell(nn.Module):
    """One direction of a recurrent mixer, (B, T, d_in) → (B, T, h); its parameters have the shapes and the gate order
    of `torch.nn.RNN`, `LSTM` and `GRU`.

    Sequences go through torch's fused kernels, which `torch.func` (`vmap`, `grad`, …) does not support.
    """

    def __init__(self, kind: CellKind, d_in: int, hidden: int) -> None:
        super().__init__()
        self.kind = kind
        self.weight_ih = nn.Parameter(torch.empty(kind.num_gates * hidden, d_in))
        self.weight_hh = nn.Parameter(torch.empty(kind.num_gates * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.empty(kind.num_gates * hidden))
        self.bias_hh = nn.Parameter(torch.empty(kind.num_gates * hidden))

    def initialise(self, draw: Draw) -> None:
        """Fills both weights from U(−1/√h, 1/√h), as torch does, and both biases with zeros, except the forget gate's
        share of `bias_ih`, if any, with ones.

        The forget gate's is that of Jozefowicz et al. 2015.
        """
        hidden = self.weight_hh.shape[1]
        fan_in_uniform(self.weight_ih, hidden, draw("weight_ih"))
        fan_in_uniform(self.weight_hh, hidden, draw("weight_hh"))
        self.bias_hh.zero_()
        for gate, bias_h in enumerate(self.bias_ih.split(hidden)):
            bias_h.fill_(gate == self.kind.forget_gate)

    def forward(self, x_btd: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Returns the outputs (B, T, h) of inputs (B, T, d_in), and the state after the last position, a tuple of
        tensors (B, h). `state` is the state before the first position; None stands for zeros.
        """
        if state is None:
            zeros_bh = x_btd.new_zeros(x_btd.shape[0], self.weight_hh.shape[1])
            state = (zeros_bh,) * self.kind.num_states
        states = [part_bh.unsqueeze(0) for part_bh in state]
        out_bth, *last = self.kind.kernel(
            x_btd,
            states if len(states) > 1 else states[0],
            [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh],
            True,  # With biases.
            1,  # Layers.
            0.0,  # Dropout.
            torch.is_grad_enabled(),  # Whether gradients may follow.
            False,  # Both directions.
            True,  # Batch first.
        )
        return out_bth, tuple(part_1bh.squeeze(0) for part_1bh in last)


def _outputs(cell: RecurrentCell, x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
    """Returns the outputs (B, T, h) of a cell that skips the positions of `x_btd` where `real_bt`, (B or 1, T), is
    False, and no position where `real_bt` is None. Outputs at skipped positions have no meaning.

    Real positions are moved to the front, in order, so that padding comes after all of them and cannot change them;
    then the outputs are moved back.
    """
    if real_bt is None:
        return cell(x_btd)[0]
    order_bt = (~real_bt).to(torch.uint8).argsort(dim=1, stable=True)
    y_bth = cell(torch.take_along_dim(x_btd, order_bt.unsqueeze(-1), 1))[0]
    return torch.take_along_dim(y_bth, order_bt.argsort(1).unsqueeze(-1), 1)


@register("mixer", "rnn")
class RNN(Recurrent):
    """h_t = tanh(W x_t + U h_{t−1} + b) (Elman 1990).

    Encoder (both directions) and decoder (one); padding anywhere; any length.
    """

    begins_unlike = UNSCALED.format("0.48 to 0.6")
    causal = True
    padding = True
    any_length = True
    attends = False
    kind = CellKind(
        kernel=torch.rnn_tanh,
        num_gates=1,
        forget_gate=None,
        num_states=1,
        evaluates={"tanh": 1},
    )


@register("mixer", "lstm")
class LSTM(Recurrent):
    """c_t = f ⊙ c_{t−1} + i ⊙ g, h_t = o ⊙ tanh(c_t) (Hochreiter and Schmidhuber 1997).
    A decoder reads forwards, an encoder in both directions, each of half the width.

    i, f, o = σ(W x_t + U h_{t−1} + b) and g = tanh(…), each with maps of its own; the forget gate f is that of
    Gers et al. 2000. Encoder (both directions) and decoder (one); padding anywhere; any length.
    """

    begins_unlike = UNSCALED.format("0.15 to 0.2")
    causal = True
    padding = True
    any_length = True
    attends = False
    kind = CellKind(
        kernel=torch.lstm,
        num_gates=4,
        forget_gate=1,
        num_states=2,
        evaluates={"sigmoid": 3, "tanh": 2},
    )


@register("mixer", "gru")
class GRU(Recurrent):
    """h_t = (1 − z) ⊙ tanh(W x_t + b + r ⊙ (U h_{t−1} + b′)) + z ⊙ h_{t−1} (Cho et al. 2014).

    r, z = σ(W x_t + U h_{t−1} + b). As in torch and cuDNN, r gates U h_{t−1} and not h_{t−1} itself, and z keeps
    the old state. Encoder (both directions) and decoder (one); padding anywhere; any length.
    """

    begins_unlike = UNSCALED.format("0.27 to 0.36")
    causal = True
    padding = True
    any_length = True
    attends = False
    kind = CellKind(
        kernel=torch.gru,
        num_gates=3,
        forget_gate=None,
        num_states=1,
        evaluates={"sigmoid": 2, "tanh": 1},
    )
