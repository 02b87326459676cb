"""Finds, in few evaluations, the number whose quantity is closest to a target.

The quantity is monotone in the number, and may be a staircase. Some numbers may have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import chain, islice

Number = int | float
Quantity = Callable[[Number], float | None]
"""None for a number without a quantity: d_model = 32 cannot be divided among 3 heads."""

FIRST_STEP = 1 / 16
"Length of the first step, as a share of the start; each further one is twice as long."
MAX_FLAT = 12
"Steps without effect after which the quantity counts as constant."
MAX_WALK = 80
MAX_GAP = 64
"Whole numbers tried on each side of one that has no quantity."
PRECISION = 1e-6
"Relative precision to which the edge of a stair is found."
MAX_DIGITS = 12


class Solver:
    """One search, with the quantities known so far.

    It starts from `start`, which must have a quantity. whole: only whole numbers are tried.
    """

    def __init__(self, quantity: Quantity, start: Number, *, whole: bool) -> None:
        self.quantity, self.start, self.whole = quantity, start, whole
        self.known: dict[Number, float | None] = {}

    def has_effect(self) -> bool:
        """Whether some number gives another quantity than the start does."""
        begin = self.value(self.start)
        near = (islice(self.walk(sign), MAX_FLAT + 1) for sign in (1, -1))
        return any(self.value(x) != begin for x in chain.from_iterable(near))

    def closest(self, target: float) -> tuple[Number, float] | None:
        """The number whose quantity is closest to `target`, and its quantity: the start where nothing is closer.

        None where the quantity is constant and not the target. Of the floats of one stair, the one with the fewest
        digits is returned.
        """
        if self.value(self.start) == target:
            return self.start, target
        for sign in (1, -1):
            bracket = self.bracket(sign, target)
            if bracket is not None:
                self.close_in(*bracket, target)
                break
        taken = {x: value for x, value in self.known.items() if value is not None}
        if len(set(taken.values())) == 1:
            return None
        best = min(taken, key=lambda x: (abs(taken[x] - target), abs(x - self.start), x))
        if not self.whole and best != self.start:
            best = self.roundest(best)
        return best, self.value(best)

    def _at(self, x: Number) -> float | None:
        if x not in self.known:
            self.known[x] = self.quantity(x)
        return self.known[x]

    def value(self, x: Number) -> float:
        """The quantity of a number that has one."""
        value = self._at(x)
        if value is None:
            raise ValueError(f"{x} has no quantity")
        return value

    def walk(self, sign: int) -> Iterator[Number]:
        """Numbers at doubling distances from the start; then, by halving, up to the first that has no quantity."""
        last, wall = self.start, None
        share = abs(self.start) * FIRST_STEP
        step: Number = max(1, int(share)) if self.whole else share or 1.0
        for _ in range(MAX_WALK):
            if wall is None:
                want: Number = last + sign * step
                step *= 2
            else:
                want = self._middle(last, wall)
                if want in (last, wall):
                    return
            found = self.usable(want, last, wall, sign)
            if found is None:
                wall = want
            else:
                last = found
                yield last

    def _middle(self, a: Number, b: Number) -> Number:
        return (a + b) // 2 if self.whole else (a + b) / 2

    def usable(self, want: Number, last: Number, wall: Number | None, sign: int) -> Number | None:
        """The number nearest to `want` that has a quantity, beyond `last` and before `wall`."""
        for distance in range(MAX_GAP if self.whole else 1):
            for x in (want + sign * distance, want - sign * distance):
                inside = sign * (x - last) > 0 and (wall is None or sign * (wall - x) > 0)
                if inside and self._at(x) is not None:
                    return x
        return None

    def bracket(self, sign: int, target: float) -> tuple[Number, Number] | None:
        """Two numbers between which the quantity passes the target; None where it does not in this direction."""
        begin = self.value(self.start)
        last = self.start
        for count, x in enumerate(self.walk(sign)):
            value = self.value(x)
            if value == target or (value < target) != (begin < target):
                return last, x
            leads_away = abs(value - target) > abs(self.value(last) - target)
            if leads_away or (count >= MAX_FLAT and value == begin):
                return None
            last = x
        return None

    def close_in(self, a: Number, b: Number, target: float) -> None:
        """Bisects, until no number lies between or the target is met."""
        below = self.value(a) < target
        while True:
            want = self._middle(a, b)
            if not self.whole and abs(b - a) <= PRECISION * max(abs(a), abs(b)):
                return
            found = self.usable(want, min(a, b), max(a, b), 1)
            if found is None or self.value(found) == target:
                return
            a, b = (found, b) if (self.value(found) < target) == below else (a, found)

    def roundest(self, x: Number) -> Number:
        """The float with the fewest digits that has the quantity of `x`."""
        exact, value = Decimal(x), self.value(x)
        largest = -math.floor(math.log10(abs(x))) - 1 if x else 0
        for digits in range(largest, largest + MAX_DIGITS + 1):
            unit = Decimal(1).scaleb(-digits)
            for rounding in (ROUND_FLOOR, ROUND_CEILING):
                rounded = float((exact / unit).to_integral_value(rounding) * unit)
                if self._at(rounded) == value:
                    return rounded
        return x
