"""One block of a stack: a mixer and a feed-forward, each with norm, dropout and residual."""

from __future__ import annotations

from torch import Tensor, nn

from ablate.components.dropout import Dropout
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.errors import Gather
from ablate.study.sections.model import ModelSection


class Block(nn.Module):
    """Two sublayers, pre: x + Dropout(Sublayer(Norm(x))), or post: Norm(x + Dropout(Sublayer(x))).

    Post as in Vaswani et al. 2017, pre as in Xiong et al. 2020. Without residual, x is not added. The
    residual dropout acts on the sum, before post's norm; without residual, on what takes the sum's place.
    """

    def __init__(self, section: ModelSection, sizes: Sizes) -> None:
        super().__init__()
        self.pre, self.residual = section.norm_placement == "pre", section.residual
        with Gather() as at:
            with at("mixer"):
                self.mixer = section.mixer.build(sizes)
            with at("norm"):
                self.mixer_norm = section.norm.build(sizes)
                self.feedforward_norm = section.norm.build(sizes)
            with at("feedforward"):
                self.feedforward = section.feedforward.build(sizes)
        self.mixer_dropout = Dropout(section.dropout.attention_output)
        self.mixer_residual_dropout = Dropout(section.dropout.residual)
        self.feedforward_dropout = Dropout(section.dropout.feedforward_output)
        self.feedforward_residual_dropout = Dropout(section.dropout.residual)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D); `mask` as in attention."""
        y_btd = self.mixer_norm(x_btd) if self.pre else x_btd
        y_btd = self.mixer_dropout(self.mixer(y_btd, position, mask))
        y_btd = self.mixer_residual_dropout(x_btd + y_btd if self.residual else y_btd)
        x_btd = y_btd if self.pre else self.mixer_norm(y_btd)

        y_btd = self.feedforward_norm(x_btd) if self.pre else x_btd
        y_btd = self.feedforward_dropout(self.feedforward(y_btd))
        y_btd = self.feedforward_residual_dropout(x_btd + y_btd if self.residual else y_btd)
        return y_btd if self.pre else self.feedforward_norm(y_btd)
