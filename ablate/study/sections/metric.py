"""`metric:` the number that is judged; others that are judged with it; an aggregate over tasks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, PositiveFloat, Tag

from ablate.base.registry import StrictModel
from ablate.study.sections.search import refusal


def _named(given: Any) -> Any:
    """A metric, or a list of them, without margins."""
    if isinstance(given, str):
        return {given: None}
    return dict.fromkeys(given) if isinstance(given, list) else given


def _units(given: Any) -> Any:
    if given is None or given == "range" or isinstance(given, dict):
        return given
    raise refusal(
        "is no unit of differences",
        "range, or a difference for each task, such as {digits: 0.1, recall: 0.2}",
    )


_Units = Annotated[
    Annotated[Literal["range"], Tag("[range]")] | Annotated[dict[str, PositiveFloat], Tag("[tasks]")],
    Discriminator(lambda given: "[tasks]" if isinstance(given, dict) else "[range]"),
]


class MetricSection(StrictModel):
    """The number that is judged, the same for all variants."""

    name: str | None = None
    "A metric of the task; not given: its first."
    margin: PositiveFloat | None = None
    "The smallest difference of interest, in the metric's units; declared, `equivalent` becomes a verdict."
    at: Literal["last", "best_validation"] = "last"
    "Tested at the last step, or at the step that validation favours."
    also: Annotated[dict[str, PositiveFloat | None], BeforeValidator(_named)] = {}
    "Further metrics that are judged in the same family, which they make larger: name → margin, or nothing."
    aggregate: Annotated[_Units | None, BeforeValidator(_units)] = None
    """Units in which differences are averaged over tasks: task → the difference that counts as one; `range`: that from
    guessing to the best value."""


MetricAsked = Annotated[
    MetricSection, BeforeValidator(lambda given: {"name": given} if isinstance(given, str) else given)
]
