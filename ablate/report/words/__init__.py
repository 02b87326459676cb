"""What a report says: sentences (a Jinja macro for each code, in a file for each subject beside this one), and tables.

Templates hold words, lists and plurals, and no rule: what is said is decided where `message` is called. Columns say
what is shown of a row, once for page, markdown, terminal, MLflow and papers; rows of a frame and of a CSV file give
the same.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ablate.base import wording
from ablate.core.short_names import with_name
from ablate.core.spelling import as_sentence, spelled, spelled_paths

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_NAMES = 8
"""The most variants that a sentence names; the table has all."""
_ROUNDING_ERROR = 1e-6
"""The share of a number within which its uncertainty is rounding error, and says nothing of its digits."""
_LEAST_PLAIN = 1e-3
"""The size from which on a number has no exponent, however small its uncertainty is."""


def message(code: str, *values: Any, **named: Any) -> str:
    """Returns the words of `file.macro` for these values, as one line.

    >>> message("reasons.few", n=1, least=2, unit="seed")
    '1 seed, at least 2 needed'
    """
    file, _, name = code.partition(".")
    words = re.sub(r"[ \n]+", " ", getattr(_module(file), name)(*values, **named))
    # An optional part that is missing leaves its blank before a mark.
    return re.sub(r" ([,;)]|\.(?=\s|$))", r"\1", words).strip()


def codes(file: str) -> set[str]:
    """Returns the codes that a file has words for."""
    return {name for name in vars(_module(file)) if not name.startswith("_")}


def some(words: Iterable[str], most: int = MAX_NAMES) -> str:
    """Returns `a, b and 3 more`; a single one is never left out, as its name is as short."""
    named = list(words)
    if len(named) > most + 1:
        named[most:] = [f"{len(named) - most} more"]
    return wording.joined(named)


def paragraph(*sentences: str) -> str:
    """Returns sentences as one paragraph; empty ones are left out."""
    return " ".join(filter(None, sentences))


def from_to(counts: Iterable[int]) -> str:
    """Returns `5`, or `3 to 8` of counts that differ; nothing without one."""
    known = sorted({*counts})
    return " to ".join(map(str, dict.fromkeys([*known[:1], *known[-1:]])))


def counted(count: object, noun: str, ending: str = "s") -> str:
    """Returns `1 seed`, `2 seeds`; a count may be words."""
    return f"{count} {noun}" if count in (1, "1") else f"{count} {noun}{ending}"


def plural(items: Sized, noun: str, ending: str = "s") -> str:
    """Returns the noun for so many items."""
    return noun if len(items) == 1 else f"{noun}{ending}"


def templates(folder: Path, **options: Any) -> Environment:
    """Returns the templates of a folder, which are compiled once and for all."""
    from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

    class Cache(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Any) -> None:
            with suppress(OSError):  # where nothing can be written, as Python itself does
                super().dump_bytecode(bucket)

    # Beside what Python has compiled: to compile them takes an eighth of a second.
    cache = Cache(str(Path(__file__).parent / "__pycache__"))
    loader = FileSystemLoader(folder)
    return Environment(loader=loader, undefined=StrictUndefined, bytecode_cache=cache, **options)


@cache
def _module(file: str) -> ModuleType:
    environment = templates(Path(__file__).parent)
    environment.filters |= {
        "counted": counted,
        "plural": plural,
        "exact": wording.exact,
        "significant": wording.significant,
        "brief": wording.brief,
        "compact": lambda amount: wording.compact(amount, 2),
        "rate": lambda share: wording.exact(round(share, 2)),
        "number": wording.number,
        "percent": wording.in_percent,
        "times": wording.times,
        "amount": amount,
        "change": wording.percent,
        "duration": wording.duration,
        "difference": difference,
        "joined": lambda words: wording.joined([str(word) for word in words]),
        "some": some,
        "with_name": with_name,
        "spelled": spelled,
        "spelled_paths": lambda paths: list(spelled_paths(paths).values()),
        "as_sentence": as_sentence,
        "grouped": lambda count: f"{count:,.0f}",
    }
    found: Any = environment.get_template(f"{file}.j2").module
    return found


def level_word(level: float) -> str:
    """Returns the level of an interval in percent, `95`, `99.3`, `99.95`: below 100, whatever the number of digits."""
    outside = 100 * (1 - level)
    if outside <= 0 or outside >= 0.1:
        return f"{100 * level:.3g}"
    return f"{100 * level:.{-math.floor(math.log10(outside))}f}"


NOTHING = "–"
"""The text of a cell without a value."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of a table: `show` gives the text of its cell; None, the value under its key.

    words: its text may take several lines, which keep room for a few words each. below: it has a line of its own below
    the row. spare: it is left out where there is little room; varying: where all rows have one value.
    """

    key: str
    heading: str
    numeric: bool = False
    words: bool = False
    below: bool = False
    show: Callable[[Row], str] | None = None
    spare: bool = False
    varying: bool = False


CONDITION_COLUMN = Column("task", "Condition", varying=True)
"""The column of the condition that a row is about, where rows differ in it."""


@dataclass(frozen=True)
class Table:
    """Strings by column key, ready to be escaped for their medium; the first column names its row.

    `title` of a row is what its name stands for, shown by the page on hover; `source` is the file of the study's folder
    that holds the numbers, in full; `across` is the word for what each spare column stands for, where they are of one
    kind, so that some that have no room are missed.
    """

    columns: list[Column]
    rows: list[dict[str, str]]
    caption: str = ""
    source: str = ""
    across: str = ""


def tabulated(columns: Iterable[Column], rows: Sequence[Row], caption: str = "", source: str = "") -> Table:
    """Returns `rows` as strings. A column in which no row has anything is left out."""
    first, *others = columns
    told = [first, *(column for column in others if not column.varying or _varies(column, rows))]
    texts = [{column.key: _cell(column, row) for column in told} for row in rows]
    shown = [first]
    for column in told[1:]:
        if any(cells[column.key] not in ("", NOTHING) for cells in texts):
            shown.append(column)
    for cells, row in zip(texts, rows, strict=True):
        cells["title"] = text(row.get(first.key))
    return Table(shown, texts, caption, source)


def _varies(column: Column, rows: Sequence[Row]) -> bool:
    """Returns whether the rows differ in a column."""
    return len({text(row.get(column.key)) for row in rows}) > 1


def _cell(column: Column, row: Row) -> str:
    """Returns the text of a cell."""
    return text(row.get(column.key)) if column.show is None else column.show(row)


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Returns the rows of a frame, or of a sequence of mappings, as dicts."""
    if not hasattr(table, "to_dict"):
        return [dict(row) for row in table]
    # What `table.to_dict("records")` gives, which takes milliseconds for a few rows of many columns.
    columns = [column.tolist() for _, column in table.items()]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]


# Text


def text(value: Any) -> str:
    """Returns a value as one line without control characters; nothing for None and NaN."""
    if value is None or value != value:
        return ""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(value)).strip()


def in_lines(name: str, width: int, most: int) -> str:
    """Returns `name` in at most so many lines of `width` characters; the last says by `…` that something is missing."""
    lines = textwrap.wrap(text(name), width)
    last = [f"{lines[most - 1][: width - 1]}…"] if len(lines) > most else lines[most - 1 :]
    return "\n".join([*lines[: most - 1], *last])


# Numbers


def number(value: Any) -> float | None:
    """Returns a cell of a frame or of a CSV file as a number; None where it has none."""
    if value is None or value == "":
        return None
    result = float(value)
    return None if math.isnan(result) else result


def is_true(value: Any) -> bool:
    """Returns a flag of a frame or of a CSV file."""
    return str(value).lower() in ("true", "1", "1.0")


def decimals(low: Any, high: Any) -> int:
    """Returns the places at which the half-width of an interval keeps two significant digits; 3 without a width."""
    lower = number(low)
    upper = number(high)
    if lower is None or upper is None or math.isclose(lower, upper, rel_tol=_ROUNDING_ERROR):
        return wording.decimals(math.nan)
    return _plain_places(max(abs(lower), abs(upper)), wording.decimals((upper - lower) / 2))


def decimals_of(value: float, spread: float) -> int:
    """Returns the places of a number at which its spread keeps two significant digits; 3 without a spread."""
    if is_rounding_error(spread, value):
        return wording.decimals(math.nan)
    return _plain_places(value, wording.decimals(spread))


def is_rounding_error(uncertainty: float, value: float) -> bool:
    """Returns whether an uncertainty is no larger than the rounding error of the number that it is of."""
    return uncertainty <= _ROUNDING_ERROR * abs(value)


def _plain_places(value: float, places: int) -> int:
    """Returns the places of a number, no more than are shown without an exponent where it is not small."""
    return min(places, wording.MAX_DECIMALS) if abs(value) >= _LEAST_PLAIN else places


def decimals_beside_0(low: Any, high: Any) -> int:
    """Returns the places of a difference: more where an end would read 0.000 although the interval excludes 0."""
    places = decimals(low, high)
    ends = [number(low) or 0.0, number(high) or 0.0]
    nearest = min(map(abs, ends))
    if nearest == 0 or min(ends) < 0 < max(ends) or round(nearest, places) != 0:
        return places
    enough = -math.floor(math.log10(nearest))
    return enough if enough <= max(places, wording.MAX_DECIMALS) else places


def shown(value: Any, say: Callable[[float], str]) -> str:
    """Returns a number in the words of `say`; `NOTHING` where there is none."""
    known = number(value)
    return NOTHING if known is None else say(known)


def fixed(value: Any, places: int) -> str:
    """Returns a number with `places` decimals: −0.021."""
    return shown(value, lambda known: wording.number(known, _plain_places(known, places)))


def plus_minus(mean: float | None, spread: float | None) -> str:
    """Returns `0.941 ± 0.006`, a mean with its standard deviation, where that is known."""
    if mean is None or spread is None:
        return fixed(mean, decimals(None, None))
    places = decimals_of(mean, spread)
    return f"{fixed(mean, places)} ± {fixed(spread, places)}"


def significant(value: Any) -> str:
    """Returns a number with two significant digits."""
    return shown(value, wording.significant)


def difference(diff: Any, low: Any, high: Any) -> str:
    """Returns `+0.012 [−0.003, 0.027]`, with the digits that the interval supports."""
    places = decimals_beside_0(low, high)
    size = shown(diff, lambda known: wording.plus(known, places))
    ends = interval(low, high, places)
    return size if NOTHING in (size, ends) else f"{size} {ends}"


def interval(low: Any, high: Any, places: int) -> str:
    """Returns `[−0.003, 0.027]`."""
    return NOTHING if number(low) is None else f"[{fixed(low, places)}, {fixed(high, places)}]"


def count(value: Any) -> str:
    """Returns a whole number, its digits in groups of three."""
    return shown(value, lambda known: f"{known:,.0f}" if math.isfinite(known) else "∞")


def amount(value: str) -> str:
    """Returns a value of a setting, a whole number with its digits in groups of three."""
    return f"{int(value):,}" if value.isdecimal() else value


def compact(amount: float) -> str:
    """Returns `369k`, to three digits."""
    return wording.compact(amount, 3) if amount >= 1 else wording.significant(amount)
