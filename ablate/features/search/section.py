"""The sections `search:` of a sweep, and `tune:` of every variant."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    Field,
    FiniteFloat,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from ablate.base.registry import OnOff, Slot, StrictModel
from ablate.features.search.table import winner_names
from ablate.search.parts import TPE, NoPruner, Random
from ablate.study.sections import refusal

Conditions = str | list[str]
SEEDS = Annotated[int, Field(ge=1, le=1_000)]


class _Range(StrictModel):
    """Base of ranges of numbers."""

    log: OnOff = False
    "Sampled on a log scale."
    when: Conditions = []
    "`PATH=LEVEL`, or several that must all hold: the path is searched only there."

    @model_validator(mode="after")
    def _rises(self) -> _Range:
        (low, high), step = self.bounds, getattr(self, "step", None) or 0
        rules = (
            (low < high, "is empty or inverted", "[low, high] with low < high"),
            (not self.log or low > 0, f"has no logarithm at {low:g}", "with log: true, low > 0"),
            (step <= high - low, f"holds no step of {step:g}", f"a step of at most {high - low:g}"),
            (not (step and self.log), "cannot have both log and step", "one of them"),
        )
        for holds, rule, allowed in rules:
            if not holds:
                raise refusal(rule, allowed)
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value."""
        return tuple(getattr(self, "float", None) or getattr(self, "int"))  # noqa: B009


class FloatRange(_Range):
    """Any number from low to high."""

    float: Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]
    "[low, high]"
    step: PositiveFloat | None = None
    "Only low, low + step, …"


class IntRange(_Range):
    """Any whole number from low to high, both included."""

    int: Annotated[list[int], Field(min_length=2, max_length=2)]
    "[low, high]"
    step: PositiveInt | None = None
    "Only low, low + step, …"


class Choice(StrictModel):
    """One of several values: parts, numbers or words."""

    choice: Annotated[list[Any], Field(min_length=1, max_length=1_000)]
    "Values of the path; a part by its name, or {name: …, parameters}."
    when: Conditions = []
    "`PATH=LEVEL`, or several that must all hold: the path is searched only there."


def _one_kind(value: Any, info: ValidationInfo) -> StrictModel:
    """A mapping as the kind of values that its key names."""
    if isinstance(value, StrictModel):
        return value
    every: dict[str, type[StrictModel]] = {"float": FloatRange, "int": IntRange, "choice": Choice}
    kinds = [kind for kind in every if isinstance(value, dict) and kind in value]
    if len(kinds) != 1:
        raise refusal(
            "must be one kind of space", "{float: [low, high]}, {int: [low, high]} or {choice: [a, b]}"
        )
    model = every[kinds[0]]
    if unknown := [key for key in value if key not in model.model_fields]:
        raise refusal(f"has no {unknown[0]!r}", ", ".join(model.model_fields))
    return model.model_validate(value, context=info.context)


Values = Annotated[
    FloatRange | IntRange | Choice,
    BeforeValidator(_one_kind),
    PlainSerializer(lambda value: value.model_dump(exclude_defaults=True)),
]


def _no_storage(value: Any) -> None:
    if value is not None:
        raise refusal(
            "is not kept anywhere but in the records of its trainings, from which a search goes on",
            "no `storage`; `ablate export --optuna URL` writes a search for Optuna's dashboard",
        )


class _Budget(StrictModel):
    """Base of searches."""

    over: Annotated[dict[str, Values], Field(min_length=1)]
    "Path → {float: [low, high]}, {int: [low, high]} or {choice: [a, b]}, with log, step and when."
    trials: Annotated[int, Field(gt=0, le=100_000)] | None = None
    "Settings to try, in `tune` for each variant; not given: 20, or with `sampler: grid` every point."
    pruner: Annotated[Any, Slot("pruner")] = NoPruner.name
    "The rule by which a setting is stopped early."
    batch: Annotated[int, Field(gt=0, le=10_000)] = 4
    """Settings that are chosen together: more keep more workers busy, fewer let the sampler learn sooner. The
    settings do not depend on the number of workers."""
    storage: SkipJsonSchema[Annotated[None, BeforeValidator(_no_storage), Field(exclude=True)]] = None


class SearchSection(_Budget):
    """The search of `ablate sweep`."""

    objectives: list[str] = []
    """Validation metrics, each in its own direction; or, less being better, parameters, flops (of a forward pass on one
    example), compute (FLOPs of the whole training), divergence_rate (share of the seeds) or seed_spread (standard
    deviation over them); not given: the study's metric."""
    sampler: Annotated[Any, Slot("sampler")] = TPE.name
    "How the next setting is chosen."
    seeds: SEEDS = 3
    "Tuning seeds of each setting; they are 10000, 10001, …, never those of a verdict."
    winners: Annotated[int, Field(gt=0, le=1_000)] = 1
    """Settings that are trained again on the study's own seeds and compared with the baseline: the best by the first
    objective, and the next; with several objectives those of the Pareto front."""


class TuneSection(_Budget):
    """The search for every variant before it is judged: the same budget, on seeds that judge nothing."""

    untuned: OnOff = True
    "Trains the variants as the study gives them too, so that the report shows what tuning changed."

    sampler: Annotated[Any, Slot("sampler")] = Random.name
    "How the next setting is chosen; random tries the same settings for every variant."
    seeds: SEEDS = 2
    "Tuning seeds of each setting; they are 10000, 10001, …, never those of a verdict."


GRAMMAR: dict[str, tuple[Any, Any]] = {
    "search": (
        SearchSection | None,
        Field(None, description="The search of `ablate sweep`, from the baseline."),
    ),
    "tune": (
        TuneSection | None,
        Field(None, description="A search for every variant, with the same budget, before it is judged."),
    ),
}


def names(study: Any) -> list[str]:
    """The winners of a sweep."""
    return winner_names(study.search.winners) if study.search is not None else []
