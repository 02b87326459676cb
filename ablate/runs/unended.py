"""Runs without the time of their end, or their duration, which others have: they may be running still."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pandas as pd

from ablate.report.words import message

_ENDS = re.compile(
    r"(?:end|finish|stop|complet|terminat)\w*[ _]?(?:time|at|on|date|timestamp)?|"
    r"(?:time|date|at)_(?:end|finish|stop|complet)\w*|(?:total_|run_|training_|train_|wall_?)?(?:duration|runtime)(?:_\w+)?"
)
"""The names of columns with the time at which a run ended, or how long it took, in small letters."""


def unended(table: pd.DataFrame, ends: pd.Series, metric: str, taken: Collection[str]) -> Iterator[str]:
    """Yields a sentence on each column of ends in which some runs have none, although they have a number.

    ends: how the run of each row ended; of those that are known to have ended nothing is said.
    """
    is_open = ends.map(lambda ending: ending.kind == "unknown").astype(bool) & (table[metric] != "")
    for name in table:
        if name in taken or not _ENDS.fullmatch(_plain(str(name))):
            continue
        is_blank = table[name].astype(str).str.strip().str.lower().isin(("", "none", "nan", "nat", "-"))
        lacking = table.index[is_blank & is_open]
        if len(lacking) and not is_blank.all():
            yield message("analyse.unended", str(name), [str(place) for place in lacking])


def _plain(name: str) -> str:
    """Returns a name in small letters with underscores: `EndTime` and `End time` are `end_time`."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", parted.lower())
