"""Stacks of blocks: the encoder and the decoder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import PartConfig, register
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.block import Block
from ablate.models.memory import Memory
from ablate.models.section import ModelSection


class Stack(nn.Module):
    """`num_layers` blocks; unless norms come after the sublayers, one more norm after the last block.

    The constructor of a topology also takes the model section; its errors have paths from there.
    """

    causal: ClassVar[bool]
    "Whether a position sees only itself and earlier ones."
    reads_source: ClassVar[bool] = False
    "Whether it is for tasks that give a source beside the sequence."
    blocks: Any

    def __init__(
        self, config: PartConfig, sizes: Sizes, section: ModelSection, cross: PartConfig | None = None
    ) -> None:
        super().__init__()
        sizes = replace(sizes, causal=self.causal)
        self.blocks = nn.ModuleList()
        with Gather() as at:
            for _ in range(section.num_layers):
                with at():
                    self.blocks.append(Block(section, sizes, cross))
            self.norm = None
            if section.norm_placement != "post":
                with at("norm"):
                    self.norm = section.norm.build(sizes)

    def forward(
        self, x_btd: Tensor, position: Position, mask: Tensor | None = None, memory: Memory | None = None
    ) -> Tensor:
        """(B, T, D) → (B, T, D); `mask` as in attention."""
        real_bt = real_positions(mask, x_btd.shape[1])
        for block in self.blocks:
            x_btd = block(x_btd, position, mask, real_bt, memory)
        return x_btd if self.norm is None else self.norm(x_btd, real_bt)

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """One more position, and the new state of each block; see `Mixer.step`."""
        states = []
        for index, block in enumerate(self.blocks):
            x_b1d, new = block.step(x_b1d, position, state and state[index], memory)
            states.append(new)
        return x_b1d if self.norm is None else self.norm(x_b1d), states


@register("topology", "encoder")
class Encoder(Stack):
    """Blocks in which every position sees all positions (Devlin et al. 2019)."""

    causal = False


@register("topology", "decoder")
class Decoder(Stack):
    """Blocks in which a position sees itself and earlier ones: causal (Radford et al. 2018)."""

    causal = True
