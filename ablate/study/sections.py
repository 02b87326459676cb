"""Sections of a study that have forms of their own: seeds, resources, and a path with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from ablate.base.registry import StrictModel
from ablate.core.gpus import Gpus


def refusal(rule: str, allowed: str) -> PydanticCustomError:
    """Returns an error that says what must hold and what is allowed."""
    return PydanticCustomError("rule", rule, {"allowed": allowed})


# Seeds from here on tune; those below judge.
TUNING_SEEDS_FROM = 10_000
# What an option asks for in place of a study's seeds: a number of them, or each of them.
Asked = int | Sequence[int] | None


class ResourcesSection(StrictModel):
    """What a trial takes of a machine, where several share it, and which machines."""

    gpus: Gpus = 1.0
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
            rule = f"reach {TUNING_SEEDS_FROM}; seeds from there on are reserved for tuning"
            raise refusal(rule, f"from + count at most {TUNING_SEEDS_FROM}")
        return self

    @classmethod
    def of(cls, start: int, count: int) -> SeedsSection:
        """Returns `count` seeds from `start` on."""
        return cls.model_validate({"from": start, "count": count})

    @property
    def values(self) -> Sequence[int]:
        """The seeds, in order."""
        return self._numbers or range(self.start, self.start + self.count)

    @property
    def looks(self) -> list[int]:
        """The numbers of seeds at which verdicts are looked at, where these decide whether more are added."""
        if not self._least:
            return []
        return list(range(self._least, self.count + 1, self._least))

    @property
    def plain(self) -> int | dict[str, int] | list[int]:
        """The seeds as a study file gives them, as data."""
        start = {"from": self.start} if self.start else {}
        if self._least:
            return {"min": self._least, "max": self.count} | start
        if self._numbers:
            return list(self._numbers)
        return start | {"count": self.count} if start else self.count

    def __str__(self) -> str:
        """Returns the seeds as a study file gives them."""
        return str(self.plain).replace("'", "")


class _Looks(StrictModel):
    """As many seeds as it takes: looks at every multiple of `min`, up to `max`."""

    least: Annotated[int, Field(alias="min", ge=2, description="Seeds of the first look.")]
    most: Annotated[int, Field(alias="max", description="Seeds of the last, a multiple of `min`.")]
    start: Annotated[int, Field(alias="from", ge=0, description="The first seed.")] = 0


def _read_seeds(given: object) -> object:
    """Returns seeds as the section has them, of a number, a list, or a mapping of either kind."""
    if isinstance(given, dict) and given.keys() & {"min", "max"}:
        return _up_to_looks(_Looks.model_validate(given))
    if isinstance(given, (dict, SeedsSection)):
        return given
    if isinstance(given, (list, tuple)):
        return _listed_seeds(given)
    if type(given) is not int or given < 1:
        rule = "must be a number of seeds, a list of them, {from, count}, or {min, max}"
        raise refusal(rule, "for instance 5, or [0, 3, 7], or {from: 100, count: 10}, or {min: 5, max: 20}")
    return {"count": given}


def _up_to_looks(looks: _Looks) -> SeedsSection:
    """Returns the seeds of all looks; refuses a last look that is no further multiple of the first."""
    if looks.most <= looks.least or looks.most % looks.least:
        multiples = ", ".join(str(number * looks.least) for number in (2, 3, 4))
        rule = f"has max = {looks.most}, which must be a larger multiple of min = {looks.least}"
        raise refusal(rule, f"a max of {multiples}, …")
    seeds = SeedsSection.of(looks.start, looks.most)
    seeds._least = looks.least
    return seeds


def _listed_seeds(given: Sequence[object]) -> SeedsSection:
    """Returns the seeds of a list; refuses what is no seed, and one that is there twice."""
    numbers = [seed for seed in given if type(seed) is int and 0 <= seed < TUNING_SEEDS_FROM]
    if not given or len(set(numbers)) < len(given):
        raise refusal("must be a list of different seeds", f"whole numbers from 0 to {TUNING_SEEDS_FROM - 1}")
    seeds = SeedsSection.of(min(numbers), len(numbers))
    # Seeds that follow one another are the same as their number, whatever their order in the list.
    if max(numbers) >= seeds.start + seeds.count:
        seeds._numbers = tuple(sorted(numbers))
    return seeds


def asked_for(seeds: int | Sequence[int]) -> str:
    """Returns seeds as the option gives them: `5`, or `0,3,7`, or `7,` for the one seed 7."""
    if isinstance(seeds, int):
        return str(seeds)
    if len(seeds) == 1:
        return f"{seeds[0]},"
    return ",".join(map(str, seeds))


_Number = Annotated[int, Field(ge=1, le=TUNING_SEEDS_FROM, description="Their number.")]
_Listed = Annotated[
    list[Annotated[int, Field(ge=0, lt=TUNING_SEEDS_FROM)]],
    Field(min_length=1, description="Each of them.", json_schema_extra={"uniqueItems": True}),
]
Seeds = Annotated[
    SeedsSection,
    BeforeValidator(_read_seeds, json_schema_input_type=_Number | _Listed | SeedsSection | _Looks),
    PlainSerializer(lambda seeds: seeds.plain, return_type=int | dict | list),
]


# The least count of values on a path: fewer show no slope and no curve.
LEAST = 3


def _above_zero(given: object) -> int | float:
    """Returns a number; refuses what is none, and one that is not above 0."""
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise refusal("must be a number above 0", "for instance 64, 128 and 256")
    return given


Number = Annotated[int | float, BeforeValidator(_above_zero)]


def rising(numbers: list[int | float]) -> list[int | float]:
    """Returns the numbers in order; refuses too few, and one that is there twice."""
    repeated = [number for number in numbers if numbers.count(number) > 1]
    if repeated:
        raise refusal(f"lists {min(repeated):g} twice", "each value once")
    if len(numbers) < LEAST:
        raise refusal("has too few values", f"at least {LEAST}")
    return sorted(numbers)


def one_path(given: dict[str, Any]) -> dict[str, Any]:
    """Returns a mapping as given; refuses more than one path in it."""
    if len(given) > 1:
        raise refusal("has more than one path", "one path with its values")
    return given
