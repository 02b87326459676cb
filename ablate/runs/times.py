"""Times in the columns of a table: those of its rows, which give the rows of a run an order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pandas as pd

from ablate.runs.cells import number_in
from ablate.runs.roles import plain_name

LEAST_TIMESTAMP = 1e9
"""The least number that counts the seconds since 1970 of a time at which runs were trained."""
_TIME_OF_DAY = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_WORDS_OF_TIMES = re.compile(
    r"(?:^|_)(?:time|timestamp|datetime|date|ts|at|logged|created|updated)(?:_|$)", re.I
)


def times_in(table: pd.DataFrame, run: Sequence[str], taken: Collection[str]) -> str | None:
    """Returns the column of times by which the rows of each run have an order; None where there is none."""
    for name in table:
        if name in taken or not _WORDS_OF_TIMES.search(plain_name(name)):
            continue
        if seconds_of(table[name]).notna().all() and not table.duplicated([*run, str(name)]).any():
            return str(name)
    return None


def seconds_of(times: pd.Series) -> pd.Series:
    """Returns times, dates with a time of day or seconds since 1970, as seconds; NaN for anything else."""
    numbers = times.map(number_in).astype(float)
    if (numbers >= LEAST_TIMESTAMP).all():
        return numbers
    texts = times.astype(str).str.strip()
    dates = pd.to_datetime(
        texts.where(texts.str.fullmatch(_TIME_OF_DAY)), errors="coerce", utc=True, format="ISO8601"
    )
    seconds: pd.Series = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    return seconds
