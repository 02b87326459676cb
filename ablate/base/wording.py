"""Numbers and counts as sentences, tables and axes show them: no more digits than their uncertainty supports."""

import math
from collections.abc import Collection, Sequence

MAX_DECIMALS = 6
"""The decimals from which on a number is shown with an exponent."""
MAX_DIGITS = 9
"""The digits before the point from which on a number is shown with an exponent."""
MINUS = "−"


def decimals(uncertainty: float) -> int:
    """Returns the decimals that show two significant digits of `uncertainty` (half the width of an interval)."""
    if not math.isfinite(uncertainty) or uncertainty < 1e-30:
        return 3
    return max(0, 1 - math.floor(math.log10(uncertainty)))


def number(value: float, places: int) -> str:
    """Returns `value` with so many decimals: −0.021, 12,300, 1.2e−9; zero after rounding has no sign: 0.000."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if places > MAX_DECIMALS:
        digits = _with_exponent(value, places)
    elif abs(value) >= 10**MAX_DIGITS:
        digits = _with_exponent(value, 3 - math.floor(math.log10(abs(value))))
    else:
        separator = "," if abs(value) >= 10_000 else ""
        digits = f"{abs(value):{separator}.{places}f}"
    is_negative = value < 0 and bool(digits.strip("0."))
    return f"{MINUS}{digits}" if is_negative else digits


def _with_exponent(value: float, places: int) -> str:
    """Returns `value` without its sign, to so many decimals, with an exponent: 1.2e−9; 0 where it rounds to zero."""
    if round(value, places) == 0:
        return "0"
    digits = places + math.floor(math.log10(abs(value)))
    return tidy(f"{abs(value):.{max(0, digits)}e}")


def tidy(formatted: str) -> str:
    """Returns a formatted number as text has it: `1e-05` is 1e−5, `1e+15` is 1e15."""
    mantissa, mark, exponent = formatted.partition("e")
    if not mark:
        return formatted.replace("-", MINUS)
    return f"{mantissa}e{int(exponent)}".replace("-", MINUS)


def exact(value: float) -> str:
    """Returns a number that someone chose, such as a margin, with all its digits: 0.02."""
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value)).replace("-", MINUS)
    return tidy(f"{value:.6g}")


def plus(value: float, places: int) -> str:
    """Returns a difference with its sign and so many decimals: +0.012."""
    text = number(value, places)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def p_value(p: float) -> str:
    """Returns a p-value with enough digits to tell its side of 0.05: `0.031`, `<0.001`."""
    if p < 0.001:
        return "<0.001"
    is_close = abs(p - 0.05) < 0.0005
    return number(p, 5 if is_close else 3)


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 seed`, `2 seeds`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def joined(words: Sequence[str]) -> str:
    """Returns words as an enumeration: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def seeds_in_words(seeds: Collection[int]) -> str:
    """Returns different seeds, ascending: `0–4`, or `0, 3, 7` where they do not follow one another."""
    ordered = sorted(seeds)
    if len(ordered) > 1 and ordered[-1] - ordered[0] + 1 == len(ordered):
        return f"{ordered[0]}–{ordered[-1]}"
    return ", ".join(map(str, ordered))


def brief(value: float) -> str:
    """Returns a number with three significant digits, a whole one below a million with all: 0.0031, 1e−5, 4096."""
    # A logarithm and back leaves 4999.999… of 5000.
    rounded = round(value) if math.isclose(value, round(value), rel_tol=1e-9) else value
    is_whole = isinstance(rounded, int) and abs(rounded) < 1_000_000
    return tidy(str(rounded) if is_whole else f"{value:.3g}")


def significant(value: float) -> str:
    """Returns a number with two significant digits; with an exponent only where it would be long without."""
    if not math.isfinite(value) or value == 0:
        return number(value, 0)
    places = 1 - math.floor(math.log10(abs(value)))
    if -3 <= places <= 6:
        return number(value, max(0, places))
    return tidy(f"{value:.1e}")


def compact(value: float, digits: int = 4) -> str:
    """Returns a number in few characters, with a unit: 26.4k, 104k, 1.2M."""
    rounded = _rounded(value, max(3, digits))
    for unit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(rounded) >= unit:
            scaled = value / unit
            whole_digits = len(f"{abs(scaled):.0f}")
            return tidy(f"{scaled:.{max(digits, whole_digits)}g}") + suffix
    return tidy(f"{value:.{max(digits, 3)}g}")


def _rounded(value: float, digits: int) -> float:
    """Returns a number rounded to so many significant digits."""
    return float(f"{value:.{digits}g}")


def percent(fraction: float, places: int = 1) -> str:
    """Returns a difference as a percentage with its sign."""
    digits = f"{abs(100 * fraction):.{places}f}"
    if float(digits) == 0:
        return "0 %"
    sign = "+" if fraction > 0 else MINUS
    return f"{sign}{digits} %"


def times(factor: float) -> str:
    """Returns a factor with three significant digits at most: `× 0.93`, `× 12`, `× 0.0041`."""
    if factor >= 9.995:
        return f"× {number(factor, 0)}"
    return f"× {factor:.2f}" if factor >= 0.095 else f"× {significant(factor)}"


def in_percent(share: float) -> str:
    """Returns a share as a percentage with two significant digits: `1.3 %`, `2 %`."""
    rounded = float(f"{100 * share:.2g}")
    return f"{exact(rounded)} %"


def duration(seconds: float) -> str:
    """Returns a time of seconds to hours: `0.4 s`, `45 s`, `3 min`, `2 h 10 min`."""
    if 0 < seconds < 0.95:
        return f"{significant(seconds)} s"
    if seconds < 89.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"


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
