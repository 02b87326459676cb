"""Cells of tables as people write them: percentages, decimal commas, words for a missing value, means with a spread."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number

import pandas as pd

from ablate.base.errors import Invalid
from ablate.report.words import message
from ablate.runs.number_marks import comma_readings, is_marked_number, is_not_finite, without_marks

MISSING = ("none", "null", "n/a", "na", "#n/a", "<na>", "-", "--", "–", "—", "?", "missing")
"""Words for a missing value, in small letters; `nan` says that a run diverged."""
NO_VALUE = "n/a"
"""The cell of a measured column that says itself that there is no value, so that none before it counts."""
BLANK = ("", NO_VALUE)
"""The cells of a measured column that have no value."""
_CUT_AT_POINT = re.compile(r"[-+−]?\d+[.,]")
_CUT_IN_EXPONENT = re.compile(r"[-+−]?\d+[.,]?\d*[eE][-+]?")
_DECIMALS = re.compile(r"\d[.,]\d")
_FLAGS = {"true": "1", "false": "0"}
_NUMBER = r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_SPREAD = re.compile(rf"\$?\s*({_NUMBER})\s*%?\s*(?:±|\+/-|\+-|\\pm)\s*({_NUMBER})\s*%?\s*\$?")
_TYPESETTING = re.compile(r"\\(?:mathbf|textbf|boldsymbol|bf|underline|scriptsize|tiny|small)\b|[${}_*]")
"""What LaTeX and Markdown write around a number: `$\\mathbf{91.2}_{\\pm 0.4}$`."""
_NO_THOUSANDS = re.compile(r",(?!\d{3}(?!\d))|(?<!\d)0,")
"""A comma that is a decimal point: other than three digits follow, or nothing but a zero precedes."""
_IN_BRACKETS = re.compile(rf"({_NUMBER})\s*%?\s*\(\s*±?\s*({_NUMBER})\s*%?\s*\)")


@dataclass(frozen=True)
class Cleaned:
    """A table whose cells are plain text and numbers, and what was taken for what."""

    table: pd.DataFrame
    notes: list[str]
    percent: Sequence[str] = ()
    """The columns whose percent signs were left out."""


def cleaned(table: pd.DataFrame, delimiter: str, baseline: str = "") -> Cleaned:
    """Returns a table as text without words for missing values, percent signs, decimal commas and marks of thousands.

    - table: cells as their format has them. A number that the format types is the number that it is: signs and marks
      are read in text alone, and text decides nothing about numbers beside it.
    - delimiter: what parts the cells: a comma where none of theirs is a decimal point.
    - baseline: the name of the baseline: a column in which it stands has names, and stays as it is written.
    """
    columns: dict[str, pd.Series] = {}
    missing: dict[str, None] = {}
    percent: list[str] = []
    with_commas: list[str] = []
    numbers: dict[str, pd.Series] = {}
    for name in table:
        is_typed = table[name].map(_is_typed_number)
        cells = table[name].map(as_text)
        columns[str(name)] = cells
        is_missing = cells.str.lower().isin(MISSING)
        is_present = ~is_missing & (cells != "")
        # A column of names may hold `none`, which is a variant.
        present = cells[is_present]
        if len(present) and _are_spreads_with_commas(present):
            columns[str(name)] = cells.str.replace(",", ".")
            with_commas.append(str(name))
        if present.empty or not present.map(_is_like_a_number).all():
            continue
        if baseline and not is_number(baseline) and (cells == baseline).any():
            continue
        missing |= dict.fromkeys(cells[is_missing])
        cells = cells.mask(is_missing, "").str.replace("−", "-")
        if _are_percent(str(name), present):
            cells = cells.str.replace(r"\s*%", "", regex=True)
            percent.append(str(name))
        columns[str(name)] = cells
        written = cells[(cells != "") & ~is_typed]
        if len(written):
            numbers[str(name)] = written
    notes = []
    if with_commas:
        notes.append(message("analyse.decimal_commas", with_commas))
    if missing:
        notes.append(message("analyse.missing", list(missing)))
    if percent:
        notes.append(message("analyse.percent_signs", percent))
    notes += _without_marks(columns, numbers, delimiter)
    return Cleaned(pd.DataFrame(columns, table.index), notes, percent)


def _are_spreads_with_commas(present: pd.Series) -> bool:
    """Returns whether most cells of a column are `91,2 ± 0,4`, none has a point, and some comma marks no thousands."""
    if not present.str.contains(",").any() or present.str.contains(".", regex=False).any():
        return False
    is_spread = present.map(lambda text: mean_and_spread(text.replace(",", ".")) is not None)
    return bool(2 * is_spread.sum() >= len(present) and present.str.contains(_NO_THOUSANDS).any())


def are_plain(cells: Iterable[object]) -> bool:
    """Returns whether no text among cells is a number or a word for a missing value, so that none is read as such."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    return not any(text.strip().lower() in MISSING or _is_like_a_number(text.strip()) for text in texts)


def _are_percent(name: str, present: pd.Series) -> bool:
    """Returns whether the finite numbers of a column end with a percent sign. Raises `Invalid` where only some do."""
    finite = present[~present.map(is_not_finite)]
    is_percent = finite.map(_ends_with_percent).astype(bool)
    if is_percent.any() and not is_percent.all():
        mixed = [*finite[is_percent].head(1), *finite[~is_percent].head(1)]
        hint = "Write all with the sign, or all without"
        raise Invalid("RUNS", f"has numbers with and without % in {name}", mixed, hint=hint)
    return bool(is_percent.any())


def _without_marks(
    columns: dict[str, pd.Series], numbers: Mapping[str, pd.Series], delimiter: str
) -> list[str]:
    """Rewrites columns of numbers with decimal points and without marks of thousands; returns what was taken for what.

    numbers: column → its cells that are numbers, written as text.
    """
    commas: list[str] = []
    thousands: list[str] = []
    texts = {name: cells.tolist() for name, cells in numbers.items()}
    readings = comma_readings(texts, separates=delimiter == ",", is_usual=delimiter == ";")
    for name, reading in readings.of_columns.items():
        marked = numbers[name]
        plain = pd.Series(without_marks(marked, reading), marked.index, dtype=marked.dtype)
        columns[name] = plain.reindex(columns[name].index).fillna(columns[name])
        if reading == "decimal" and marked.str.contains(",").any():
            commas.append(name)
        if marked.str.contains("," if reading == "thousands" else ".", regex=False).any():
            thousands.append(name)
    notes = []
    if commas:
        notes.append(message("analyse.decimal_commas", commas))
    if thousands:
        notes.append(message("analyse.thousands", thousands))
    if readings.by_size:
        notes.append(message("analyse.thousands_by_size", readings.by_size))
    if readings.doubtful_points:
        notes.append(message("analyse.unclear_points", readings.doubtful_points))
    return notes


def as_text(cell: object) -> str:
    """Returns a value as text, numbers with all their digits; empty for none."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return "" if cell is None else "nan"
    if isinstance(cell, str):
        # Half of a surrogate pair, which no column of text can hold, becomes `?`.
        return cell.encode(errors="replace").decode().strip()
    if isinstance(cell, (list, dict)):
        return json.dumps(cell, default=str)
    return repr(cell) if isinstance(cell, float) else str(cell)


def number_in(text: str) -> float:
    """Returns the float that is nearest to the number in a text; NaN where it is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Returns whether a text is a number; `nan` is one, and an empty text is none."""
    return not math.isnan(number_in(text)) or text.lower() in ("nan", "-nan", "+nan")


def is_cut(text: str, earlier: Sequence[str]) -> bool:
    """Returns whether a number ends before its digits do, as `0.` where a file was cut within 0.91.

    earlier: the values before it. Where none of them has decimals, `1.` is a way to write whole numbers.
    """
    written = text.strip()
    if _CUT_IN_EXPONENT.fullmatch(written):
        return True
    if not _CUT_AT_POINT.fullmatch(written):
        return False
    return not earlier or any(_DECIMALS.search(value) for value in earlier)


def are_flags(cells: pd.Series) -> bool:
    """Returns whether a column holds true and false alone, and cells without a value."""
    present = cells[~cells.isin(BLANK)]
    return len(present) > 0 and bool(present.str.lower().isin([*_FLAGS]).all())


def number_of_flag(text: str) -> str:
    """Returns `1` for true and `0` for false, and any other text as it is."""
    return _FLAGS.get(text.lower(), text)


def mean_and_spread(text: str) -> tuple[str, str] | None:
    """Returns mean and standard deviation of `91.0 ± 0.4`, `91.0 +/- 0.4` or `91.0 (0.4)`; None for another text."""
    plain = _TYPESETTING.sub(" ", text).strip()
    match = _SPREAD.fullmatch(plain) or _IN_BRACKETS.fullmatch(plain)
    return (match[1].replace("−", "-"), match[2]) if match else None


def is_spread_of_last_digits(text: str) -> bool:
    """Returns whether the brackets of `91.2(4)` may hold an error of the last digits, here 0.4, as physicists write."""
    match = _IN_BRACKETS.fullmatch(text.strip())
    return match is not None and "." in match[1] and "." not in match[2]


def _is_typed_number(cell: object) -> bool:
    return isinstance(cell, Number) and not isinstance(cell, bool)


def _ends_with_percent(text: str) -> bool:
    return text.endswith("%")


def _is_like_a_number(text: str) -> bool:
    plain = text.replace("−", "-")
    if is_number(plain) or plain.lower() in ("inf", "-inf"):
        return True
    return bool(_PERCENT.fullmatch(plain) or is_marked_number(plain))
