"""`metric:` the number that is judged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, PositiveFloat

from ablate.base.registry import StrictModel


class MetricSection(StrictModel):
    """The number that is judged, the same for all variants."""

    name: str | None = None
    "A metric of the task; not given: its first."
    margin: PositiveFloat | None = None
    "The smallest difference of interest, in the metric's units; declared, `equivalent` becomes a verdict."
    at: Literal["last", "best_validation"] = "last"
    "Tested at the last step, or at the step that validation favours."
    target: float | None = None
    "The value on validation data that counts as learned, for `steps_to_target`; not given: that at which it is solved."


MetricAsked = Annotated[
    MetricSection,
    BeforeValidator(
        lambda given: {"name": given} if isinstance(given, str) else given,
        json_schema_input_type=str | MetricSection,
    ),
]
