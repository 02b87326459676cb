"""Numbers that stand once beside the steps of a run, as `final.acc` does beside the history of `acc`."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.report.words import message
from ablate.runs.cells import is_number, number_in
from ablate.runs.histories import Steps


def summaries_beside(table: pd.DataFrame, kept: pd.DataFrame, steps: Steps, metric: str) -> Iterator[str]:
    """Yields a sentence on each number of runs that has the name of a metric, and another value than counts.

    table: the rows of all steps; kept: those that count.
    """
    if metric not in kept:
        return
    counted = kept[metric].map(number_in)
    of_runs = table.groupby([*steps.run_columns], sort=False)
    for name in map(str, table):
        if name.rpartition(".")[2] != metric or name == metric:
            continue
        is_summary = kept[name].map(is_number).all() and (of_runs[name].nunique() == 1).all()
        if is_summary and (kept[name].map(number_in) != counted).any():
            yield message("analyse.summary_beside", name, metric, steps.column)
