"""Numbers and counts as sentences, tables and axes show them: no more digits than their uncertainty supports."""

import math
from collections.abc import Sequence

MAX_DECIMALS = 6
MINUS = "−"


def decimals(uncertainty: float) -> int:
    """Returns the decimals that show two significant digits of `uncertainty` (half the width of an interval)."""
    if not math.isfinite(uncertainty) or uncertainty < 1e-12:
        return 3
    needed = 1 - math.floor(math.log10(uncertainty))
    return min(max(0, needed), MAX_DECIMALS)


def number(value: float, places: int) -> str:
    """Returns `value` to so many decimals: −0.021; what rounds to zero has no sign: 0.000."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    digits = f"{abs(value):.{places}f}"
    is_negative = value < 0 and bool(digits.strip("0."))
    return f"{MINUS}{digits}" if is_negative else digits


def exact(value: float) -> str:
    """Returns a number that someone chose, such as a margin, with all its digits: 0.02."""
    sign = MINUS if value < 0 else ""
    return f"{sign}{abs(value):.6g}"


def plus(value: float, places: int) -> str:
    """Returns a difference to so many decimals, with its sign: +0.012."""
    text = number(value, places)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def p_value(p: float) -> str:
    """Returns a p: `0.031`, `<0.001`, with enough digits to tell its side of 0.05."""
    if p < 0.001:
        return "<0.001"
    is_close = abs(p - 0.05) < 0.0005
    return number(p, 5 if is_close else 3)


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 seed`, `2 seeds`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def joined(words: Sequence[str]) -> str:
    """Returns words in a row: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def brief(value: float) -> str:
    """Returns three significant digits, of whole numbers below a million all: 0.0031, 1e−05, 4096."""
    # A logarithm and back leaves 4999.999… of 5000.
    rounded = round(value) if math.isclose(value, round(value), rel_tol=1e-9) else value
    is_whole = isinstance(rounded, int) and abs(rounded) < 1_000_000
    text = str(rounded) if is_whole else f"{value:.3g}"
    return text.replace("-", MINUS)


def significant(value: float) -> str:
    """Returns two significant digits; with an exponent only where it would not be read otherwise."""
    if not math.isfinite(value) or value == 0:
        return number(value, 0)
    places = 1 - math.floor(math.log10(abs(value)))
    if -3 <= places <= 6:
        return number(value, max(0, places))
    return f"{value:.1e}".replace("-", MINUS)


def compact(value: float, digits: int = 4) -> str:
    """Returns a number in few characters, with a unit: 26.4k, 1.2M."""
    for unit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.{digits}g}{suffix}"
    return f"{value:.{digits}g}"


def percent(fraction: float, places: int = 1) -> str:
    """Returns a difference as a percentage with its sign."""
    digits = f"{abs(100 * fraction):.{places}f}"
    if float(digits) == 0:
        return "0 %"
    sign = "+" if fraction > 0 else MINUS
    return f"{sign}{digits} %"


def times(factor: float) -> str:
    """Returns a factor of something else: `× 0.93`, `× 12`."""
    return f"× {factor:.2f}" if factor < 10 else f"× {factor:,.0f}"


def in_percent(share: float) -> str:
    """Returns a share as a percentage to two digits: `1.3 %`, `2 %`."""
    rounded = float(f"{100 * share:.2g}")
    return f"{exact(rounded)} %"


def duration(seconds: float) -> str:
    """Returns a time of seconds to hours: `45 s`, `3 min`, `2 h 10 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:.0f} min"


def seconds(time: float) -> str:
    """Returns a short time with three significant digits: `412 µs`, `3.21 ms`, `12.0 s`."""
    power = next((power for power in (0, 1, 2) if time >= 0.9995 * 1000**-power), 3)
    value = time * 1000**power
    places = 0
    if value > 0:
        places = min(max(0, 2 - math.floor(math.log10(value) + 1e-4)), 3)
    unit = ("s", "ms", "µs", "ns")[power]
    return f"{value:.{places}f} {unit}"


def size(count: int) -> str:
    """Returns a number of bytes: `812 B`, `3.4 kB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    power = next((power for power in (1, 2) if count < 999_950 * 1000 ** (power - 1)), 3)
    return f"{count / 1000**power:.1f} {' kMG'[power]}B"
