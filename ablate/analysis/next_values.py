"""The value by which a grid of numbers goes on: by its step, the pattern of its decades, or its ratio."""

from collections.abc import Sequence
from itertools import pairwise

from ablate.analysis.search_table import DIGITS, EXACT
from ablate.analysis.widening import GRID_SIDES, GridSide

LEAST = 3
"""The fewest numbers of a grid that is widened: of two, each lies at an edge."""
SAME = 0.01
"""The relative difference up to which two steps, or two ratios, of neighbours count as one."""


def next_value(numbers: Sequence[float], side: GridSide) -> float | None:
    """Returns the next number beyond one side of a grid; None where the grid goes on by no rule.

    A grid with one step, as 1, 2, 3, goes on by it. One of positive numbers whose ratios repeat each decade, as 1, 3,
    10 or 1, 2, 5, 10, has the numbers of the next decade; any other with one ratio, as 1, 2, 4, goes on by that.

    numbers: three or more, rising.
    """
    steps = [high - low for low, high in pairwise(numbers)]
    if _are_same(steps):
        step = (numbers[-1] - numbers[0]) / len(steps)
        value = numbers[0] - step if side == "lower" else numbers[-1] + step
        is_zero = abs(value) < SAME * step  # But for rounding.
        return 0.0 if is_zero else float(f"{value:.{EXACT}g}")

    if numbers[0] <= 0:
        return None
    ratios = [high / low for low, high in pairwise(numbers)]
    in_decade = _in_next_decade(numbers, ratios, side)
    if in_decade is not None:
        return _rounded(in_decade)
    if _are_same(ratios):
        ratio = (numbers[-1] / numbers[0]) ** (1 / len(ratios))
        return _rounded(numbers[0] / ratio if side == "lower" else numbers[-1] * ratio)
    return None


def goes_on(numbers: Sequence[float]) -> bool:
    """Returns whether a grid of rising numbers has enough of them, and a next number beyond both sides."""
    return len(numbers) >= LEAST and all(next_value(numbers, side) is not None for side in GRID_SIDES)


def keeps_sign(numbers: Sequence[float], value: float) -> bool:
    """Returns whether a value has a sign that a grid of numbers has: of positive ones not 0, nor any below it."""
    lowest = min(numbers)
    if lowest > 0:
        return value > 0
    return lowest < 0 or value >= 0


def _are_same(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= SAME * min(values)


def _in_next_decade(numbers: Sequence[float], ratios: Sequence[float], side: GridSide) -> float | None:
    """Returns the nearest number beyond a side that is ten times, or a tenth of, one of the grid.

    None where its ratio to its neighbour is none that the grid may have.
    """
    lowest = numbers[0]
    highest = numbers[-1]
    if side == "lower":
        value = max(number / 10 for number in numbers if number / 10 < lowest * (1 - SAME))
        ratio = lowest / value
    else:
        value = min(number * 10 for number in numbers if number * 10 > highest * (1 + SAME))
        ratio = value / highest
    fits = min(ratios) * (1 - SAME) <= ratio <= max(ratios) * (1 + SAME)
    return value if fits else None


def _rounded(value: float) -> float:
    """Returns a number to `DIGITS` significant digits, and a whole one as it is."""
    if abs(value - round(value)) <= 1e-9 * abs(value):
        return float(round(value))
    return float(f"{value:.{DIGITS}g}")
