"""Runs that count at the step at which the judged metric itself is best."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis.guides import chooses_same_steps
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.options import AnalysisOptions

_BEST = "best "
"""What stands before the name of a metric in `--at`."""


def own_best(table: pd.DataFrame, options: AnalysisOptions) -> Iterator[str]:
    """Yields a sentence where the metric of `--at best METRIC` is the judged one, or has its values on every row."""
    guide = options.at.strip().removeprefix(_BEST).strip() if options.at.strip().startswith(_BEST) else ""
    if guide not in table or options.metric not in table:
        return
    columns = [table[name].map(number_in).astype(float) for name in (guide, options.metric)]
    known = columns[0].notna() & columns[1].notna()
    if guide == options.metric or chooses_same_steps(*(column[known].to_numpy() for column in columns)):
        yield message("analyse.own_best", options.metric, guide)
