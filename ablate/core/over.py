"""How the conditions of a study are taken together, and which of its verdicts share the level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

Form = Literal["each", "mean", "every", "sample"]
"""What a verdict is about.

    each     one condition
    mean     the mean over these conditions
    every    every one of these conditions
    sample   the mean over conditions like these
"""
Family = Literal["all", "claims", "ordered"]
"""The verdicts that share the level: comparisons and claims, claims alone, or claims in the order of the file."""
MEAN: Form = "mean"
TREND = "trend"
"""What tables have in the place of a condition's name, for a trend along a number of the conditions."""
RESERVED_NAMES = (*(form for form in get_args(Form) if form != "each"), TREND)
"""The words that tables have in the place of a condition's name, for verdicts over conditions."""
LEAST_TREND = 3
"""Conditions below which there is no trend; two are the claim "by more at"."""


@dataclass(frozen=True)
class Over:
    """How the conditions of a study are taken together."""

    # A plain dict, since the options of `analyse` take the forms, and `--help` loads no pydantic.
    __pydantic_config__: ClassVar[object] = {"extra": "forbid"}

    form: Form = "each"
    along: str = ""
    """The path, or the column of given runs, whose number orders the conditions; empty where nothing does."""
    sizes: dict[str, float] = field(default_factory=dict)
    """Condition → its number along that path."""
    scales: dict[str, float] = field(default_factory=dict)
    """Condition → the scale that was declared for its differences, in units of its metric."""
    independent_seeds: bool = False
    """Whether the seeds of conditions were declared to be independent."""

    @property
    def joins_conditions(self) -> bool:
        """True where a verdict is about all conditions together, and not about each."""
        return self.form != "each"

    @property
    def reserved_names(self) -> tuple[str, ...]:
        """The names that no condition may have: what tables write in their place for all of them."""
        if self.joins_conditions or self.along:
            return RESERVED_NAMES
        return ()


def scales_as_text(scales: Mapping[str, float]) -> str:
    """Returns condition → scale as a cell stores it: `name scale; …`."""
    return "; ".join(f"{name} {scale:g}" for name, scale in scales.items())


def scales_in(text: str) -> dict[str, float]:
    """Returns condition → scale, of the text that `scales_as_text` writes; nothing in empty text."""
    scales = {}
    for part in filter(None, text.split("; ")):
        name, _, scale = part.rpartition(" ")
        scales[name] = float(scale)
    return scales


def common_scales(scales: Sequence[float | None], *, one_metric: bool) -> list[float] | None:
    """Returns the number that divides each condition's differences before they are added; None where not all have one.

    scales: what is declared, else the range of the metric; 1 where no condition has either and all have one metric.
    """
    known = [scale for scale in scales if scale]
    if len(known) == len(scales):
        return known
    if not known and one_metric:
        return [1.0] * len(scales)
    return None
