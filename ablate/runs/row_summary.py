"""Rows of a table of means: over how many runs each is, and how far these are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ablate.core.metric import Metric
from ablate.core.rows import frame_of_rows
from ablate.core.summary import Summary


@dataclass(frozen=True)
class Spread:
    """What stands beside a mean: the standard deviation of its runs, as of a sample, and their number."""

    sd: float
    n: int


@dataclass(frozen=True)
class RowSummary:
    """What a row of means says beside them."""

    n: int
    """The number of runs over which the mean of the judged metric is."""
    spreads: Mapping[str, Spread]
    """Metric → what stands beside its mean; metrics of which the row has no mean are missing."""


RowSummaries = Mapping[str, RowSummary]
"""Place of a row → what it says beside its means."""


def numbered_runs(rows: pd.DataFrame, summaries: RowSummaries) -> pd.DataFrame:
    """Repeats each row once for each run that it is over, and numbers these from 1 through the table in `seed`."""
    counts = [summaries[place].n for place in rows["id"]]
    runs = rows.loc[rows.index.repeat(counts)].reset_index(drop=True)
    return runs.assign(seed=range(1, len(runs) + 1))


def with_spreads(rows: pd.DataFrame, summaries: RowSummaries) -> pd.DataFrame:
    """Returns the rows with columns `sd of METRIC`, empty where none is known, and `number of runs`.

    A metric whose means are over other numbers of runs than those of the judged one has `number of runs of METRIC`.
    """
    beside = [summaries[place] for place in rows["id"]]
    names = dict.fromkeys(name for row in beside for name in row.spreads)
    columns: dict[str, list[object]] = {}
    for name in names:
        spreads = [row.spreads.get(name) for row in beside]
        columns[f"sd of {name}"] = ["" if spread is None else spread.sd for spread in spreads]
        counts = [row.n if spread is None else spread.n for row, spread in zip(beside, spreads, strict=True)]
        if counts != [row.n for row in beside]:
            columns[f"number of runs of {name}"] = [*counts]
    return rows.assign(**columns, **{"number of runs": [row.n for row in beside]})


def frame_of_summaries(
    trials: pd.DataFrame, summaries: RowSummaries, metrics: Mapping[str, Metric]
) -> pd.DataFrame:
    """Returns a row of `Summary` for each variant, task and metric that has a mean.

    trials: those of which runs have a result, one of each variant and task.
    """
    rows: list[Summary] = []
    for trial in trials.to_dict("records"):
        for metric in metrics:
            spread = summaries[trial["id"]].spreads.get(metric)
            if spread is not None:
                rows.append(
                    Summary(
                        variant=trial["variant"],
                        task=trial["task"],
                        metric=metric,
                        mean=float(trial[metric]),
                        sd=spread.sd,
                        n=spread.n,
                    )
                )
    return frame_of_rows(rows, Summary)
