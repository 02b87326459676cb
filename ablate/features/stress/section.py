"""`stress:` a grid of learning rates over which every variant is trained, to see how much of it each of them stands."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ablate.study.sections.match import refusal

LEAST = 3
"""Values of a grid, at least: fewer show no curve."""
UNEVEN = 2 - 1e-9
"""A step of a grid is shorter than so many of another: 1, 2, 5, 10 and 1, 3, 10 count as even."""


def _level(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise refusal("must be a number above 0", "for instance 1e-4, 1e-3 and 1e-2")
    return float(given)


def _distinct(levels: list[float]) -> list[float]:
    if twice := sorted({level for level in levels if levels.count(level) > 1}):
        raise refusal(f"lists {twice[0]:g} twice", "each value once")
    if len(levels) < LEAST:
        raise refusal("is no grid", f"at least {LEAST} values, evenly apart on a log scale")
    rates = sorted(levels)
    steps = [(math.log(above / below), below, above) for below, above in itertools.pairwise(rates)]
    (least, *short), (most, *long) = min(steps), max(steps)
    if most > UNEVEN * least:
        far, near = (f"from {below:g} to {above:g}" for below, above in (long, short))
        rule = (
            f"is uneven on a log scale, {far} at least twice as far as {near}, though each value counts alike"
        )
        raise refusal(rule, "each step less than twice any other")
    return rates


def _one(grids: dict[str, list[float]]) -> dict[str, list[float]]:
    if len(grids) > 1:
        raise refusal("has more than one grid", "one path")
    return grids


Level = Annotated[float, BeforeValidator(_level), Field(gt=0)]
Grid = Annotated[list[Level], AfterValidator(_distinct), Field(min_length=LEAST, max_length=100)]
Stress = Annotated[
    dict[str, Grid],
    AfterValidator(_one),
    Field(
        max_length=1,
        description="training.lr → learning rates, evenly apart on a log scale: every variant is trained at each of "
        "them too, whatever its own, for `lr_sensitivity`.",
        examples=[{"training.lr": [1e-3, 1e-2, 1e-1]}],
    ),
]
"""Path → its values in rising order."""
GRAMMAR: dict[str, tuple[Any, Any]] = {"stress": (Stress, {})}
