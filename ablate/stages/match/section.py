"""The key `match` of a study."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ablate.base.registry import StrictModel
from ablate.study.sections import refusal
from ablate.study.stage_config import StageConfig

MAX_TARGET = 1e24
QUANTITIES = {  # With the words for each in a message.
    "parameters": "parameters",
    "flops": "FLOPs of a forward pass",
    "compute": "FLOPs of the whole training",
}


def _target(value: Any) -> Any:
    if value == "baseline" or (type(value) in (int, float) and 0 < value <= MAX_TARGET):
        return value
    raise refusal("must be a quantity", f"baseline, or a number above 0, at most {MAX_TARGET:g}")


Target = Annotated[Literal["baseline"] | float, BeforeValidator(_target)]


class MatchSection(StrictModel):
    """One quantity that is equal for all variants, and the path that is changed for it."""

    parameters: Target | None = None
    "Trainable parameters: those of the baseline, or a number."
    flops: Target | None = None
    "FLOPs of a forward pass on one example."
    compute: Target | None = None
    "FLOPs of the whole training, forward and backward."
    by: str
    "The path of the number that is changed."
    within: Annotated[float, Field(gt=0, lt=1)] = 0.01
    "The largest allowed error, as a share of the target."

    @model_validator(mode="after")
    def _one_quantity(self) -> MatchSection:
        if sum(getattr(self, name) is not None for name in QUANTITIES) != 1:
            raise refusal(
                "must match one quantity", f"one of {', '.join(QUANTITIES)}, each `baseline` or a number"
            )
        return self

    @property
    def quantity(self) -> str:
        """Which of `QUANTITIES` is matched."""
        return next(name for name in QUANTITIES if getattr(self, name) is not None)

    @property
    def target(self) -> Literal["baseline"] | float:
        """The value of that quantity."""
        return getattr(self, self.quantity)


class MatchConfig(StageConfig):
    """The key `match`."""

    match: MatchSection | None = Field(
        None, examples=[{"parameters": "baseline", "by": "model.feedforward.expansion"}]
    )
    "The quantity that is made equal for all variants."
