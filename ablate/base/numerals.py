"""Numbers that users give: how they are written, which of them an option takes, and when two are the same."""

from __future__ import annotations

import math
import numbers
import re
import sys
from dataclasses import dataclass

from ablate.base.errors import Invalid

EXACT = 2**53
"""The number from which on a float does not tell neighbouring whole numbers apart."""
MAX_WHOLE = 2**63 - 1
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_MAX_DIGITS = 19
"""The most digits of a whole number of 64 bits."""


@dataclass(frozen=True)
class Domain:
    """The numbers that an option takes: finite ones within bounds."""

    least: float = -sys.float_info.max
    most: float = sys.float_info.max
    above: float | None = None
    """A bound that is itself left out."""
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        """Returns whether a value is such a number; True and False are none."""
        kind = numbers.Integral if self.whole else numbers.Real
        if isinstance(value, bool) or not isinstance(value, kind):
            return False
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        is_finite = isinstance(number, int) or math.isfinite(number)
        is_above = self.above is None or number > self.above
        return is_finite and is_above and self.least <= number <= self.most

    @property
    def kind(self) -> str:
        """The kind of number in words."""
        return "a whole number" if self.whole else "a finite number"

    @property
    def bounds(self) -> str:
        """The bounds in words; empty where there are none."""
        words = []
        if self.above is not None:
            words.append(f"above {self.above:g}")
        if self.least > -sys.float_info.max:
            words.append(f"at least {self.least:g}")
        if self.most == MAX_WHOLE:
            words.append("of at most 64 bits")
        elif self.most < sys.float_info.max:
            words.append(f"at most {self.most:g}")
        return ", ".join(words)

    def __str__(self) -> str:
        """Returns the domain in words: `a finite number, above 0`."""
        return ", ".join(filter(None, [self.kind, self.bounds]))

    def read(self, text: str) -> float | int | None:
        """Returns the number that a text is; None for one that is none, or outside of the domain."""
        if self.whole and not _WHOLE.fullmatch(text.strip()):
            return None
        value = whole_in(text) if self.whole else number_in(text)
        return value if value is not None and value in self else None

    def check(self, place: str, value: object) -> None:
        """Raises `Invalid` for a value outside of the domain; `place`: the option or argument that has it."""
        if value not in self:
            raise Invalid(place, f"must be {self.kind}", value, self.bounds)


FINITE = Domain()
POSITIVE = Domain(above=0)
NOT_NEGATIVE = Domain(least=0)
COUNT = Domain(least=0, most=MAX_WHOLE, whole=True)


def number_in(text: str) -> float | None:
    """Returns the finite number that a text is, in the digits 0 to 9; None where it is none."""
    if _NUMBER.fullmatch(text.strip()) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def whole_in(text: str) -> int | None:
    """Returns the whole number of at most 64 bits that a text is, to its last digit; None where it is none.

    `7.0` and `1e3` are whole numbers too, but only below 2**53, where floats tell whole numbers apart.
    """
    text = text.strip()
    if _WHOLE.fullmatch(text):
        value = int(text) if len(text) <= _MAX_DIGITS + 1 else None
        return value if value is not None and abs(value) <= MAX_WHOLE else None
    number = number_in(text)
    if number is None or number % 1 or abs(number) >= EXACT:
        return None
    return int(number)


def in_one_form(text: str) -> str:
    """Returns a number in one form for its spellings, 0.1 of 0.10, and any other text as it is.

    One of 2**53 or more in plain digits keeps them all, and is another than the same with a point or an exponent.
    """
    number = number_in(text)
    if number is None:
        return text
    if abs(number) >= EXACT and _WHOLE.fullmatch(text):
        return f"{'-' * text.startswith('-')}{text.lstrip('+-0')}"
    return repr(number)
