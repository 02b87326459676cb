"""Mixers exchange information between positions, (B, T, D) → (B, T, D)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, PartConfig, Stated
from ablate.components.masks import real_positions
from ablate.components.positions import Position
from ablate.components.sizes import Part, Sizes, name_of

Ability = Literal["causal", "padding", "any_length", "attends"]


class Mixer(Part):
    """Base of all mixers, modules (B, T, D) → (B, T, D). The constructor raises `Invalid` for a causal model where the
    class attribute `causal` is False, and for a task with padding where `padding` is False.

    A subclass overrides `forward`. One that does not attend checks masks and lengths with `real_positions`.
    """

    causal: ClassVar[Annotated[bool, Stated("whether it can hide later positions")]]
    "Whether it can keep a position from seeing later ones (topology decoder)."
    padding: ClassVar[Annotated[bool, Stated("whether it can leave out padding")]]
    "Whether it can ignore positions that are masked for every query (tasks of variable length)."
    any_length: ClassVar[Annotated[bool, Stated("whether it takes lengths beyond max_len")]]
    "Whether it can take sequences longer than `max_len`."
    attends: ClassVar[Annotated[bool, Stated("whether it has queries, keys and weights")]]
    "Whether it has queries, keys and weights: positions that act inside attention, masks for each query."
    reads_order: ClassVar[bool] = True
    "Whether it tells positions apart by their place; if not, order enters through `position:` alone."
    reasons: ClassVar[Mapping[Ability, str]] = {}
    "Why it lacks an ability, as a clause that messages end with."

    def __init__(self, config: PartConfig, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        if sizes.causal and not self.causal:
            rule = "cannot hide later positions, as a causal topology needs"
            self._refuse("causal", rule)
        if sizes.padded and not self.padding:
            self._refuse("padding", "cannot leave out padding, which the task has")
        self.is_causal = sizes.causal
        self.max_len = sizes.max_len

    @property
    def averaged(self) -> float:
        """The root mean square, over the T = max_len positions, of the mean of the independent unit-variance values
        that a position sees: 1/√T, and √(Σ_t 1/t / T) where causal.

        Attention begins as such a mean, and its two linear maps divide by 3: a mixer that divides by 3 too and
        multiplies by `averaged` begins at the scale of attention.
        """
        num_seen = range(1, self.max_len + 1) if self.is_causal else [self.max_len] * self.max_len
        variances = [1 / count for count in num_seen]
        return (sum(variances) / self.max_len) ** 0.5

    def real_positions(self, x_btd: Tensor, mask: Tensor | None) -> Tensor | None:
        """Returns a boolean (B or 1, T), False at padding; None where `mask` is None. Raises `ValueError` for
        T > max_len where `any_length` is False, for any mask where `padding` is False, and for a mask with a row for
        each query.

        It is for mixers that do not attend.
        """
        length = x_btd.shape[1]
        if length > self.max_len and not self.any_length:
            rule = self._with_reason("any_length", f"ends at max_len = {self.max_len}")
            raise ValueError(f"{rule}; given a sequence of {length}; of any length: {_able('any_length')}")
        if mask is not None:
            self._check_mask(mask)
        return real_positions(mask, length)

    def _check_mask(self, mask: Tensor) -> None:
        """Raises `ValueError` for any mask where the class attribute `padding` is False, and for a mask with a row for
        each query, (…, T_q > 1, T_k).

        It is for mixers that do not attend.
        """
        if not self.padding:
            rule = self._with_reason("padding", "cannot leave out padding")
            raise ValueError(f"{rule}; given a mask; allowed: {_able('padding')}")
        if mask.ndim > 1 and mask.shape[-2] > 1:
            rule = "has no queries, each of which could have a mask of its own"
            raise ValueError(
                f"{self._with_reason('attends', rule)}; given a mask {tuple(mask.shape)}; give (B, 1, 1, T), "
                f"or use a mixer that attends: {_able('attends')}"
            )

    def _refuse(self, ability: Ability, rule: str) -> None:
        """Raises `Invalid` in every case, with `rule`, the class's reason for lacking `ability`, if any, and the names
        of the mixers that have this ability.
        """
        if ability in self.reasons:
            rule = f"{rule}: {self.reasons[ability]}"
        raise Invalid("", rule, name_of(type(self)), _able(ability))

    def _with_reason(self, ability: Ability, rule: str) -> str:
        """Returns the text `mixer NAME RULE`, or `mixer NAME RULE: REASON` where the class gives a reason for lacking
        `ability`.
        """
        text = f"mixer {name_of(type(self))} {rule}"
        return f"{text}: {self.reasons[ability]}" if ability in self.reasons else text

    def forward(self, x_btd: Tensor, position: Position, mask: Tensor | None = None) -> Tensor:
        """Returns the mixed sequence, (B, T, D) → (B, T, D); subclasses override this method, which raises
        `NotImplementedError` here. `mask` is boolean, broadcastable to (B, 1, T_q, T_k), True where a query may attend;
        None stands for True everywhere.

        A causal mixer hides later positions beside it. Outputs at padding have no meaning.
        """
        raise NotImplementedError

    def step(self, x_b1d: Tensor, position: Position, state: Any = None) -> tuple[Tensor, Any]:
        """Returns the output at one more position of a causal model, (B, 1, D) → (B, 1, D), as `forward` would, and the
        state to pass to the next call. `state` is None at the first position.

        There is no mask. Here the state is all inputs so far, (B, T, D), which are mixed again; a subclass that needs
        less overrides this.
        """
        x_btd = x_b1d if state is None else torch.cat([state, x_b1d], 1)
        return self(x_btd, position)[:, -1:], x_btd


def _able(ability: Ability) -> str:
    """Returns the names of the registered mixers that have an ability, in one text: `attention, conv, gru`."""
    return ", ".join(CATALOGUE.able("mixer", ability))
