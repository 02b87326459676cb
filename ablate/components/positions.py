"""Positions tell the model the order of its inputs: in the embedding, in queries and keys, or in the logits."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from ablate.base.registry import PartConfig, register
from ablate.components.initial import Draw
from ablate.components.sizes import Part, Sizes


class Position(Part):
    """Base of all positions, one to a sequence; each hook does nothing until a subclass overrides it."""

    neutral = True
    any_length: ClassVar[bool] = True
    "Whether it is defined beyond max_len."
    reads_order: ClassVar[bool] = True
    "Whether it tells positions apart."
    inside_attention: ClassVar[bool] = False
    "Whether it acts on queries, keys or logits, so that only a mixer which has them can use it."

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """Returns the embedded input (B, T, D) with the positions `start` … `start` + T − 1 added."""
        return x_btd

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries (B, H, T_q, d_q) and keys (B, H_kv, T_k, d_k) with their positions, in every layer.

        The last query is at the last key's position.
        """
        return q, k

    def bias(self, t_q: int, t_k: int, device: torch.device) -> Tensor | None:
        """The term added to the logits of every layer, (H or 1, T_q, T_k); None: nothing is added.

        The last query is at the last key's position.
        """
        return None

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """See `Part.beside`; the numbers of the bias, where there is one."""
        biased = type(self).bias is not Position.bias
        return {"bias": self.sizes.num_heads * queries * keys} if biased else {}


@register("position", "none")
class NoPosition(Position):
    """x: attention without a mask then ignores order."""

    reads_order = False


@register("position", "sincos")
class SinCos(Position):
    """x + PE with PE(pos, 2i) = sin(pos / 10000^{2i/D}), PE(pos, 2i+1) = cos(…).

    Vaswani et al. 2017, section 3.5. Defined for any length, also beyond the longest that was trained on.
    """

    encoding: Tensor

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.register_buffer("encoding", torch.empty(sizes.max_len, sizes.d_model), persistent=False)

    def initialise(self, draw: Draw) -> None:
        """Fills the table."""
        self.encoding.copy_(sinusoids(*self.encoding.shape))

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """(B, T, D) → (B, T, D), for any T."""
        end, width = start + x_btd.shape[1], x_btd.shape[2]
        encoding = self.encoding if end <= len(self.encoding) else sinusoids(end, width).to(x_btd)
        return x_btd + encoding[start:end]


def angles(length: int, width: int, base: float = 10_000.0) -> Tensor:
    """Angles pos / base^{2i/width}, (length, ⌈width / 2⌉), on CPU.

    In float64, in which angles of thousands of radians keep their fraction.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu").unsqueeze(1)
    return position / base ** (torch.arange(0, width, 2, dtype=torch.float64, device="cpu") / width)


def sinusoids(length: int, width: int) -> Tensor:
    """PE (length, width) on CPU in float64."""
    angle = angles(length, width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


@register("position", "learned")
class Learned(Position):
    """x + P with P ∈ R^{max_len×D} learned (Gehring et al. 2017).

    It cannot extrapolate: positions beyond max_len have no row, so that a longer sequence is an error.
    """

    any_length = False

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.weight = nn.Parameter(torch.empty(sizes.max_len, sizes.d_model))

    def initialise(self, draw: Draw) -> None:
        """N(0, 1), as token embeddings."""
        self.weight.normal_(generator=draw("weight"))

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """(B, T, D) → (B, T, D); raises `ValueError` beyond max_len."""
        length, longest = start + x_btd.shape[1], self.weight.shape[0]
        if length > longest:
            raise ValueError(
                f"learned positions end at max_len = {longest}; given a sequence of {length}; "
                "use `position: sincos`, `rope`, `alibi`, `relative` or `none` for lengths beyond those trained on"
            )
        return x_btd + self.weight[start:length]
