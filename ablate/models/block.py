"""Blocks and their stacks: encoder, decoder, and both. A block: a mixer, a reader of another sequence, a feed-forward,
each with norm and residual.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import PartConfig, Slot, register
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.memory import Memory
from ablate.models.section import ModelSection


class Block(nn.Module):
    """Sublayers one after the other; a feed-forward or cross-reader `none` is omitted.

    pre       x + Dropout(Sublayer(Norm(x)))            Xiong et al. 2020
    post      Norm(x + Dropout(Sublayer(x)))            Vaswani et al. 2017
    sandwich  x + Dropout(Norm(Sublayer(Norm(x))))      Ding et al. 2021 ("CogView")

    Without residual, x is not added. The residual dropout acts on the sum, before post's norm; without
    residual, on the sublayer's output alone.
    """

    mixer: Any
    cross: Any
    feedforward: Any

    def __init__(self, section: ModelSection, sizes: Sizes, cross: PartConfig | None = None) -> None:
        super().__init__()
        self.placement, self.residual = section.norm_placement, section.residual
        parts = {"mixer": section.mixer, "cross": cross, "feedforward": section.feedforward}
        parts = {name: part for name, part in parts.items() if part is not None and part.name != "none"}
        self.sublayers = list(parts)
        dropouts = {"feedforward": "feedforward_output"}
        with Gather() as at:
            for name in self.sublayers:
                with at("topology", "cross") if name == "cross" else at(name):
                    self.add_module(name, parts[name].build(sizes))
                reads = getattr(getattr(self, name, None), "reads_target", True)
                with at("norm"):
                    if self.placement == "post" or reads:
                        self.add_module(f"{name}_norm", section.norm.build(sizes))
                    if self.placement == "sandwich":
                        self.add_module(f"{name}_norm_after", section.norm.build(sizes))
                self.add_module(f"{name}_dropout", sizes.dropout_at(dropouts.get(name, "attention_output")))
                self.add_module(f"{name}_residual_dropout", sizes.dropout_at("residual"))

    def forward(
        self,
        x_btd: Tensor,
        position: Position,
        mask: Tensor | None = None,
        real_bt: Tensor | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """(B, T, D) → (B, T, D); `mask` as in attention, `real_bt` False at padding."""
        functions: dict[str, Callable[[Tensor], Tensor]] = {
            "mixer": lambda y_btd: self.mixer(y_btd, position, mask),
            "cross": lambda y_btd: self.cross(y_btd, memory),
        }
        for name in self.sublayers:
            x_btd = self._sublayer(name, x_btd, functions.get(name) or self.feedforward, real_bt)
        return x_btd

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """One more position, and the new state; see `Mixer.step`."""
        reads, new = {"mixer": position, "cross": memory}, dict(state or {})

        def step(name: str, y_b1d: Tensor) -> Tensor:
            y_b1d, new[name] = getattr(self, name).step(y_b1d, reads[name], new.get(name))
            return y_b1d

        for name in self.sublayers:
            function = partial(step, name) if name in reads else self.feedforward
            x_b1d = self._sublayer(name, x_b1d, function, None)
        return x_b1d, new

    def _sublayer(
        self, name: str, x_btd: Tensor, function: Callable[[Tensor], Tensor], real_bt: Tensor | None
    ) -> Tensor:
        norm = getattr(self, f"{name}_norm", None)
        y_btd = function(x_btd if self.placement == "post" or norm is None else norm(x_btd, real_bt))
        if self.placement == "sandwich":
            y_btd = getattr(self, f"{name}_norm_after")(y_btd, real_bt)
        y_btd = getattr(self, f"{name}_dropout")(y_btd)
        y_btd = getattr(self, f"{name}_residual_dropout")(x_btd + y_btd if self.residual else y_btd)
        return norm(y_btd, real_bt) if self.placement == "post" and norm is not None else y_btd


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


@register("topology", "encoder_decoder")
class EncoderDecoder(nn.Module):
    """An encoder of the source and a decoder that reads it in every block (Vaswani et al. 2017, section 3.1)."""

    causal: ClassVar[bool] = True
    reads_source: ClassVar[bool] = True

    class Config(PartConfig):
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
        return self.decoder(x_btd, position, mask, memory)

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """One more position of the decoder; see `Stack.step`."""
        return self.decoder.step(x_b1d, position, state, memory)
