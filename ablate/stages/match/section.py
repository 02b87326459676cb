"""The key `match` of a study."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ablate.base.registry import StrictModel
from ablate.study.sections import refusal
from ablate.study.stage_config import StageConfig

MAX_TARGET = 1e24
# Name → words for it in a message.
QUANTITIES = {
    "parameters": "parameters",
    "flops": "FLOPs of a forward pass",
    "compute": "FLOPs of the whole training",
}


def _target(value: Any) -> Any:
    """Returns the target of a quantity; refuses what is none."""
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
        """Refuses none, and several."""
        if len(self._targets) != 1:
            allowed = f"one of {', '.join(QUANTITIES)}, each `baseline` or a number"
            raise refusal("must match one quantity", allowed)
        return self

    @property
    def _targets(self) -> dict[str, Target]:
        """The quantities that are given, with their targets."""
        targets = {"parameters": self.parameters, "flops": self.flops, "compute": self.compute}
        return {name: target for name, target in targets.items() if target is not None}

    @property
    def quantity(self) -> str:
        """The one of `QUANTITIES` that is matched."""
        return next(iter(self._targets))

    @property
    def target(self) -> Target:
        """The value that the quantity is to have."""
        return next(iter(self._targets.values()))


class MatchConfig(StageConfig):
    """The key `match`."""

    match: MatchSection | None = Field(
        None, examples=[{"parameters": "baseline", "by": "model.feedforward.expansion"}]
    )
    "The quantity that is made equal for all variants."
