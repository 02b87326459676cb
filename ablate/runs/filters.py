"""The rows of a table that `--where` keeps: those with a value in a column, or those that meet a query of pandas."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pandas as pd

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.text import first_line
from ablate.report.words import message
from ablate.runs.cells import is_number
from ablate.runs.roles import STEPS, joined_column
from ablate.runs.settings import in_one_form_each

_CONDITION = re.compile(
    r"\s*(?![^=]*[\[(]\s*[\"'])(?P<column>[^=<>!&|]*[^=<>!&|\s])\s*={1,2}\s*"
    r"(?:(?P<quote>[\"'])(?P<quoted>[^\"']*)(?P=quote)|(?P<plain>[^=<>&|\"'\s][^=<>&|]*?)?)\s*"
)
"""A condition `COLUMN=VALUE`; a query such as `arch.isin(["a=b"])`, whose text has the sign, is none."""
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
"""A value in quotes, in a query of pandas."""


def rows_where(table: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """Returns the rows that meet the conditions; several `COLUMN=VALUE` on one column allow several values.

    Numbers are compared as numbers. Raises `Invalid` with everything that is wrong.
    """
    values_by_column: dict[str, list[str]] = {}
    is_kept = pd.Series(True, table.index)
    with Gather() as at:
        for condition in conditions:
            with at():
                match = _CONDITION.fullmatch(condition)
                if match is None or (
                    match["column"] not in table and _names_a_column_in_backticks(condition, table)
                ):
                    is_kept &= _query(table, condition)
                    continue
                column, value = match["column"], match["quoted"] or match["plain"] or ""
                _check(column, value, table)
                values_by_column.setdefault(column, []).append(value)
    for column, values in values_by_column.items():
        is_kept &= in_one_form_each(table[column]).isin(in_one_form_each(pd.Series(values)))
    if not is_kept.any():
        raise Invalid("--where", "match no row when taken together", list(conditions))
    return table[is_kept]


def chosen_by_metric(conditions: Sequence[str], metric: str) -> Iterator[str]:
    """Yields a sentence on each condition that chooses rows by the judged metric."""
    for condition in conditions:
        if _names(condition, metric):
            yield message("analyse.chosen_by_metric", condition, metric)


def named_columns(table: pd.DataFrame, conditions: Sequence[str]) -> list[str]:
    """Returns the columns of a table that some condition names."""
    names = [str(name) for name in table]
    return [name for name in names if any(_names(condition, name) for condition in conditions)]


def _names(condition: str, column: str) -> bool:
    """Returns whether a condition names a column, which is no word in quotes, nor the value of another column."""
    match = _CONDITION.fullmatch(condition)
    columns = match["column"] if match else _TEXT.sub("", condition)
    return re.search(rf"(?<![\w.]){re.escape(column)}(?![\w.])", columns) is not None


def left_out_unequally(table: pd.DataFrame, kept: pd.DataFrame, variant: Sequence[str]) -> Iterator[str]:
    """Yields the sentence on how many rows of each variant are left out, where the shares differ.

    Variants of which no row is kept are not compared, and rows that are steps are not as many in each run. variant: the
    columns that name it.
    """
    if any(str(name).lower() in STEPS for name in table):
        return
    counts = joined_column(table, variant).value_counts(sort=False)
    counts_kept = joined_column(kept, variant).value_counts(sort=False)
    counts = counts[counts.index.isin(counts_kept.index)]
    shares = {Fraction(int(counts_kept[name]), int(count)) for name, count in counts.items()}
    if len(shares) > 1:
        left_out = [f"{count - counts_kept[name]} of {count} of {name}" for name, count in counts.items()]
        yield message("analyse.left_out_unequally", left_out)


def _names_a_column_in_backticks(condition: str, table: pd.DataFrame) -> bool:
    """Returns whether a condition names a column in backticks, as only a query of pandas does."""
    return any(f"`{name}`" in condition for name in table)


def _check(column: str, value: str, table: pd.DataFrame) -> None:
    """Raises `Invalid` for a column that is not there, and for a value that no row has."""
    if column not in table:
        raise Invalid(
            "--where", "names no column", column, listed(table.columns), nearest(column, table.columns)
        )
    comparable = in_one_form_each(table[column])
    if not comparable.isin(in_one_form_each(pd.Series([value]))).any():
        allowed = listed(table[column].astype(str).drop_duplicates())
        raise Invalid("--where", f"matches no row: no {column} has this value", value, allowed)


def _query(table: pd.DataFrame, condition: str) -> pd.Series:
    """Returns whether each row meets a query of pandas, in which columns of numbers are numbers. Raises `Invalid`."""
    typed = table.reset_index(drop=True)
    for name in typed:
        present = typed[name][typed[name] != ""]
        if len(present) and present.map(is_number).all():
            typed[name] = pd.to_numeric(typed[name].mask(typed[name] == ""))
    try:
        kept = typed.query(condition, engine="python", local_dict={}, global_dict={}).index
    except Exception as error:  # Whatever pandas makes of the words of a user.
        hint = _in_backticks(condition, table)
        hint = hint or "For example: --where lr=0.1, or --where 'epochs >= 50 and split == \"test\"'"
        rule = f"is neither COLUMN=VALUE nor a query of pandas: {first_line(error)}"
        raise Invalid("--where", rule, condition, listed(table.columns), hint) from None
    return pd.Series(typed.index.isin(kept), table.index)


def _in_backticks(condition: str, table: pd.DataFrame) -> str:
    """Returns the query in which names that pandas does not take as they are stand in backticks; empty without such."""
    quoted = condition
    for name in sorted(map(str, table), key=len, reverse=True):
        if not name.isidentifier() and f"`{name}`" not in quoted:
            quoted = re.sub(rf"(?<![\w.`]){re.escape(name)}(?![\w.`])", f"`{name}`", quoted)
    return f"Write such names in backticks: --where {shlex.quote(quoted)}" if quoted != condition else ""
