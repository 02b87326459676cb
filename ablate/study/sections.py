"""Sections of a study: `seeds:`, its blocks; a path and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from ablate.base.registry import StrictModel


def refusal(rule: str, allowed: str) -> PydanticCustomError:
    """An error that says what must hold and what is allowed."""
    return PydanticCustomError("rule", rule, {"allowed": allowed})


# Seeds from here on tune; those below judge.
TUNING_SEEDS_FROM = 10_000
# What an option asks for in place of a study's seeds: a number of them, or each of them.
Asked = int | Sequence[int] | None


class ResourcesSection(StrictModel):
    """What a trial takes of a machine, where several share it, and which machines."""

    gpus: Annotated[float, Field(gt=0, le=1)] = 1.0
    "GPUs, where it trains on one: 0.5 lets two trials share one."
    kind: str = ""
    "Part of the name of the kind of machine that a cluster trains on; not given: that with most room."


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
            rule = f"reach the seeds from {TUNING_SEEDS_FROM} on, which tune and never judge"
            raise refusal(rule, f"from + count at most {TUNING_SEEDS_FROM}")
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


class _Looks(StrictModel):
    """As many seeds as it takes: looks at every multiple of `min`, up to `max`."""

    least: Annotated[int, Field(alias="min", ge=2, description="Seeds of the first look.")]
    most: Annotated[int, Field(alias="max", description="Seeds of the last, a multiple of `min`.")]
    start: Annotated[int, Field(alias="from", ge=0, description="The first seed.")] = 0


def _read(given: Any) -> Any:
    if isinstance(given, dict) and given.keys() & {"min", "max"}:
        looks = _Looks.model_validate(given)
        if looks.most <= looks.least or looks.most % looks.least:
            several = ", ".join(str(number * looks.least) for number in (2, 3, 4))
            raise refusal(
                f"has a max, {looks.most}, that is no further multiple of its min", f"a max of {several}, …"
            )
        found = SeedsSection.of(looks.start, looks.most)
        found._least = looks.least
        return found
    if isinstance(given, (dict, SeedsSection)):
        return given
    if isinstance(given, (list, tuple)):
        whole = [seed for seed in given if type(seed) is int and 0 <= seed < TUNING_SEEDS_FROM]
        if not given or len(set(whole)) < len(given):
            raise refusal("must list seeds, each once", f"whole numbers from 0 to {TUNING_SEEDS_FROM - 1}")
        found = SeedsSection.of(min(given), len(given))
        # Seeds that follow one another are the same as their number, whatever their order in the list.
        found._numbers = () if max(given) < found.start + found.count else tuple(sorted(given))
        return found
    if type(given) is not int or given < 1:
        rule = "must be a number of seeds, a list of them, {from, count}, or {min, max}"
        raise refusal(rule, "for instance 5, or [0, 3, 7], or {from: 100, count: 10}, or {min: 5, max: 20}")
    return {"count": given}


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
    BeforeValidator(_read, json_schema_input_type=_Number | _Listed | SeedsSection | _Looks),
    PlainSerializer(lambda seeds: seeds.plain, return_type=int | dict | list),
]


# Numbers, at least: fewer show no slope and no curve.
LEAST = 3


def _above_zero(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise refusal("must be a number above 0", "for instance 64, 128 and 256")
    return given


Number = Annotated[int | float, BeforeValidator(_above_zero)]


def rising(numbers: list[int | float]) -> list[int | float]:
    """The numbers in order; refuses too few, and one that is there twice."""
    if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise refusal(f"lists {twice[0]:g} twice", "each value once")
    if len(numbers) < LEAST:
        raise refusal("has too few values", f"at least {LEAST}")
    return sorted(numbers)


def one_path(given: dict[str, Any]) -> dict[str, Any]:
    """Refuses more than one."""
    if len(given) > 1:
        raise refusal("has more than one path", "one path with its values")
    return given
