"""Runs that have the same numbers under two names: copies, a seed that ran twice, or a change that does nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from ablate.analysis.equal_values import Codes, chance_of_equal, pooled_sd
from ablate.analysis.grid import PERCENT, least_multiplier
from ablate.analysis.paired import Floats
from ablate.core.facts import Evidence, TaskFacts
from ablate.core.metric import Metric

if TYPE_CHECKING:
    from ablate.analysis.runs import Runs

_DIGITS = 1e-10
"""The share of the largest value below which two numbers are the same."""
_CHANCE = 0.01
"""The probability of as many equal runs below which chance is no reason."""
_CLUMPED = 1.3
"""The factor on the pairs that are equal by chance: three equal runs are three pairs, and no spread is quite normal."""
_LEAST_DISTINCT = 3
"""The distinct values from which a common divisor is no chance."""
_PEAKED = 3.0
"""The factor by which more runs are equal by chance than if values were spread evenly over their range."""
_LEAST_EQUAL = 3
"""The fewest runs of a variant that show, all equal, that its seed has no effect."""
_NONE = 0.01
"""The number of pairs that are equal by chance below which chance is no reason at all."""


def alike_runs(
    trials: pd.DataFrame, examples: pd.DataFrame, metrics: Mapping[str, Metric]
) -> list[list[str]]:
    """Returns the ids of completed runs of one task that have the same numbers, to ten digits.

    Only where chance is no reason: by their spread and smallest step, less than one table in a hundred would have as
    many alike. Runs by example have the same examples.
    """
    alike = []
    for _, runs in trials[trials["status"] == "completed"].groupby("task", sort=False):
        values = runs[[*metrics]]
        resolutions = [metric.resolution for metric in metrics.values()]
        if len(examples):
            by_run = examples.drop_duplicates("id").set_index("id").loc[runs["id"], "values"]
            values = pd.DataFrame([*by_run], runs.index)
            resolutions = [0.0]
        values = values[np.isfinite(values).all(axis=1)]  # Infinity is no number that chance makes equal.
        variants = runs.loc[values.index, "variant"]
        bounds = [bound for metric in metrics.values() for bound in (metric.floor, metric.ceiling)]
        for group in _equal_rows(values, variants, resolutions):
            # Runs that fail, or have nothing left to gain, are alike by themselves.
            if not values.loc[group].isin(bounds).all(axis=None):
                alike.append(runs.loc[group, "id"].tolist())
    return alike


def alike_groups(runs: Runs, task: TaskFacts) -> list[pd.DataFrame]:
    """Returns the judged runs of a task that have the same numbers, a frame a group; see `alike_runs`.

    By every metric of which some run has a value: a run that lacks one is like no other. Without examples, since
    verdicts compare whole runs.
    """

    def groups(evidence: Evidence) -> list[pd.DataFrame]:
        trials = evidence.trials
        is_judged = (trials["status"] == "completed") & ~trials["variant"].isin(evidence.facts.placebos)
        of_task = trials[is_judged & (trials["task"] == task.name)]
        metrics = {}
        for name, metric in task.metrics.items():
            if name in of_task and of_task[name].notna().any():
                metrics[name] = metric
        if not metrics or of_task.empty:
            return []
        return [of_task[of_task["id"].isin(ids)] for ids in alike_runs(of_task, of_task[:0], metrics)]

    return runs.memo(groups, "alike", task.name)


def are_seedless(runs: Runs, variants: Collection[str], task: TaskFacts) -> bool:
    """Returns whether the seed changes none of these variants, so that more seeds would show nothing new.

    Then all completed runs of each on the task, several, have the same numbers.
    """
    if runs.facts.is_given:
        return False
    trials = runs.trials
    is_completed = (trials["status"] == "completed") & (trials["task"] == task.name)
    num_runs = trials.loc[is_completed, "variant"].value_counts()
    without_seeds = set()
    for group in alike_groups(runs, task):
        for variant, count in group["variant"].value_counts().items():
            if count > 1 and count == num_runs[variant]:
                without_seeds.add(variant)
    return {*variants} <= without_seeds


def _share(values: pd.Series) -> float:
    """Returns 1/N where all values are multiples of it, as shares of N examples are, or 100/N of percent; else 0."""
    distinct = np.abs(values.unique())
    if len(distinct) < _LEAST_DISTINCT:
        return 0.0
    unit = 1.0 if distinct.max() <= 1 else PERCENT
    if distinct.max() > unit:
        return 0.0
    multiplier = least_multiplier(distinct / unit)
    return 0.0 if multiplier is None else unit / multiplier


def _equal_rows(values: pd.DataFrame, variants: pd.Series, resolutions: Sequence[float]) -> list[list[int]]:
    """Returns the labels of equal rows, group by group; none where chance may have made them equal."""
    decimals = values.map(lambda value: len(repr(float(value)).partition(".")[2])).max()
    least = np.maximum(resolutions, [_share(values[name]) for name in values])
    step = np.maximum(np.maximum(10.0**-decimals, _DIGITS * values.abs().max()), least)
    spread = values.max() - values.min()
    # Where all are equal, their size stands for it: 0.782995 throughout is no chance, and 1.0 may be.
    spread = spread.where(spread > 0, values.abs().max())
    rounded = (values / step).round()
    labels = pd.Series(values.index, values.index).groupby([*rounded.to_numpy().T]).agg(list)
    groups = [group for group in labels if len(group) > 1]
    expected = _expected_pairs(values, variants, step=step, spread=spread)
    if expected < _NONE or _differ_by_variant_alone(groups, variants):
        return groups
    # Some are alike by chance, and more at the ends of the range, where runs fail or have nothing left to gain.
    is_at_end = (rounded == rounded.min()) | (rounded == rounded.max())
    groups = [group for group in groups if not is_at_end.loc[group].all(axis=None)]
    num_pairs = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    return groups if num_pairs and special.pdtrc(num_pairs - 1, _CLUMPED * expected) < _CHANCE else []


def _differ_by_variant_alone(groups: Sequence[Sequence[int]], variants: pd.Series) -> bool:
    """Returns whether each variant has three runs or more, all equal, and another number than the other variants.

    Then the seed has no effect that the metric shows, however coarse its grid.
    """
    sizes = variants.value_counts()
    if len(sizes) < 2 or len(groups) != len(sizes) or sizes.min() < _LEAST_EQUAL:
        return False
    return all(len(group) == sizes[variants.loc[group[0]]] for group in groups) and all(
        variants.loc[group].nunique() == 1 for group in groups
    )


def _expected_pairs(
    values: pd.DataFrame, variants: pd.Series, *, step: pd.Series, spread: pd.Series
) -> float:
    """Returns how many pairs of runs are equal by chance, on a grid with this step in each metric.

    Runs of a variant are taken as normal about its mean, all with one standard deviation; see `equal_values`. Metrics
    may say the same of a run, so that the one in which fewest pairs are equal counts alone.
    """
    groups, _ = pd.factorize(variants)
    return min(
        _expected_pairs_in(values[name].to_numpy(float), groups, step=step[name], spread=spread[name])
        for name in values
    )


def _expected_pairs_in(values: Floats, groups: Codes, *, step: float, spread: float) -> float:
    """Returns how many pairs of runs have the same value by chance; groups: the variant of each run, by number."""
    sd = pooled_sd(values, groups)
    if sd == 0:
        # Where the runs of no variant differ, only the range says how far values may lie apart.
        share = min(_PEAKED * step / max(spread, step), 1.0)
        return float(share * len(values) * (len(values) - 1) / 2)
    sizes = np.bincount(groups)
    means = np.bincount(groups, values) / sizes
    # Pairs of runs by (variant, variant), each counted from both of its ends.
    num_pairs = np.outer(sizes, sizes) - np.diag(sizes)
    shares = chance_of_equal(step, sd, means[:, None] - means[None, :])
    return float((num_pairs * np.minimum(shares, 1.0)).sum()) / 2
