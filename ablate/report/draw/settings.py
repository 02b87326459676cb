"""Round numbers beside an axis, and the words for them."""

from __future__ import annotations

import re
from collections.abc import Callable

from matplotlib.ticker import Locator, LogLocator, MaxNLocator

STEPS = [1, 2, 2.5, 5, 10]
DENSITIES = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"Ticks within each power of ten, from many to few."


def ticks(low: float, high: float, *, log: bool = False, whole: bool = False, most: int = 6) -> list[float]:
    """At most so many round numbers from low to high."""
    slack = 1e-9 * (low if log else high - low)

    def inside(locator: Locator) -> list[float]:
        return [float(tick) for tick in locator.tick_values(low, high) if low - slack <= tick <= high + slack]

    powers = [inside(LogLocator(subs=steps, numticks=most + 1)) for steps in DENSITIES if log]
    linear = inside(MaxNLocator(most - 1, steps=STEPS, integer=whole))
    known = [found for found in powers if len(found) > 1] or [linear]
    shown = next((found for found in known if len(found) <= most), known[-1])
    return shown[:: -(-len(shown) // most)]


def unit_label(number: float, say: Callable[[float], str]) -> str:
    """A number in the words of `say` beside an axis: `2 ms`, not `2.00 ms`."""
    return re.sub(r"(\.\d*?)0+(?!\d)", r"\1", say(number)).replace(". ", " ").removesuffix(".")
