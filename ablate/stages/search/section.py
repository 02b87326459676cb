"""The sections `search:` of a sweep, and `tune:` of every variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import (
    Field,
    FiniteFloat,
    PlainSerializer,
    PositiveFloat,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ablate.analysis.widening import MAX_STEPS
from ablate.base.registry import OnOff, StrictModel
from ablate.search.pruners import PRUNERS, NoPruner
from ablate.search.samplers import SAMPLERS, TPE, Random
from ablate.study.sections import refusal
from ablate.study.stage_config import StageConfig

When = str | list[str]
NumSeeds = Annotated[int, Field(ge=1, le=1_000)]
MIN_TUNING_SEEDS = 3
WIDENING_RULE = (
    f"on: where the best value of any variant lies at an edge, the next by the grid's ratio or step is added for all, "
    f"at most {MAX_STEPS} a side"
)
"""The rule of `widen`, with which a plan is dated."""
# Inside `Values`, `float` and `int` are its fields.
_Floats = Annotated[list[FiniteFloat], Field(min_length=2, max_length=2)]
_Ints = Annotated[list[int], Field(min_length=2, max_length=2)]
_Choices = Annotated[list[Any], Field(min_length=1, max_length=1_000)]


class Values(StrictModel):
    """The values of a searched path, by one of `float`, `int` and `choice`."""

    float: _Floats | None = None
    "[low, high]: any number from low to high."
    int: _Ints | None = None
    "[low, high]: any whole number from low to high, both included."
    choice: _Choices | None = None
    "One of several: numbers, words or parts, each by its name or as {name: …, parameters}."
    log: OnOff = False
    "Numbers are sampled on a log scale."
    step: PositiveFloat | None = None
    "Only the numbers low, low + step, …"
    when: When = []
    "`PATH=LEVEL`, or several that must all hold: the path is searched only there."

    @model_validator(mode="after")
    def _check_kind(self) -> Values:
        """Refuses values of no kind or of several, and numbers that are none."""
        given = [values for values in (self.float, self.int, self.choice) if values is not None]
        if len(given) != 1:
            kinds = "{float: [low, high]}, {int: [low, high]} or {choice: [a, b]}"
            raise refusal("must have exactly one kind of space", kinds)
        bounds = self.float or self.int
        if bounds is not None:
            low, high = bounds
            _check_numbers(self, low, high)
        elif self.step or self.log:
            raise refusal("cannot have log or step with choice", "{choice: [a, b]}")
        return self


def _check_numbers(values: Values, low: float, high: float) -> None:
    """Refuses a range without numbers, and a scale or step that does not fit."""
    step = values.step or 0
    if low >= high:
        raise refusal("is empty or inverted", "[low, high] with low < high")
    if values.log and low <= 0:
        raise refusal(f"has no logarithm at {low:g}", "with log: true, low > 0")
    if step > high - low:
        raise refusal(f"is smaller than one step of {step:g}", f"a step of at most {high - low:g}")
    if step and values.log:
        raise refusal("cannot have both log and step", "one of them")
    if values.int and step % 1 != 0:
        raise refusal("has whole numbers", "a step that is a whole number")


_WITHOUT_DEFAULTS = PlainSerializer(lambda values: values.model_dump(exclude_defaults=True))


class _BaseSection(StrictModel):
    """Base of both sections: the space and the budget of a search."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_storage(cls, given: Any) -> Any:
        """Refuses a key of earlier studies, with what has taken its place."""
        if isinstance(given, dict) and "storage" in given:
            raise refusal(
                "has the key `storage`, which no longer exists: a search continues from the records of its trials",
                "no `storage`; `ablate export --optuna URL` writes a search for Optuna's dashboard",
            )
        return given

    over: Annotated[dict[str, Annotated[Values, _WITHOUT_DEFAULTS]], Field(min_length=1)]
    "Path → {float: [low, high]}, {int: [low, high]} or {choice: [a, b]}, with log, step and when."
    trials: Annotated[int, Field(gt=0, le=100_000)] | None = None
    "Settings to try, in `tune` for each variant; not given: 20, or with `sampler: grid` every point."
    pruner: Annotated[Any, PRUNERS] = NoPruner.name
    "The rule by which a setting is stopped early."
    batch: Annotated[int, Field(gt=0, le=10_000)] = 4
    """Settings that are chosen together: more keep more workers busy, fewer let the sampler learn sooner. The
    settings do not depend on the number of workers."""


class SearchSection(_BaseSection):
    """The search of `ablate sweep`."""

    objectives: list[str] = []
    """Validation metrics, each in its own direction; or, less being better, parameters, flops (of a forward pass on one
    example), compute (FLOPs of the whole training), divergence_rate (share of the seeds) or seed_spread (standard
    deviation over them); not given: the study's metric."""
    each_seed: ClassVar[bool] = False
    sampler: Annotated[Any, SAMPLERS] = TPE.name
    "How the next setting is chosen."
    seeds: NumSeeds = 3
    "Tuning seeds of each setting; they are 10000, 10001, …, never those of a verdict."
    winners: Annotated[int, Field(gt=0, le=1_000)] = 1
    """Settings that are trained again on the study's own seeds and compared with the baseline: the best by the first
    objective, and the next; with several objectives those of the Pareto front."""


class TuneSection(_BaseSection):
    """The search for every variant before it is judged: the same budget, on seeds that judge nothing."""

    sampler: Annotated[Any, SAMPLERS] = Random.name
    "How the next setting is chosen; random tries the same settings for every variant."
    each_seed: OnOff = False
    """Chooses for each seed of the study, on its own validation data, instead of on tuning seeds for all: every setting
    is trained on every seed, and none is judged beside the chosen one."""
    seeds: NumSeeds = MIN_TUNING_SEEDS
    """Tuning seeds of each setting, never those of a verdict; studies of one baseline share them. Which setting few
    seeds choose is luck, so that settings near the chosen one are judged with it."""
    at: str | None = None
    "The condition, or the task, in which variants are tuned for all; not given: in each of them."
    widen: OnOff = False
    """Widens a grid of numbers by its next value, for all variants, where the best value of any lies at an edge; then
    all are searched again, until none does: at most three times a side."""

    @model_serializer(mode="wrap")
    def _only_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out `at` and `widen` where they are not given: plans that were dated without them stay as they are."""
        data: dict[str, Any] = dump(self)
        if self.at is None:
            del data["at"]
        if not self.widen:
            del data["widen"]
        return data


class SweepConfig(StageConfig):
    """The key `search`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("search.over",)

    search: SearchSection | None = None
    "The search of `ablate sweep`, from the baseline."


class TuneConfig(StageConfig):
    """The key `tune`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("tune.over",)
    rules: ClassVar[Mapping[str, str]] = {"tune.widen": WIDENING_RULE}

    tune: TuneSection | None = None
    "A search for every variant, with the same budget, before it is judged."
