"""The encoded source, and the ways in which a decoder reads it (the slot `cross`).

Shapes: B batch, H heads, T positions of the decoder, S positions of the source, D = d_model.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ablate.base.registry import PartConfig, register
from ablate.components.masks import zero_padding
from ablate.components.positions import NoPosition
from ablate.components.sizes import Part, Sizes
from ablate.models.attention import Attention, KeysAndValues


@dataclass(frozen=True)
class Memory:
    """A source as the encoder returns it, and which of its positions are not padding."""

    encoded_bsd: Tensor  # (B, S, D).
    real_bs: Tensor | None = None  # (B, S), False at padding; None: no padding.


class CrossReader(Part):
    """Base of the slot `cross`: how each position of the decoder reads the source."""

    reads_target: bool = True
    "Whether its output depends on the decoder's position; if not, no norm comes before it."

    def forward(self, x_btd: Tensor, memory: Memory) -> Tensor:
        """Returns what the decoder's positions (B, T, D) read from the encoded source, (B, T, D).
        To be overridden; here, raises `NotImplementedError`.
        """
        raise NotImplementedError

    def step(self, x_b1d: Tensor, memory: Memory, state: Any = None) -> tuple[Tensor, Any]:
        """Returns what one more decoder position reads from the source, (B, 1, D) → (B, 1, D), and the state to pass to
        the next call; in this base class the state is None.
        """
        return self(x_b1d, memory), None


@register("cross", "attention")
class CrossAttention(CrossReader):
    """Attention whose keys and values come from the source (Vaswani et al. 2017, section 3.2.3)."""

    class Config(Attention.Config):
        """Parameters of cross-attention: those of attention."""

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.attention = Attention(config, sizes)
        self.reads_target = self.attention.query is not None
        self.no_position = NoPosition(PartConfig(), sizes)

    def forward(self, x_btd: Tensor, memory: Memory) -> Tensor:
        """Returns the output (B, T, D) of the decoder's positions (B, T, D) that attend to the encoded source."""
        return self.step(x_btd, memory)[0]

    def weights(self, x_btd: Tensor, memory: Memory) -> Tensor:
        """Returns the weights (B, H, T, S) with which decoder positions (B, T, D) attend to the source,
        before dropout; 0 on its padding.
        """
        source = self.attention.read(memory.encoded_bsd)
        q = self.attention.queries(x_btd)
        return self.attention.attend_weights(q, source, self.no_position, _mask(memory))

    def step(
        self, x_b1d: Tensor, memory: Memory, state: KeysAndValues | None = None
    ) -> tuple[Tensor, KeysAndValues]:
        """Returns the output (B, 1, D) at one more position, and the source's keys and values:
        computed where `state` is None, else reused.
        """
        source = self.attention.read(memory.encoded_bsd) if state is None else state
        q = self.attention.queries(x_b1d)
        return self.attention.attend(q, source, self.no_position, _mask(memory)), source


@register("cross", "mean")
class MeanPooled(CrossReader):
    """W · mean over the source, the same at every position: one vector for a whole sentence (Cho et al. 2014)."""

    reads_target = False

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.projection = nn.Linear(sizes.d_model, sizes.d_model, bias=sizes.bias)

    def forward(self, x_btd: Tensor, memory: Memory) -> Tensor:
        """Returns the projected mean of the source's real positions, the same at every decoder position, (B, T, D)."""
        mean_bd = mean_of_real(memory.encoded_bsd, memory.real_bs)
        return self.projection(mean_bd.unsqueeze(1)).expand_as(x_btd)


@register("cross", "none")
class NoSource(CrossReader):
    """Nothing: the decoder does not see the source. Blocks omit this sublayer."""


def mean_of_real(x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
    """Returns the mean over positions where `real_bt` (B or 1, T) is True, or over all where `real_bt` is None:
    (B, T, D) → (B, D); zeros for an example without a real position.
    """
    if real_bt is None:
        return x_btd.mean(1)
    return zero_padding(x_btd, real_bt).sum(1) / real_bt.sum(1, keepdim=True).clamp(min=1)


def _mask(memory: Memory) -> Tensor | None:
    """Returns the mask (B, 1, 1, S) that hides the source's padding; None where the source has no padding."""
    return None if memory.real_bs is None else memory.real_bs[:, None, None, :]
