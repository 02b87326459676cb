"""Mixers: what lets positions see one another, (B, T, D) → (B, T, D)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.errors import Invalid
from ablate.registry import CATALOGUE, PartConfig


class Mixer(nn.Module):
    """Base of all mixers; says what a mixer supports, and refuses what it does not.

    A subclass overrides `forward`, and sets to False what it cannot do.
    """

    causal: ClassVar[bool] = True
    "Whether it can keep a position from seeing later ones (topology decoder)."
    padding: ClassVar[bool] = True
    "Whether it can leave out positions that are masked for every query (tasks of variable length)."
    any_length: ClassVar[bool] = True
    "Whether it can take sequences longer than `max_len`."
    attends: ClassVar[bool] = False
    "Whether it has queries, keys and weights: positions that act inside attention, masks for each query."

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__()
        if sizes.causal and not self.causal:
            raise self._unsupported("cannot hide later positions, as a causal topology needs", "causal")
        if sizes.padded and not self.padding:
            raise self._unsupported("cannot leave out padding, which the task has", "padding")
        self.is_causal = sizes.causal

    def _unsupported(self, rule: str, ability: str) -> Invalid:
        able = [name for name in CATALOGUE.names("mixer") if getattr(CATALOGUE.get("mixer", name), ability)]
        return Invalid("", rule, getattr(self, "name", type(self).__name__), ", ".join(able))

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D).

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a causal mixer
        hides the future beside it. What is returned at padding is of no meaning.
        """
        raise NotImplementedError

    def step(self, x_b1d: Tensor, position: Position, state: Any = None) -> tuple[Tensor, Any]:
        """One more position of a causal mixer without a mask: what `forward` gives there, and the new state.

        `state` is None at the first position. Here it is all inputs so far, which are mixed again; a subclass
        that can do with less overrides this.
        """
        x_btd = x_b1d if state is None else torch.cat([state, x_b1d], 1)
        return self(x_btd, position)[:, -1:], x_btd


def real_or_all(mask: Tensor | None, x_btd: Tensor) -> Tensor:
    """(B, T), True where `x_btd` is no padding."""
    real = real_positions(mask, x_btd.shape[1])
    if real is None:
        return torch.ones(x_btd.shape[:2], dtype=torch.bool, device=x_btd.device)
    return real.expand(x_btd.shape[:2])
