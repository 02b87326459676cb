"""Nested objects as rows of a table, whose columns are dotted keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ablate.base.errors import Invalid
from ablate.base.once import TwiceError, put_once
from ablate.runs.cells import as_text


def flat_row(nested: object, place: str) -> dict[str, object]:
    """Returns the values of a nested object by their dotted keys. Raises `Invalid` for two values of one key."""
    row: dict[str, object] = {}
    try:
        _add_flat(row, nested, "")
    except TwiceError as error:
        raise Invalid(place, str(error)) from None
    return row


def cells_of(rows: Sequence[Mapping[str, object]], places: Sequence[str]) -> pd.DataFrame:
    """Returns a table of rows with the cells that they have; empty text where a row has none."""
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(row)
    columns = {name: [row.get(name, "") for row in rows] for name in names}
    return pd.DataFrame(columns, [*places], dtype=object)


def flat_cells(objects: Sequence[object], places: Sequence[str]) -> pd.DataFrame:
    """Returns a table of nested objects, a row each, with the cells that these have. Raises `Invalid`."""
    rows = [flat_row(nested, place) for nested, place in zip(objects, places, strict=True)]
    return cells_of(rows, places)


def flat_table(objects: Sequence[object], places: Sequence[str]) -> pd.DataFrame:
    """Returns the same with cells of text. Raises `Invalid`."""
    return flat_cells(objects, places).map(as_text)


def _add_flat(flat: dict[str, object], nested: object, prefix: str) -> None:
    """Adds the values of nested objects by their dotted keys. Raises `TwiceError`."""
    if not isinstance(nested, Mapping):
        put_once(flat, as_text(prefix), nested)
        return
    for key, value in nested.items():
        _add_flat(flat, value, f"{prefix}.{key}" if prefix else str(key))
