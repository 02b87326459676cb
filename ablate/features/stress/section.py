"""`stress:` a grid of learning rates over which every variant is trained, to see how much of it each of them stands."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from ablate.study.sections import Number, one_path, refusal, rising

UNEVEN = 2 - 1e-9
"""A step of a grid is shorter than so many of another: 1, 2, 5, 10 and 1, 3, 10 count as even."""


def _even(levels: list[int | float]) -> list[float]:
    rates = [*map(float, rising(levels))]
    steps = [
        (math.log(above / below), f"from {below:g} to {above:g}")
        for below, above in itertools.pairwise(rates)
    ]
    (least, near), (most, far) = min(steps), max(steps)
    if most > UNEVEN * least:
        rule = (
            f"is uneven on a log scale, {far} at least twice as far as {near}, though each value counts alike"
        )
        raise refusal(rule, "each step less than twice any other")
    return rates


Grid = Annotated[list[Number], AfterValidator(_even), Field(max_length=100)]
Stress = Annotated[
    dict[str, Grid],
    AfterValidator(one_path),
    Field(
        max_length=1,
        description="training.lr → learning rates, evenly apart on a log scale: every variant is trained at each of "
        "them too, whatever its own, for `lr_sensitivity`.",
        examples=[{"training.lr": [1e-3, 1e-2, 1e-1]}],
    ),
]
"""Path → its values in rising order."""
GRAMMAR: dict[str, tuple[Any, Any]] = {"stress": (Stress, {})}
