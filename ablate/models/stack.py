"""A stack of blocks: what encoder and decoder have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn

from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.errors import Gather
from ablate.models.block import Block
from ablate.registry import PartConfig
from ablate.study.sections.model import ModelSection


class Stack(nn.Module):
    """`num_layers` blocks; with norms before the sublayers, one more norm after the last block.

    The constructor of a topology also takes the model section; its errors have paths from there.
    """

    causal: ClassVar[bool]
    "Whether a position sees only itself and earlier ones."

    def __init__(self, config: PartConfig, sizes: Sizes, section: ModelSection) -> None:
        super().__init__()
        sizes = replace(sizes, causal=self.causal)
        self.blocks = nn.ModuleList()
        with Gather() as at:
            for _ in range(section.num_layers):
                with at():
                    self.blocks.append(Block(section, sizes))
            self.norm = None
            if section.norm_placement == "pre":
                with at("norm"):
                    self.norm = section.norm.build(sizes)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); `mask` as in attention."""
        for block in self.blocks:
            x_btd = block(x_btd, position, mask)
        return x_btd if self.norm is None else self.norm(x_btd)
