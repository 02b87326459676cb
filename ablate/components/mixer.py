"""Mixers exchange information between positions, (B, T, D) → (B, T, D)."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Part, Sizes

Ability = Literal["causal", "padding", "any_length", "attends"]


class Mixer(Part):
    """Base of all mixers; declares what a mixer supports, and refuses what it does not.

    A subclass overrides `forward`, and sets what it cannot do to False. One that does not attend checks
    masks and lengths with `real_positions`.
    """

    causal: ClassVar[bool] = True
    "Whether it can keep a position from seeing later ones (topology decoder)."
    padding: ClassVar[bool] = True
    "Whether it can ignore positions that are masked for every query (tasks of variable length)."
    any_length: ClassVar[bool] = True
    "Whether it can take sequences longer than `max_len`."
    attends: ClassVar[bool] = False
    "Whether it has queries, keys and weights: positions that act inside attention, masks for each query."
    reads_order: ClassVar[bool] = True
    "Whether it tells positions apart by their place; if not, order enters through `position:` alone."
    reasons: ClassVar[Mapping[Ability, str]] = {}
    "Why it lacks an ability, as a clause that messages end with."

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        if sizes.causal and not self.causal:
            raise Invalid(
                "", *self._lacking("causal", "cannot hide later positions, as a causal topology needs")
            )
        if sizes.padded and not self.padding:
            raise Invalid("", *self._lacking("padding", "cannot leave out padding, which the task has"))
        self.is_causal, self.max_len = sizes.causal, sizes.max_len

    @property
    def averaged(self) -> float:
        """Scale of means over the positions that are seen, of independent values of unit variance.

        That is 1/√T, T = max_len, and √(Σ_t 1/t / T) where causal. Attention begins as such a mean, and its two linear
        maps divide by 3: a mixer that divides by 3 too and multiplies by `averaged` begins at the scale of attention.
        """
        length = self.max_len
        return (sum(1 / (t if self.is_causal else length) for t in range(1, length + 1)) / length) ** 0.5

    def _lacking(self, ability: Ability, rule: str) -> tuple[str, str, str]:
        """`rule` with its reason, this mixer's name, and the mixers that have `ability`."""
        reason = f": {self.reasons[ability]}" if ability in self.reasons else ""
        able = ", ".join(CATALOGUE.able("mixer", ability))
        return rule + reason, getattr(self, "name", type(self).__name__), able

    def real_positions(self, x_btd: Tensor, mask: Tensor | None) -> Tensor | None:
        """(B or 1, T), False at padding; None where nothing is masked. For mixers that do not attend.

        Raises `ValueError` for a sequence or a mask that this mixer cannot take: one longer than `max_len`, one
        that has padding, or one that differs from query to query.
        """
        length = x_btd.shape[1]
        if length > self.max_len and not self.any_length:
            rule, name, able = self._lacking("any_length", f"ends at max_len = {self.max_len}")
            raise ValueError(f"mixer {name} {rule}; given a sequence of {length}; of any length: {able}")
        if mask is not None and not self.padding:
            rule, name, able = self._lacking("padding", "cannot leave out padding")
            raise ValueError(f"mixer {name} {rule}; given a mask; allowed: {able}")
        if mask is not None and mask.ndim > 1 and mask.shape[-2] > 1:
            rule, name, able = self._lacking(
                "attends", "has no queries, each of which could have a mask of its own"
            )
            raise ValueError(
                f"mixer {name} {rule}; given a mask {tuple(mask.shape)}; give (B, 1, 1, T), "
                f"or use a mixer that attends: {able}"
            )
        return real_positions(mask, length)

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) → (B, T, D).

        `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend; a causal mixer
        hides the future beside it. Outputs at padding have no meaning.
        """
        raise NotImplementedError

    def step(self, x_b1d: Tensor, position: Position, state: Any = None) -> tuple[Tensor, Any]:
        """One more position of a causal mixer without a mask: what `forward` gives there, and the new state.

        `state` is None at the first position. Here it is all inputs so far, which are mixed again; a subclass
        that needs less overrides this.
        """
        x_btd = x_b1d if state is None else torch.cat([state, x_b1d], 1)
        return self(x_btd, position)[:, -1:], x_btd
