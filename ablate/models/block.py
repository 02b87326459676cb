"""Blocks and their stacks: encoder, decoder, and both.

A block has a mixer, a reader of another sequence and a feed-forward, each with norm and residual.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, assert_never

from pydantic import PositiveInt
from torch import Tensor, nn

from ablate.base.errors import Gather
from ablate.base.registry import PartConfig, Slot, register
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.memory import CrossReader, Memory
from ablate.models.section import ModelSection

SublayerName = Literal["mixer", "cross", "feedforward"]


@dataclass(frozen=True)
class _Sublayer:
    """The settings, norms and dropouts around one function of a block: its mixer, cross-reader or feed-forward.

    The norms and dropouts are registered in the block, as the function is: their paths there name their random streams.
    """

    name: SublayerName
    placement: Literal["pre", "post", "sandwich"]
    residual: bool
    norm: (
        nn.Module | None
    )  # Before the function, with `post` after the sum; None before one that reads no input.
    norm_after: nn.Module | None  # After the function, with `sandwich`.
    dropout: nn.Module
    residual_dropout: nn.Module

    def before(self, x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
        """Returns what the sublayer's function reads, (B, T, D): x normalised, or x itself with `post` or without a
        norm.
        """
        if self.placement == "post" or self.norm is None:
            return x_btd
        return self.norm(x_btd, real_bt)

    def after(self, x_btd: Tensor, y_btd: Tensor, real_bt: Tensor | None) -> Tensor:
        """Returns the sublayer's output (B, T, D) from its input x and its function's output y: with dropout and, where
        the settings say so, norms and the residual x.
        """
        if self.norm_after is not None:
            y_btd = self.norm_after(y_btd, real_bt)
        y_btd = self.dropout(y_btd)
        if self.residual:
            y_btd = x_btd + y_btd
        y_btd = self.residual_dropout(y_btd)
        if self.placement == "post" and self.norm is not None:
            y_btd = self.norm(y_btd, real_bt)
        return y_btd


class Block(nn.Module):
    """A mixer, a reader of the source and a feed-forward, one after the other; a part called `none` is omitted.

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
        self.sublayers: list[_Sublayer] = []
        parts: dict[SublayerName, PartConfig | None] = {
            "mixer": section.mixer,
            "cross": cross,
            "feedforward": section.feedforward,
        }
        with Gather() as at:
            for name, part in parts.items():
                if part is not None and part.name != "none":
                    self._add_sublayer(at, name, part, section, sizes)

    def _add_sublayer(
        self, at: Gather, name: SublayerName, part: PartConfig, section: ModelSection, sizes: Sizes
    ) -> None:
        """Registers a part, its norms and its dropouts as modules of the block, and appends a `_Sublayer` with the
        norms and dropouts to `sublayers`; collects their problems in `at`.

        Modules are registered under paths that begin with `name`.
        """
        placement = section.norm_placement
        norm: nn.Module | None = None
        norm_after: nn.Module | None = None
        reads_input = True
        path = ("topology", "cross") if name == "cross" else (name,)
        with at(*path):
            function = part.build(sizes)
            self.add_module(name, function)
            if isinstance(function, CrossReader):
                reads_input = function.reads_target
        with at("norm"):
            if placement == "post" or reads_input:
                norm = section.norm.build(sizes)
                self.add_module(f"{name}_norm", norm)
            if placement == "sandwich":
                norm_after = section.norm.build(sizes)
                self.add_module(f"{name}_norm_after", norm_after)

        dropout_name = "feedforward_output" if name == "feedforward" else "attention_output"
        dropout = sizes.dropout_at(dropout_name)
        residual_dropout = sizes.dropout_at("residual")
        self.add_module(f"{name}_dropout", dropout)
        self.add_module(f"{name}_residual_dropout", residual_dropout)
        sublayer = _Sublayer(
            name=name,
            placement=placement,
            residual=section.residual,
            norm=norm,
            norm_after=norm_after,
            dropout=dropout,
            residual_dropout=residual_dropout,
        )
        self.sublayers.append(sublayer)

    def forward(
        self,
        x_btd: Tensor,
        position: Position,
        mask: Tensor | None = None,
        real_bt: Tensor | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """Returns the output (B, T, D) of all sublayers for inputs (B, T, D); `mask` is as in `Attention.forward`.

        `real_bt` (B, T) is False at padding, None without any; `memory` is the encoded source, for a block that reads
        one.
        """
        for sublayer in self.sublayers:
            y_btd = sublayer.before(x_btd, real_bt)
            match sublayer.name:
                case "mixer":
                    y_btd = self.mixer(y_btd, position, mask)
                case "cross":
                    y_btd = self.cross(y_btd, memory)
                case "feedforward":
                    y_btd = self.feedforward(y_btd)
                case _:
                    assert_never(sublayer.name)
            x_btd = sublayer.after(x_btd, y_btd, real_bt)
        return x_btd

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """Returns the output at one more position, (B, 1, D) → (B, 1, D), and the new state, a dict by sublayer."""
        states = dict(state or {})
        for sublayer in self.sublayers:
            y_b1d = sublayer.before(x_b1d, None)
            former = states.get(sublayer.name)
            match sublayer.name:
                case "mixer":
                    y_b1d, states["mixer"] = self.mixer.step(y_b1d, position, former)
                case "cross":
                    y_b1d, states["cross"] = self.cross.step(y_b1d, memory, former)
                case "feedforward":
                    y_b1d = self.feedforward(y_b1d)
                case _:
                    assert_never(sublayer.name)
            x_b1d = sublayer.after(x_b1d, y_b1d, None)
        return x_b1d, states


class Stack(nn.Module):
    """`num_layers` blocks one after the other and, unless the norm placement is `post`, one more norm after the last.

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
        """Returns the output (B, T, D) of the last block for inputs (B, T, D), normalised unless the placement is
        `post`; `mask` is as in `Attention.forward`.
        """
        real_bt = real_positions(mask, x_btd.shape[1])
        for block in self.blocks:
            x_btd = block(x_btd, position, mask, real_bt, memory)
        return x_btd if self.norm is None else self.norm(x_btd, real_bt)

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """Returns the output at one more position, (B, 1, D) → (B, 1, D), and the new state, a list with the state of
        each block.
        """
        states = []
        for index, block in enumerate(self.blocks):
            former = None if state is None else state[index]
            x_b1d, new = block.step(x_b1d, position, former, memory)
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
        encoder_layers = config.num_encoder_layers or section.num_layers
        encoder_section = section.model_copy(update={"num_layers": encoder_layers})
        with Gather() as at:
            self.encoder = None
            if config.cross.name != "none":
                with at():
                    self.encoder = Encoder(PartConfig(), sizes.source or sizes, encoder_section)
            with at():
                self.decoder = Decoder(PartConfig(), sizes, section, config.cross)

    def encode(self, x_bsd: Tensor, position: Position, mask: Tensor | None = None) -> Memory:
        """Returns the `Memory` that the encoder makes of an embedded source (B, S, D). Raises `ValueError` where
        `cross` is `none`: the model then has no encoder.
        """
        if self.encoder is None:
            raise ValueError("a model without a reader of the source has no encoder")
        return Memory(self.encoder(x_bsd, position, mask), real_positions(mask, x_bsd.shape[1]))

    def forward(
        self, x_btd: Tensor, position: Position, mask: Tensor | None = None, memory: Memory | None = None
    ) -> Tensor:
        """Returns the decoder's output (B, T, D) for embedded inputs (B, T, D);
        `memory`, the encoded source, is what `encode` returned.
        """
        return self.decoder(x_btd, position, mask, memory)

    def step(
        self, x_b1d: Tensor, position: Position, state: Any = None, memory: Memory | None = None
    ) -> tuple[Tensor, Any]:
        """Returns the decoder's output at one more position, (B, 1, D) → (B, 1, D), and its new state, as `Stack.step`
        does.
        """
        return self.decoder.step(x_b1d, position, state, memory)
