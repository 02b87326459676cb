"""`seeds:` the blocks of a study: how many, and from which number on; or each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from ablate.base.registry import StrictModel
from ablate.study.sections.match import refusal

TUNING_SEEDS_FROM = 10_000
"""Seeds from here on tune; those below judge."""
PILOT_SEEDS_FROM = 20_000
"""Seeds from here on tell how far trials spread, before the first is judged; they neither judge nor tune."""
_TOO_HIGH = f"reach the seeds from {TUNING_SEEDS_FROM} on, which tune and never judge"
Asked = int | Sequence[int] | None
"""What an option asks for in place of a study's seeds: a number of them, or each of them."""


class SeedsSection(StrictModel):
    """Paired seeds: `from`, `from` + 1, …"""

    start: Annotated[int, Field(alias="from", ge=0)] = 0
    "The first seed."
    count: Annotated[int, Field(ge=1)] = 5
    "Their number."
    # What a mapping of these two cannot say: seeds that do not follow one another, and those of the first look.
    _numbers: tuple[int, ...] = ()
    _least: int = 0

    @model_validator(mode="after")
    def _never_tune(self) -> SeedsSection:
        if self.start + self.count > TUNING_SEEDS_FROM:
            raise refusal(_TOO_HIGH, f"from + count at most {TUNING_SEEDS_FROM}")
        return self

    @classmethod
    def of(cls, start: int, count: int) -> SeedsSection:
        """`count` seeds from `start` on."""
        return cls.model_validate({"from": start, "count": count})

    @property
    def values(self) -> Sequence[int]:
        """The seeds, in order."""
        return self._numbers or range(self.start, self.start + self.count)

    @property
    def looks(self) -> list[int]:
        """The numbers of seeds at which verdicts are looked at, where these decide whether more are added."""
        return list(range(self._least, self.count + 1, self._least)) if self._least else []

    @property
    def plain(self) -> int | dict[str, int] | list[int]:
        """As a study file gives them, as data."""
        start = {"from": self.start} if self.start else {}
        if self._least:
            return {"min": self._least, "max": self.count} | start
        return list(self._numbers) or (start | {"count": self.count} if start else self.count)

    def __str__(self) -> str:
        """As a study file gives them."""
        return str(self.plain).replace("'", "")


def _read(given: Any) -> Any:
    if isinstance(given, dict) and given.keys() & {"min", "max"}:
        return _until_settled(given)
    if isinstance(given, (dict, SeedsSection)):
        return given
    if isinstance(given, (list, tuple)):
        return _listed(given)
    if type(given) is not int:
        rule = "must be a whole number, a list, {from, count}, or {min, max}"
        raise refusal(rule, "for instance 5, or [0, 3, 7], or {from: 100, count: 10}, or {min: 5, max: 20}")
    if given < 1:
        raise refusal("must be greater than or equal to 1", "1 or more")
    return {"count": given}


def _until_settled(given: dict[str, Any]) -> SeedsSection:
    """As many seeds as it takes: looks at every multiple of `min`, up to `max`."""
    allowed = "for instance {min: 5, max: 20}, which looks at 5, 10, 15 and 20 seeds; `from` may say where they begin"
    if set(given) - {"min", "max", "from"} or not {"min", "max"} <= set(given):
        raise refusal("must have `min` and `max`, and nothing but `from` beside them", allowed)
    if any(type(value) is not int for value in given.values()):
        raise refusal("must be whole numbers", allowed)
    least, most, start = given["min"], given["max"], given.get("from", 0)
    if least < 2:
        raise refusal("has a first look at fewer than two seeds, which no verdict can rest on", allowed)
    if most == least:
        raise refusal("has a single look, which decides nothing about the number of seeds", f"seeds: {most}")
    if most % least or most < least:
        multiples = f"{2 * least}, {3 * least}, {4 * least}, …"
        raise refusal(f"has a max, {most}, that is no multiple of its min, {least}", f"a max of {multiples}")
    if start + most > TUNING_SEEDS_FROM:
        raise refusal(_TOO_HIGH, f"from + max at most {TUNING_SEEDS_FROM}")
    seeds = SeedsSection.of(start, most)
    seeds._least = least
    return seeds


def _listed(given: Sequence[Any]) -> SeedsSection:
    """Seeds that follow one another are the same as their number, whatever their order in the list."""
    allowed = f"whole numbers from 0 to {TUNING_SEEDS_FROM - 1}, each once"
    if not given or any(type(seed) is not int or seed < 0 for seed in given):
        raise refusal("must list whole numbers", allowed)
    if len(set(given)) < len(given):
        raise refusal("lists a seed twice", allowed)
    if max(given) >= TUNING_SEEDS_FROM:
        raise refusal(_TOO_HIGH, allowed)
    seeds = SeedsSection.of(min(given), len(given))
    if max(given) >= seeds.start + seeds.count:
        seeds._numbers = tuple(sorted(given))
    return seeds


def asked_for(seeds: int | Sequence[int]) -> str:
    """As the option gives it: `5`, or `0,3,7`, or `7,` for the one seed 7."""
    if isinstance(seeds, int):
        return str(seeds)
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def in_words(seeds: Sequence[int]) -> str:
    """`0–4`, or `0, 3, 7` where they do not follow one another."""
    if len(seeds) == seeds[-1] - seeds[0] + 1 and len(seeds) > 1:
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds))


_Number = Annotated[int, Field(ge=1, le=TUNING_SEEDS_FROM, description="Their number.")]
_Listed = Annotated[
    list[Annotated[int, Field(ge=0, lt=TUNING_SEEDS_FROM)]],
    Field(min_length=1, description="Each of them.", json_schema_extra={"uniqueItems": True}),
]
Seeds = Annotated[
    SeedsSection,
    BeforeValidator(_read, json_schema_input_type=_Number | _Listed | SeedsSection),
    PlainSerializer(lambda seeds: seeds.plain, return_type=int | dict | list),
]
