"""`seeds:` the blocks of a study: how many, and from which number on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from ablate.base.registry import StrictModel
from ablate.study.sections.search import refusal

TUNING_SEEDS_FROM = 10_000
"""Seeds from here on tune; those below judge."""


class SeedsSection(StrictModel):
    """Paired seeds: `from`, `from` + 1, …"""

    start: Annotated[int, Field(alias="from", ge=0)] = 0
    "The first seed."
    count: Annotated[int, Field(ge=1)] = 5
    "Their number."

    @model_validator(mode="after")
    def _never_tune(self) -> SeedsSection:
        if self.start + self.count > TUNING_SEEDS_FROM:
            rule = f"reach the seeds from {TUNING_SEEDS_FROM} on, which tune and never judge"
            raise refusal(rule, f"from + count at most {TUNING_SEEDS_FROM}")
        return self

    @classmethod
    def of(cls, start: int, count: int) -> SeedsSection:
        """`count` seeds from `start` on."""
        return cls.model_validate({"from": start, "count": count})

    @property
    def values(self) -> range:
        """The seeds, in order."""
        return range(self.start, self.start + self.count)

    def __str__(self) -> str:
        """As a study file gives them."""
        return f"{{from: {self.start}, count: {self.count}}}" if self.start else str(self.count)

    @property
    def plain(self) -> int | dict[str, int]:
        """The same as data."""
        return {"from": self.start, "count": self.count} if self.start else self.count


def _counted(given: Any) -> Any:
    if type(given) is not int:
        if isinstance(given, (dict, SeedsSection)):
            return given
        raise refusal("must be a whole number, or {from, count}", "for instance 5, or {from: 100, count: 10}")
    if given < 1:
        raise refusal("must be greater than or equal to 1", "1 or more")
    return {"count": given}


Seeds = Annotated[
    SeedsSection,
    BeforeValidator(_counted),
    PlainSerializer(lambda seeds: seeds.plain, return_type=int | dict),
]
