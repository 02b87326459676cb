"""The section `match:`: the quantity that is made equal."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from ablate.base.registry import StrictModel
from ablate.core.facts import MatchFacts

MAX_TARGET = 1e24
QUANTITIES = ("parameters", "flops", "compute")


def refusal(rule: str, allowed: str) -> PydanticCustomError:
    """An error that says what must hold and what is allowed."""
    return PydanticCustomError("rule", rule, {"allowed": allowed})


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

    def facts(self) -> MatchFacts:
        """The facts that tables and figures show."""
        target = self.target if self.target == "baseline" else f"{self.target:.12g}"
        return MatchFacts(self.quantity, self.by, target, self.within)
