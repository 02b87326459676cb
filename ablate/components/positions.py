"""Positions tell the model the order of its inputs: in the embedding, in queries and keys, or in the logits."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from ablate.base.registry import PartConfig, Stated, register
from ablate.components.initial import Draw
from ablate.components.sizes import NEUTRAL, Part, Sizes


class Position(Part):
    """Base of all positions; a model builds one instance for each sequence that it reads. The hooks `embed`, `rotate`
    and `bias` change nothing until overridden.
    """

    neutral: ClassVar[Annotated[bool, NEUTRAL]]
    any_length: ClassVar[Annotated[bool, Stated("whether it is defined beyond max_len")]]
    inside_attention: ClassVar[Annotated[bool, Stated("whether it acts on queries, keys or logits")]]
    "Whether it acts on queries, keys or logits, so that only a mixer which has them can use it."
    reads_order: ClassVar[bool] = True
    "Whether it tells positions apart."

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """Returns the embedded input (B, T, D) with the positions `start` … `start` + T − 1 added; here, `x_btd`
        itself.
        """
        return x_btd

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Returns queries (B, H, T_q, d_q) and keys (B, H_kv, T_k, d_k) with their positions applied, in the same
        shapes; here q and k unchanged. The last query is at the last key's position.

        It is called in every layer.
        """
        return q, k

    def bias(self, t_q: int, t_k: int, device: torch.device) -> Tensor | None:
        """Returns the term to add to every layer's logits, (H or 1, T_q, T_k), on `device`; here None, which adds
        nothing. The last query is at the last key's position.
        """
        return None

    def beside(self, queries: int, keys: int) -> Mapping[str, int]:
        """Returns {"bias": H · queries · keys}, how many numbers are added to logits; {} for a class that does not
        override `bias`.
        """
        if type(self).bias is Position.bias:
            return {}
        return {"bias": self.sizes.num_heads * queries * keys}


@register("position", "none")
class NoPosition(Position):
    """x: attention without a mask then ignores order."""

    neutral = True
    any_length = True
    inside_attention = False
    reads_order = False


@register("position", "sincos")
class SinCos(Position):
    """x + PE with PE(pos, 2i) = sin(pos / 10000^{2i/D}), PE(pos, 2i+1) = cos(…).

    Vaswani et al. 2017, section 3.5. Defined for any length, also beyond the longest that was trained on.
    """

    neutral = True
    any_length = True
    inside_attention = False
    encoding: Tensor

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.register_buffer("encoding", torch.empty(sizes.max_len, sizes.d_model), persistent=False)

    def initialise(self, draw: Draw) -> None:
        """Fills the table `encoding`, (max_len, D), with `sinusoids`; nothing is drawn."""
        self.encoding.copy_(sinusoids(*self.encoding.shape))

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """Returns the input plus its encoding from position `start` on, (B, T, D) → (B, T, D), for any T."""
        end = start + x_btd.shape[1]
        encoding = self.encoding
        if end > len(encoding):
            encoding = sinusoids(end, x_btd.shape[2]).to(x_btd)
        return x_btd + encoding[start:end]


def angles(length: int, width: int, base: float = 10_000.0) -> Tensor:
    """Returns the angles pos / base^{2i/width} in radians, a table (length, ⌈width / 2⌉) with row pos and column i, on
    CPU in float64.

    In float64, angles of thousands of radians keep their fraction.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu").unsqueeze(1)
    return position / base ** (torch.arange(0, width, 2, dtype=torch.float64, device="cpu") / width)


def sinusoids(length: int, width: int) -> Tensor:
    """Returns PE of `SinCos` for positions 0 … length − 1, (length, width), on CPU in float64."""
    angle = angles(length, width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


@register("position", "learned")
class Learned(Position):
    """x + P with P ∈ R^{max_len×D} learned (Gehring et al. 2017).

    It cannot extrapolate: positions beyond max_len have no row, so that a longer sequence is an error.
    """

    neutral = True
    any_length = False
    inside_attention = False

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.weight = nn.Parameter(torch.empty(sizes.max_len, sizes.d_model))

    def initialise(self, draw: Draw) -> None:
        """Fills P from N(0, 1), as embeddings of tokens are filled."""
        self.weight.normal_(generator=draw("weight"))

    def embed(self, x_btd: Tensor, start: int = 0) -> Tensor:
        """Returns the input plus rows `start` … `start` + T − 1 of P, (B, T, D) → (B, T, D). Raises `ValueError`
        where start + T exceeds max_len.
        """
        length = start + x_btd.shape[1]
        longest = self.weight.shape[0]
        if length > longest:
            raise ValueError(
                f"learned positions end at max_len = {longest}; given a sequence of {length}; "
                "use `position: sincos`, `rope`, `alibi`, `relative` or `none` for lengths beyond those trained on"
            )
        return x_btd + self.weight[start:length]
