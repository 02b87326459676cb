"""Finds, in few evaluations, the number whose quantity is closest to a target.

The quantity is monotone in the number, and may be a staircase. Some numbers may have none.
"""

import functools
import math
from collections.abc import Callable

Number = int | float
# None for a number without a quantity: d_model = 32 cannot be divided among 3 heads.
Quantity = Callable[[Number], float | None]

FIRST_STEP = 1 / 16  # Length of the first step, as a share of the start; each further one is twice as long.
MAX_FLAT = 12  # Steps without effect after which the quantity counts as constant.
MAX_STEPS = 80
MAX_GAP = 64  # Whole numbers tried on each side of one that has no quantity.
PRECISION = 1e-6  # Relative precision to which the edge of a stair is found.
MAX_DIGITS = 12


class Solver:
    """One search, with the quantities known so far.

    It starts from `start`, which must have a quantity. whole: only whole numbers are tried.
    """

    def __init__(self, quantity: Quantity, start: Number, *, whole: bool) -> None:
        self.quantity, self.start, self.whole = functools.cache(quantity), start, whole
        self.known: dict[Number, float] = {}

    def has_effect(self) -> bool:
        """Whether some number gives another quantity than the start does."""
        return self._has(self.start) and self.closest(self.known[self.start] + 1) is not None

    def closest(self, target: float) -> tuple[Number, float] | None:
        """The number whose quantity is closest to `target`, and its quantity: the start where nothing is closer.

        None where the quantity is constant and not the target. Of the floats of one stair, the one with the fewest
        digits is returned.
        """
        if self._has(self.start) and self.known[self.start] == target:
            return self.start, target
        self._approach(1, target)
        self._approach(-1, target)
        if len(set(self.known.values())) == 1:
            return None
        best = min(self.known, key=lambda x: (abs(self.known[x] - target), abs(x - self.start), x))
        if not self.whole and best != self.start:
            best = self._roundest(best)
        return best, self.known[best]

    def _has(self, x: Number) -> bool:
        """Whether a number has a quantity, which is then known."""
        if (value := self.quantity(x)) is not None:
            self.known[x] = value
        return x in self.known

    def _approach(self, sign: int, target: float) -> None:
        """Makes known what is nearest to the target in this direction, where the quantity comes nearer there."""
        last = self.start
        share = abs(last) * FIRST_STEP
        step: Number = max(1, int(share)) if self.whole else share or 1.0
        for count in range(MAX_STEPS):
            want = last + sign * step
            found = self._usable(want, last, sign * math.inf)
            if found is None or (self.known[found] - target) * (self.known[last] - target) <= 0:
                self._close_in(last, want if found is None else found, target)
                return
            flat = count >= MAX_FLAT and self.known[found] == self.known[self.start]
            if flat or abs(self.known[found] - target) > abs(self.known[last] - target):
                return
            last, step = found, 2 * step

    def _usable(self, want: Number, a: Number, b: Number) -> Number | None:
        """The number nearest to `want` that has a quantity, between `a` and `b`."""
        for distance in range(MAX_GAP if self.whole else 1):
            for x in (want + distance, want - distance):
                if min(a, b) < x < max(a, b) and self._has(x):
                    return x
        return None

    def _close_in(self, a: Number, b: Number, target: float) -> None:
        """Bisects from `a`, before the target, to `b`: beyond it, or without a quantity as all that follows."""
        below = self.known[a] < target
        for _ in range(MAX_STEPS):
            if abs(b - a) <= (1 if self.whole else PRECISION * max(abs(a), abs(b))):
                return
            middle = (a + b) // 2 if self.whole else (a + b) / 2
            found = self._usable(middle, a, b)
            if found is None:
                b = middle
            elif self.known[found] == target:
                return
            elif (self.known[found] < target) == below:
                a = found
            else:
                b = found

    def _roundest(self, x: Number) -> Number:
        """The float with the fewest digits that has the quantity of `x`."""
        first = -math.floor(math.log10(abs(x))) - 1 if x else 0
        for digits in range(first, first + MAX_DIGITS + 1):
            scale = 10.0**digits
            for rounded in (math.floor(x * scale) / scale, math.ceil(x * scale) / scale):
                if self._has(rounded) and self.known[rounded] == self.known[x]:
                    return rounded
        return x
