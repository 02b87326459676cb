"""The rows of a table that `--where` keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.runs.settings import in_one_form_each

_CONDITION = re.compile(r"\s*(?P<column>[^=]*[^=\s])\s*={1,2}\s*(?P<quote>[\"']?)(?P<value>.*?)(?P=quote)\s*")


def rows_where(table: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Returns the rows that meet the conditions, `COLUMN=VALUE`; several on one column allow several values.

    Numbers are compared as numbers. Raises `Invalid` with everything that is wrong.
    """
    values_by_column: dict[str, list[str]] = {}
    with Gather() as at:
        for condition in conditions:
            with at():
                column, value = _read(condition, table)
                values_by_column.setdefault(column, []).append(value)
    is_kept = pd.Series(True, table.index)
    for column, values in values_by_column.items():
        is_kept &= in_one_form_each(table[column]).isin(in_one_form_each(pd.Series(values)))
    if not is_kept.any():
        raise Invalid("--where", "match no row when taken together", list(conditions))
    return table[is_kept]


def _read(condition: str, table: pd.DataFrame) -> tuple[str, str]:
    """Returns column and value of a condition that some row meets. Raises `Invalid`."""
    match = _CONDITION.fullmatch(condition)
    if match is None:
        raise Invalid("--where", "must be COLUMN=VALUE", condition)
    column, value = match["column"], match["value"]
    if column not in table:
        raise Invalid(
            "--where", "names no column", column, listed(table.columns), nearest(column, table.columns)
        )
    comparable = in_one_form_each(table[column])
    if not comparable.isin(in_one_form_each(pd.Series([value]))).any():
        allowed = listed(table[column].astype(str).drop_duplicates())
        raise Invalid("--where", f"matches no row: no {column} has this value", value, allowed)
    return column, value
