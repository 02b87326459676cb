"""How far the baseline's seeds are apart on each task, and what the planned comparisons could detect."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, MeanSquares, sd_of
from ablate.analysis.runs import Side, runs_of
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.rows import frame_of_rows


@dataclass(frozen=True)
class NoiseRow:
    """The noise of the primary metric on one task, in the units of the metric; NaN where a number is not known."""

    task: str
    metric: str
    """The primary metric."""
    n: int
    """The number of runs of the baseline that have a value."""
    diverged: int
    """The number of its runs that diverged, and count with the metric's floor where it has one."""
    sd: float
    """The standard deviation over these runs."""
    test_share: float
    """The share of the square of `sd` that is due to a test set that all seeds share."""
    placebo_diff: float
    """The difference of the placebo from the baseline."""
    placebo_low: float
    """The lower end of its 95 % interval."""
    placebo_high: float
    """The upper end of its 95 % interval."""
    mde: float
    """The median of what the planned comparisons detect with 80 % power."""
    mde_low: float
    """The least of what they detect."""
    mde_high: float
    """The largest of what they detect."""
    by_rate: bool
    """Whether the task is all or nothing, so that `mde` is a number of seeds."""


def noise(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """Returns a table of `NoiseRow`, one a task that has the primary metric.

    `comparisons` is the result of `compare`.
    """
    facts = evidence.facts
    runs = runs_of(evidence)
    rows = []
    for task in facts.tasks:
        if facts.metric not in task.metrics or not facts.is_planned(facts.variants[0].name, task.name):
            continue
        side = runs.of(facts.variants[0].name, task)
        scored = side.scored(facts.metric)
        values = scored[~np.isnan(scored)]

        compared = comparisons[(comparisons["task"] == task.name) & (comparisons["metric"] == facts.metric)]
        placebo_diff, placebo_low, placebo_high = _placebo(compared, facts)
        mde, mde_low, mde_high = _detectable(compared)
        rows.append(
            NoiseRow(
                task=task.name,
                metric=facts.metric,
                n=len(values),
                diverged=side.diverged,
                sd=side.sd(facts.metric),
                test_share=_test_share(side, facts.metric),
                placebo_diff=placebo_diff,
                placebo_low=placebo_low,
                placebo_high=placebo_high,
                mde=mde,
                mde_low=mde_low,
                mde_high=mde_high,
                by_rate=task.outcome == "all_or_nothing",
            )
        )
    return frame_of_rows(rows, NoiseRow)


def _placebo(comparisons: pd.DataFrame, facts: StudyFacts) -> tuple[float, float, float]:
    """Returns the difference of the placebo from the baseline, and its interval; NaN where there is none."""
    rows = comparisons[comparisons["variant"].isin(facts.placebos)]
    if rows.empty:
        return NAN, NAN, NAN
    first = rows.iloc[0]
    return float(first["diff"]), float(first["ci_low"]), float(first["ci_high"])


def _detectable(comparisons: pd.DataFrame) -> tuple[float, float, float]:
    """Returns the median, the least and the largest of what the planned comparisons detect; NaN where none does."""
    planned = comparisons[~comparisons["exploratory"].astype(bool)]
    sizes = planned["mde"].dropna().to_numpy(float)
    if not len(sizes):
        return NAN, NAN, NAN
    return float(np.median(sizes)), float(sizes.min()), float(sizes.max())


def _test_share(side: Side, metric: str) -> float:
    """Returns the share of the variance over seeds that is due to a shared test set; NaN where it is not known."""
    scored = side.scored(metric)
    known = ~np.isnan(scored)
    sd = sd_of(scored[known])
    examples = side.by_example(metric)
    if examples is None or examples.shape[1] < 2 or not sd > 0:
        return NAN
    # How runs differ by example: one that is hard for all runs moves all seeds alike.
    squares = MeanSquares.of(examples[known], 0.0)
    return min(1.0, squares.rest / squares.m / sd**2)
