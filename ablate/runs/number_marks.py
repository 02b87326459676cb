"""What commas and points in the numbers of a table are: decimal points, or marks of thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

Reading = Literal["decimal", "thousands"]

_DECIMAL_COMMA = re.compile(r"[-+−]?\d+,\d+([eE][-+]?\d+)?\s*%?")
_GROUPED_BY_COMMAS = re.compile(r"[-+−]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*%?")
_GROUPED_BY_POINTS = re.compile(r"[-+−]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?\s*%?")
_PLAIN_THOUSANDS = re.compile(r"[-+−]?\d{4,}(\.\d*)?\s*%?")


def is_marked_number(text: str) -> bool:
    """Returns whether a text is a number that has a decimal comma, or marks of thousands."""
    return any(form.fullmatch(text) for form in (_DECIMAL_COMMA, _GROUPED_BY_COMMAS, _GROUPED_BY_POINTS))


def comma_readings(
    columns: Mapping[str, Sequence[str]], *, separates: bool, is_usual: bool
) -> dict[str, Reading]:
    """Returns column → how its commas are read, of columns of numbers; those that stay unclear are left out.

    A column says it itself, as `0,91` and `1,234.5` do. Where it leaves both open, as `12,901` does, the other columns
    of the table decide, which write numbers in one way.

    - separates: whether commas part the cells of the table, so that none is a decimal point.
    - is_usual: whether decimal commas are usual in such a table, as where semicolons part the cells.
    """
    possible = {name: _readings(cells, separates) for name, cells in columns.items()}
    evident = {next(iter(readings)) for readings in possible.values() if len(readings) == 1}
    if any(_has_decimal_points(cells) for cells in columns.values()):
        evident.add("thousands")
    readings: dict[str, Reading] = {}
    for name, of_column in possible.items():
        decided = of_column if len(of_column) == 1 else of_column & evident
        if len(decided) == 1:
            (readings[name],) = decided
        elif of_column and not evident and is_usual and all("," in cell for cell in columns[name]):
            readings[name] = "decimal"
    return readings


def without_marks(cells: Iterable[str], reading: Reading) -> list[str]:
    """Returns numbers without marks of thousands, and with decimal points."""
    if reading == "thousands":
        return [cell.replace(",", "") for cell in cells]
    return [cell.replace(".", "").replace(",", ".") for cell in cells]


def _readings(cells: Sequence[str], separates: bool) -> set[Reading]:
    """Returns how the commas of a column may be read, with the points beside them."""
    marked = [cell for cell in cells if "," in cell]
    pointed = [cell for cell in cells if "." in cell]
    readings: set[Reading] = set()
    if not separates and all(_GROUPED_BY_POINTS.fullmatch(cell) for cell in pointed):
        is_decimal = all(_DECIMAL_COMMA.fullmatch(cell.replace(".", "")) for cell in marked)
        if is_decimal and (marked or pointed):
            readings.add("decimal")
    is_grouped = all(_GROUPED_BY_COMMAS.fullmatch(cell) for cell in marked)
    if marked and is_grouped and not any(_PLAIN_THOUSANDS.fullmatch(cell) for cell in cells):
        readings.add("thousands")
    if pointed and not marked and readings and not any(cell.count(".") > 1 for cell in pointed):
        readings.add("thousands")  # No comma: its points may be decimal ones, as those of 12.901.
    return readings


def _has_decimal_points(cells: Sequence[str]) -> bool:
    """Returns whether a point in a column marks no thousands."""
    return any("." in cell and not _GROUPED_BY_POINTS.fullmatch(cell) for cell in cells)
