"""Runs that have the same numbers under two names: copies, a seed that ran twice, or a change that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import special

from ablate.core.metric import Metric

_DIGITS = 1e-10
"""The share of the largest value below which two numbers are the same."""
_CHANCE = 0.05
"""The probability of as many equal runs below which chance is no reason."""
_PEAKED = 3.0
"""The factor by which more runs are equal by chance than if values were spread evenly over their range."""


def alike_runs(
    trials: pd.DataFrame, examples: pd.DataFrame, metrics: Mapping[str, Metric]
) -> list[list[str]]:
    """Returns the ids of completed runs of one task that have the same numbers, to ten digits.

    Only where chance is no reason: by their range and smallest step, less than one table in twenty would have as many
    alike. Runs by example have the same examples.
    """
    alike = []
    for _, runs in trials[trials["status"] == "completed"].groupby("task", sort=False):
        values = runs[[*metrics]]
        resolutions = [metric.resolution for metric in metrics.values()]
        if len(examples):
            by_run = examples.drop_duplicates("id").set_index("id").loc[runs["id"], "values"]
            values = pd.DataFrame([*by_run], runs.index)
            resolutions = [0.0]
        groups = _equal_rows(values, resolutions)
        alike += [runs.loc[group, "id"].tolist() for group in groups]
    return alike


def _equal_rows(values: pd.DataFrame, resolutions: Sequence[float]) -> list[list[int]]:
    """Returns the labels of equal rows, group by group; none where chance may have made them equal."""
    decimals = values.map(lambda value: len(repr(float(value)).partition(".")[2])).max()
    step = np.maximum(np.maximum(10.0**-decimals, _DIGITS * values.abs().max()), resolutions)
    spread = values.max() - values.min()
    # Where all are equal, their size stands for it: 0.782995 throughout is no chance, and 1.0 may be.
    spread = spread.where(spread > 0, values.abs().max())
    cells = (spread / step).clip(lower=1.0)
    rounded = (values / step).round()
    labels = pd.Series(values.index, values.index).groupby([*rounded.to_numpy().T]).agg(list)
    groups = [group for group in labels if len(group) > 1]
    if np.log(cells).sum() > np.log(10 * len(values) ** 2):
        return groups
    # Some are alike by chance, and more at the ends of the range, where runs fail or have nothing left to gain.
    is_at_end = (rounded == rounded.min()) | (rounded == rounded.max())
    groups = [group for group in groups if not is_at_end.loc[group].all(axis=None)]
    expected = _PEAKED * len(values) ** 2 / 2 / np.exp(np.log(cells).sum())
    return groups if special.pdtrc(len(groups) - 1, expected) < _CHANCE else []
