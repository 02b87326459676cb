"""The encoder–decoder: a causal stack that reads another, encoded sequence."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import PartConfig, Slot, register
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.block import Decoder, Encoder
from ablate.models.memory import Memory
from ablate.models.section import ModelSection


@register("topology", "encoder_decoder")
class EncoderDecoder(nn.Module):
    """An encoder of the source and a decoder that reads it in every block (Vaswani et al. 2017, section 3.1)."""

    causal: ClassVar[bool] = True
    reads_source: ClassVar[bool] = True

    class Config(PartConfig):
        """Parameters of the encoder–decoder."""

        cross: Annotated[Any, Slot("cross", default="attention")] = "attention"
        "How the decoder reads the source."
        num_encoder_layers: PositiveInt | None = None
        "Number of blocks of the encoder; num_layers when not given."

    def __init__(self, config: Config, sizes: Sizes, section: ModelSection) -> None:
        super().__init__()
        deep = section.model_copy(update={"num_layers": config.num_encoder_layers or section.num_layers})
        with Gather() as at:
            self.encoder = None
            if config.cross.name != "none":
                with at():
                    self.encoder = Encoder(PartConfig(), sizes.source or sizes, deep)
            with at():
                self.decoder = Decoder(PartConfig(), sizes, section, config.cross)

    def encode(self, x_bsd: Tensor, position: Position, mask: Tensor | None = None) -> Memory:
        """The encoded source for the decoder, from the embedded one (B, S, D)."""
        if self.encoder is None:
            raise ValueError("a model without a reader of the source has no encoder")
        return Memory(self.encoder(x_bsd, position, mask), real_positions(mask, x_bsd.shape[1]))

    def forward(
        self, x_btd: Tensor, position: Position, mask: Tensor | None = None, memory: Memory | None = None
    ) -> Tensor:
        """(B, T, D) → (B, T, D)."""
        out: Tensor = self.decoder(x_btd, position, mask, memory)
        return out

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """One more position of the decoder; see `Stack.step`."""
        return self.decoder.step(x_b1d, position, state, memory)
