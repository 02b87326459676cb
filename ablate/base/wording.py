"""Numbers as sentences show them: no more digits than their uncertainty supports."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_DECIMALS = 6


def decimals(uncertainty: float) -> int:
    """The decimals that show two significant digits of `uncertainty` (half the width of an interval)."""
    if not math.isfinite(uncertainty) or uncertainty <= 0:
        return 3
    return min(max(0, 1 - math.floor(math.log10(uncertainty))), MAX_DECIMALS)


def number(value: float, places: int) -> str:
    """`value` to so many decimals, without a leading zero: −.021; what rounds to zero is .000."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):.{places}f}"
    digits = text.removeprefix("0") if places else text
    return f"−{digits}" if value < 0 and text.strip("0.") else digits


def exact(value: float) -> str:
    """A number that someone chose, such as a margin: .02."""
    text = f"{abs(value):.6g}"
    return ("−" if value < 0 else "") + (text.removeprefix("0") if text.startswith("0.") else text)


def interval(bounds: tuple[float, float], *thresholds: float) -> str:
    """`[−.004, .021]`, with as many digits more as it takes to tell its bounds from the `thresholds`."""
    places = decimals((bounds[1] - bounds[0]) / 2)
    while places < MAX_DECIMALS and any(
        bound != threshold and number(bound, places) == number(threshold, places)
        for bound in bounds
        for threshold in thresholds
    ):
        places += 1
    return f"[{number(bounds[0], places)}, {number(bounds[1], places)}]"


def signed(value: float, bounds: tuple[float, float]) -> str:
    """A difference to the digits of its interval, with its sign: +.021."""
    text = number(value, decimals((bounds[1] - bounds[0]) / 2))
    return f"+{text}" if value > 0 and text.strip("0.") else text


def p_value(p: float) -> str:
    """`p = .031`; enough digits to tell which side of .05 it is on."""
    if p < 0.001:
        return "p < .001"
    text = f"{p:.3f}" if abs(p - 0.05) >= 0.0005 else f"{p:.5f}"
    return f"p = {text.removeprefix('0')}"


def share(count: int, total: int) -> str:
    """`2 of 5`."""
    return f"{count} of {total}"


def counted(count: int, noun: str) -> str:
    """`1 seed`, `2 seeds`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def joined(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
