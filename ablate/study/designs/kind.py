"""The contract of designs: which combinations of levels a study trains, and what they can tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from ablate.base.registry import PartConfig
from ablate.core.aliasing import Effect

T = TypeVar("T")


class Kind(ABC):
    """Base of designs, parts of the slot `design`; each is one file beside this one."""

    name: ClassVar[str]
    crosses: ClassVar[bool] = False
    "Whether it varies several factors at once, so that a level in a claim is the mean over the other factors."
    collapses: ClassVar[bool] = False
    "Whether combinations that are one config, since a level removes the path of another, are one variant."

    def __init__(self, config: Any = None) -> None:
        self.config: Any = PartConfig() if config is None else config

    def check(self, levels: Mapping[str, int], study: Any) -> None:  # noqa: B027
        """Raises `Invalid`, with paths from the root of the study, for what it cannot take.

        `levels`: path of a factor → number of its levels beside the baseline's.
        """

    @abstractmethod
    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """The combinations that are trained beside the baseline: of each factor a level, or None for the baseline's."""

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        """Sets of two effects and more that it cannot tell apart, of factors with so many levels."""
        return []

    def words(self, study: Any) -> str:
        """What a reader of the plan should know of its trainings; nothing where the variants say all."""
        return ""
