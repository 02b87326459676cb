"""Rows of a table of means: over how many runs each is, and how far these are apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ablate.core.metric import Metric
from ablate.core.rows import frame_of_rows
from ablate.core.summary import Summary


@dataclass(frozen=True)
class RowSummary:
    """The number of runs of a row, and their standard deviations."""

    n: int
    sds: Mapping[str, float]
    """Metric → standard deviation of a sample; metrics that have none beside their mean are missing."""


RowSummaries = Mapping[str, RowSummary]
"""Place of a row → what it says beside its means."""


def numbered_runs(rows: pd.DataFrame, summaries: RowSummaries) -> pd.DataFrame:
    """Repeats each row once for each run that it is over, and numbers these from 1 through the table in `seed`."""
    counts = [summaries[place].n for place in rows["id"]]
    runs = rows.loc[rows.index.repeat(counts)].reset_index(drop=True)
    return runs.assign(seed=range(1, len(runs) + 1))


def with_spreads(rows: pd.DataFrame, summaries: RowSummaries) -> pd.DataFrame:
    """Returns the rows with columns `sd of METRIC`, empty where none is known, and `number of runs`."""
    beside = [summaries[place] for place in rows["id"]]
    names = dict.fromkeys(name for row in beside for name in row.sds)
    spreads = {f"sd of {name}": [row.sds.get(name, "") for row in beside] for name in names}
    return rows.assign(**spreads, **{"number of runs": [row.n for row in beside]})


def frame_of_summaries(
    trials: pd.DataFrame, summaries: RowSummaries, metrics: Mapping[str, Metric]
) -> pd.DataFrame:
    """Returns a row of `Summary` for each variant, task and metric that has a mean.

    trials: those of which runs have a result, a row for each of a table of means.
    """
    rows: list[Summary] = []
    for (variant, task), of_variant in trials.groupby(["variant", "task"], sort=False):
        for metric in metrics:
            parts = [*_parts(of_variant, summaries, metric, str(variant), str(task))]
            if parts:
                rows.append(pooled(parts))
    return frame_of_rows(rows, Summary)


def _parts(
    trials: pd.DataFrame, summaries: RowSummaries, metric: str, variant: str, task: str
) -> Iterator[Summary]:
    """Yields the summary of each row of a variant that has a mean; the deviation is 0 where none is given."""
    for place, mean in zip(trials["id"], trials[metric], strict=True):
        beside = summaries[place]
        if not pd.isna(mean):
            yield Summary(variant, task, metric, float(mean), beside.sds.get(metric, 0.0), beside.n)


def pooled(parts: Sequence[Summary]) -> Summary:
    """Returns the mean and the deviation of the runs of several summaries of one variant, task and metric together."""
    first, *others = parts
    if not others:
        return first
    n = sum(part.n for part in parts)
    mean = sum(part.n * part.mean for part in parts) / n
    squares = sum((part.n - 1) * part.sd**2 + part.n * (part.mean - mean) ** 2 for part in parts)
    return Summary(first.variant, first.task, first.metric, mean, (squares / (n - 1)) ** 0.5, n)
