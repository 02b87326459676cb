"""What commas and points in the numbers of a table are: decimal points, or marks of thousands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Reading = Literal["decimal", "thousands"]

_DECIMAL_COMMA = re.compile(r"[-+−]?\d+,\d+([eE][-+]?\d+)?\s*%?")
_GROUPED_BY_COMMAS = re.compile(r"[-+−]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*%?")
_GROUPED_BY_POINTS = re.compile(r"[-+−]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?\s*%?")
_PLAIN_THOUSANDS = re.compile(r"[-+−]?\d{4,}(\.\d*)?\s*%?")
_ONE_MARK = re.compile(r"[-+−]?[1-9]\d{0,2}[.,]\d{3}")
_BELOW_THOUSAND = re.compile(r"[-+−]?\d{1,3}")
_NOT_FINITE = re.compile(r"[-+]?(nan|inf)", re.IGNORECASE)
_JUMP = 10.0
"""How many times as far apart the values of a column are, at least, in a reading that is wrong by a factor of 1,000."""
_MARK_OF_MISSING = 999.0
"""A number that stands for a missing value, and so says nothing of the sizes of others."""


@dataclass(frozen=True)
class CommaReadings:
    """How the commas and points in columns of numbers are read, and what that rests on."""

    of_columns: dict[str, Reading]
    by_size: list[str]
    """Columns of which only the sizes of the values say that a mark is one of thousands."""
    doubtful_points: list[str]
    """Columns whose points are read as decimal points, though they may mark thousands."""


def is_not_finite(text: str) -> bool:
    """Returns whether a text is `nan` or `inf`, with a sign or without."""
    return _NOT_FINITE.fullmatch(text) is not None


def is_marked_number(text: str) -> bool:
    """Returns whether a text is a number that has a decimal comma, or marks of thousands."""
    return any(form.fullmatch(text) for form in (_DECIMAL_COMMA, _GROUPED_BY_COMMAS, _GROUPED_BY_POINTS))


def comma_readings(columns: Mapping[str, Sequence[str]], *, separates: bool, is_usual: bool) -> CommaReadings:
    """Returns how the commas of columns of numbers are read; those that stay open are left out.

    A column says it itself, as `0,91` and `1,234.5` do, or the sizes of its values do, as those of `950` and `1.050`.
    Where it leaves both open, as `12,901` does, the other columns of the table decide, which write numbers in one way.

    - separates: whether commas part the cells of the table, so that none is a decimal point.
    - is_usual: whether decimal commas are usual in such a table, as where semicolons part the cells.
    """
    possible = {name: _readings(cells, separates) for name, cells in columns.items()}
    evident = {next(iter(readings)) for readings in possible.values() if len(readings) == 1}
    if any(_has_decimal_points(cells) for cells in columns.values()):
        evident.add("thousands")
    found = CommaReadings({}, [], [])
    for name, of_column in possible.items():
        cells = columns[name]
        evident_here = of_column if len(of_column) == 1 else of_column & evident
        decided = evident_here
        sizes = _sizes(cells) if of_column else None
        if sizes is not None:
            decided = sizes.decide(of_column, evident_here)
            if decided != evident_here and decided == {sizes.if_thousands}:
                found.by_size.append(name)
            if decided != {sizes.if_thousands} and sizes.leave_doubt(evident_here):
                found.doubtful_points.append(name)
        elif not evident and is_usual and all("," in cell for cell in cells):
            decided = of_column & {"decimal"}
        if len(decided) == 1:
            (found.of_columns[name],) = decided
    return found


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


@dataclass(frozen=True)
class _Sizes:
    """What the sizes of the values of a column say that its mark is, which stands in some cells before three digits."""

    mark: Literal[",", "."]
    says: Literal["decimal", "thousands", "unclear"]
    ends_in_zero: bool
    """Whether a cell ends in 0 after its mark: who writes 2 for 2.000 writes 1.05 for 1.050."""

    @property
    def if_thousands(self) -> Reading:
        """The reading of commas in which the mark is one of thousands."""
        return "thousands" if self.mark == "," else "decimal"

    def decide(self, possible: set[Reading], evident: set[Reading]) -> set[Reading]:
        """Returns the readings that are left of those of a column: none where what it says contradicts itself.

        evident: those that its other cells and the table leave; sizes that jump outweigh them.
        """
        if self.says == "thousands":
            return {self.if_thousands}
        is_decimal = self.says == "decimal" and not self.ends_in_zero
        if is_decimal and possible == {self.if_thousands}:
            return set()
        if len(evident) == 1:
            return evident
        if is_decimal:
            return possible - {self.if_thousands}
        return {self.if_thousands} if self.says == "unclear" and self.ends_in_zero else evident

    def leave_doubt(self, evident: set[Reading]) -> bool:
        """Returns whether points that are read as decimal points may mark thousands."""
        return self.mark == "." and (self.ends_in_zero or self.says == "unclear") and len(evident) != 1


def _sizes(cells: Sequence[str]) -> _Sizes | None:
    """Returns what the sizes of `950` and `1.050` say; None for other numbers than whole and marked ones as these."""
    finite = [cell for cell in cells if not is_not_finite(cell)]
    marked = [cell for cell in finite if _ONE_MARK.fullmatch(cell)]
    whole = [cell for cell in finite if _BELOW_THOUSAND.fullmatch(cell)]
    small = {_size(cell) for cell in whole} - {0.0}
    has_commas = any("," in cell for cell in marked)
    has_points = any("." in cell for cell in marked)
    if len(marked) + len(whole) < len(finite) or not small or has_commas == has_points:
        return None
    large = {_size(re.sub("[.,]", "", cell)) for cell in marked}
    spread_of_thousands = _spread(large | small)
    spread_of_decimals = _spread({size / 1000 for size in large} | small)
    mark: Literal[",", "."] = "," if has_commas else "."
    ends_in_zero = any(cell.endswith("0") for cell in marked)
    if spread_of_thousands * _JUMP <= spread_of_decimals and small != {_MARK_OF_MISSING}:
        return _Sizes(mark, "thousands", ends_in_zero)
    if spread_of_decimals * _JUMP <= spread_of_thousands:
        return _Sizes(mark, "decimal", ends_in_zero)
    return _Sizes(mark, "unclear", ends_in_zero)


def _size(text: str) -> float:
    return abs(float(text.replace("−", "-")))


def _spread(sizes: set[float]) -> float:
    return max(sizes) / min(sizes)
