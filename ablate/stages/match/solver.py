"""Finds, in few evaluations, the number whose quantity is closest to a target.

The quantity is monotone in the number, and may be a staircase. Some numbers may have none.
"""

import functools
import math
from collections.abc import Callable

Number = int | float
# None for a number without a quantity: d_model = 32 cannot be divided among 3 heads.
Quantity = Callable[[Number], float | None]

FIRST_STEP = 1 / 16
"""The length of the first step, as a share of the start; each further one is twice as long."""
MAX_FLAT = 12
"""Steps without effect after which the quantity counts as constant."""
MAX_STEPS = 80
MAX_GAP = 64
"""Whole numbers tried on each side of one that has no quantity."""
PRECISION = 1e-6
"""The relative precision to which the edge of a stair is found."""
MAX_DIGITS = 12


class Solver:
    """A search for a number, with the quantities known so far.

    It starts from `start`, which must have a quantity. whole: only whole numbers are tried.
    """

    def __init__(self, quantity: Quantity, start: Number, *, whole: bool) -> None:
        self.quantity = functools.cache(quantity)
        self.start = start
        self.whole = whole
        # Number → its quantity, of the numbers tried that have one.
        self.known: dict[Number, float] = {}

    def has_effect(self) -> bool:
        """Returns whether some number gives another quantity than the start does."""
        return self._has(self.start) and self.closest(self.known[self.start] + 1) is not None

    def closest(self, target: float) -> tuple[Number, float] | None:
        """Returns the number whose quantity is closest to `target`, and its quantity.

        It is the start where nothing is closer. None where the quantity is constant and not the target. Of the floats
        of one stair, the one with the fewest digits is returned.
        """
        if self._has(self.start) and self.known[self.start] == target:
            return self.start, target
        self._approach(1, target)
        self._approach(-1, target)
        if len(set(self.known.values())) == 1:
            return None

        def distance(number: Number) -> tuple[float, float, float]:
            return abs(self.known[number] - target), abs(number - self.start), number

        best = min(self.known, key=distance)
        if not self.whole and best != self.start:
            best = self._roundest(best)
        return best, self.known[best]

    def _has(self, number: Number) -> bool:
        """Tries a number; returns whether it has a quantity, which is then known."""
        value = self.quantity(number)
        if value is None:
            return False
        self.known[number] = value
        return True

    def _approach(self, sign: int, target: float) -> None:
        """Steps from the start until the target is passed, and closes in on it.

        It ends early where the quantity does not come nearer there.
        """
        last = self.start
        share = abs(last) * FIRST_STEP
        step: Number = max(1, int(share)) if self.whole else share or 1.0
        for count in range(MAX_STEPS):
            wanted = last + sign * step
            tried = self._usable(wanted, last, sign * math.inf)
            if tried is None:
                self._close_in(last, wanted, target)
                return
            error_before = self.known[last] - target
            error = self.known[tried] - target
            if error * error_before <= 0:
                self._close_in(last, tried, target)
                return
            is_flat = count >= MAX_FLAT and self.known[tried] == self.known[self.start]
            if is_flat or abs(error) > abs(error_before):
                return
            last = tried
            step = 2 * step

    def _usable(self, wanted: Number, end: Number, other_end: Number) -> Number | None:
        """Returns the number nearest to `wanted` that has a quantity, between two ends."""
        low = min(end, other_end)
        high = max(end, other_end)
        for distance in range(MAX_GAP if self.whole else 1):
            for number in (wanted + distance, wanted - distance):
                if low < number < high and self._has(number):
                    return number
        return None

    def _close_in(self, before: Number, beyond: Number, target: float) -> None:
        """Bisects between a number before the target and one beyond it.

        The one beyond may have no quantity; then none further on has.
        """
        is_below = self.known[before] < target
        for _ in range(MAX_STEPS):
            width = 1 if self.whole else PRECISION * max(abs(before), abs(beyond))
            if abs(beyond - before) <= width:
                return
            middle = (before + beyond) // 2 if self.whole else (before + beyond) / 2
            tried = self._usable(middle, before, beyond)
            if tried is None:
                beyond = middle
            elif self.known[tried] == target:
                return
            elif (self.known[tried] < target) == is_below:
                before = tried
            else:
                beyond = tried

    def _roundest(self, number: Number) -> Number:
        """Returns the float with the fewest digits that has the quantity of `number`."""
        first = -math.floor(math.log10(abs(number))) - 1 if number else 0
        for digits in range(first, first + MAX_DIGITS + 1):
            scale = 10.0**digits
            for rounded in (math.floor(number * scale) / scale, math.ceil(number * scale) / scale):
                if self._has(rounded) and self.known[rounded] == self.known[number]:
                    return rounded
        return number
