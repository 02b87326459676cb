"""A path and its numbers: the sizes of `speed: {over: …}`, the learning rates of `stress:`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ablate.study.sections.match import refusal

LEAST = 3
"""Numbers, at least: fewer show no slope and no curve."""


def _above_zero(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        raise refusal("must be a number above 0", "for instance 64, 128 and 256")
    return given


Number = Annotated[int | float, BeforeValidator(_above_zero)]


def rising(numbers: list[int | float]) -> list[int | float]:
    """The numbers in order; refuses too few, and one that is there twice."""
    if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise refusal(f"lists {twice[0]:g} twice", "each value once")
    if len(numbers) < LEAST:
        raise refusal("has too few values", f"at least {LEAST}")
    return sorted(numbers)


def one_path(given: dict[str, Any]) -> dict[str, Any]:
    """Refuses more than one."""
    if len(given) > 1:
        raise refusal("has more than one path", "one path with its values")
    return given
