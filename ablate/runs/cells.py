"""Cells of tables as people write them: percentages, decimal commas, words for a missing value, means with a spread."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import pandas as pd

from ablate.base.errors import Invalid
from ablate.report.words import message

MISSING = ("none", "null", "n/a", "na", "#n/a", "<na>", "-", "--", "–", "—", "?", "missing")
"""Words for a missing value, in small letters; `nan` says that a run diverged."""
_COMMA = re.compile(r"[-+−]?\d+,\d+([eE][-+]?\d+)?%?")
_NUMBER = r"[-+−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_PERCENT = re.compile(rf"({_NUMBER})\s*%")
_SPREAD = re.compile(rf"\$?\s*({_NUMBER})\s*%?\s*(?:±|\+/-|\+-|\\pm)\s*({_NUMBER})\s*%?\s*\$?")
_IN_BRACKETS = re.compile(rf"({_NUMBER})\s*%?\s*\(\s*±?\s*({_NUMBER})\s*%?\s*\)")


@dataclass(frozen=True)
class Cleaned:
    """A table whose cells are plain text and numbers, and what was taken for what."""

    table: pd.DataFrame
    notes: list[str]


def cleaned(table: pd.DataFrame, *, decimal_commas: bool) -> Cleaned:
    """Returns a table of text without words for missing values, percent signs and decimal commas. Raises `Invalid`.

    decimal_commas: whether `0,91` is a number, as in a table that commas do not separate.
    """
    columns: dict[str, pd.Series] = {}
    missing: dict[str, None] = {}
    percent: list[str] = []
    commas: list[str] = []
    for name in table:
        cells = table[name].str.strip()
        is_missing = cells.str.lower().isin(MISSING)
        is_present = ~is_missing & (cells != "")
        # A column of names may hold `none`, which is a variant.
        is_of_numbers = is_present.any() and cells[is_present].map(_is_like_a_number).all()
        if is_of_numbers:
            missing |= dict.fromkeys(cells[is_missing])
            cells = cells.mask(is_missing, "").str.replace("−", "-")
        if is_of_numbers and decimal_commas and cells[is_present].map(_COMMA.fullmatch).any():
            cells = cells.str.replace(",", ".")
            commas.append(str(name))
        is_percent = cells[is_present].str.endswith("%")
        if is_of_numbers and is_percent.any():
            if not is_percent.all():
                mixed = [*cells[is_present][is_percent].head(1), *cells[is_present][~is_percent].head(1)]
                hint = "Write all with the sign, or all without"
                raise Invalid("RUNS", f"has numbers with and without % in {name}", mixed, hint=hint)
            cells = cells.str.replace(r"\s*%", "", regex=True)
            percent.append(str(name))
        columns[str(name)] = cells
    notes = []
    if missing:
        notes.append(message("analyse.missing", list(missing)))
    if percent:
        notes.append(message("analyse.percent_signs", percent))
    if commas:
        notes.append(message("analyse.decimal_commas", commas))
    return Cleaned(pd.DataFrame(columns, table.index), notes)


def number_in(text: str) -> float:
    """Returns the float that is nearest to the number in a text; NaN where it is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Returns whether a text is a number; `nan` is one, and an empty text is none."""
    return not math.isnan(number_in(text)) or text.lower() in ("nan", "-nan", "+nan")


def mean_and_spread(text: str) -> tuple[str, str] | None:
    """Returns mean and standard deviation of `91.0 ± 0.4`, `91.0 +/- 0.4` or `91.0 (0.4)`; None for another text."""
    match = _SPREAD.fullmatch(text.strip()) or _IN_BRACKETS.fullmatch(text.strip())
    return (match[1].replace("−", "-"), match[2]) if match else None


def _is_like_a_number(text: str) -> bool:
    plain = text.replace("−", "-")
    if is_number(plain) or plain.lower() in ("inf", "-inf"):
        return True
    return bool(_PERCENT.fullmatch(plain) or _COMMA.fullmatch(plain))
