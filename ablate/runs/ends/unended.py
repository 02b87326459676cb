"""Runs without the time of their end, or their duration, which others have: they may be running still."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pandas as pd

from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.settings import underscored
from ablate.runs.times import LEAST_TIMESTAMP

_END = r"(?:end|finish|stop|complet|terminat)(?:p?ed|e|ion|ing)?"
_ENDS = re.compile(
    rf"{_END}_?(?:time|at|on|date|datetime|timestamp|ts)?(?:_utc)?|(?:time|date|at)_{_END}|"
    r"(?:total_|run_|training_|train_|wall_?)?(?:duration|runtime)(?:_(?:s|secs?|seconds|m|mins?|minutes|h|hours|ms))?"
)
"""The names of columns with the time at which a run ended, or how long it took, in small letters."""


def unended(table: pd.DataFrame, ends: pd.Series, metric: str, taken: Collection[str]) -> Iterator[str]:
    """Yields a sentence on each column of ends in which some runs have none, although they have a number.

    ends: how the run of each row ended; of those that are known to have ended nothing is said.
    """
    is_open = ends.map(lambda ending: ending.kind == "unknown").astype(bool) & (table[metric] != "")
    for name in table:
        if name in taken or not _ENDS.fullmatch(underscored(str(name))):
            continue
        is_blank = table[name].astype(str).str.strip().str.lower().isin(("", "none", "nan", "nat", "-"))
        if not _are_ends(str(name), table[name][~is_blank]):
            continue
        lacking = table.index[is_blank & is_open]
        if len(lacking) and not is_blank.all():
            yield message("analyse.unended", str(name), [str(place) for place in lacking])


def _are_ends(name: str, cells: pd.Series) -> bool:
    """Returns whether cells may be times; small numbers under `stopped_at` are epochs, and few runs stop early."""
    has_time = re.search(r"time|duration", underscored(name)) is not None
    return has_time or not (cells.map(number_in) < LEAST_TIMESTAMP).all()
