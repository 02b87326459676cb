"""Values that do not vary as those of separate runs do: sorted, computed from one another, or repeated by example.

Each is a sentence beside the verdicts, and refuses nothing. Chance makes n values rise with the seed in each of two
variants with a probability of 1/(n!)². Differences of full floats, or their ratios, are never equal by chance; those of
rounded values often are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ablate.analysis.grid import grid_step
from ablate.analysis.paired import Floats
from ablate.core.facts import NAMELESS_TASK
from ablate.core.replication import RunName
from ablate.report.words import message
from ablate.runs.checking import CheckedRuns
from ablate.runs.options import AnalysisOptions

_LEAST_SORTED = 4
"""The fewest runs of a variant whose order tells something."""
_LEAST_PAIRS = 3
"""The fewest pairs whose equal differences tell something."""
_LAST_DIGITS = 1e-12
"""The share of the largest value below which two numbers are the same."""
_MOST_EXAMPLES = 20
"""The repeated examples of which it is seen whether their values have digits enough."""
_DISTINCT = 0.9
"""The share of different examples that have a value of their own in each run, where no value is likely twice."""


def dependent_values(runs: CheckedRuns, options: AnalysisOptions, run_name: RunName) -> Iterator[str]:
    """Yields sentences on values of the judged metric that are none of separate runs."""
    completed = runs.trials[runs.trials["status"] == "completed"]
    for task, of_task in completed.groupby("task", sort=False):
        place = "" if task == NAMELESS_TASK else str(task)
        if run_name != "run":
            values = of_task.pivot(index="seed", columns="variant", values=options.metric).sort_index()
            if run_name == "seed":
                # Some folds are harder than others, for all variants.
                yield from _sorted_by_metric(values, options.metric, place)
            yield from _computed(values, options.baseline, run_name, place)
        yield from _repeated_examples(of_task, runs.examples, options.metric, place)


def _sorted_by_metric(values: pd.DataFrame, metric: str, task: str) -> Iterator[str]:
    """Yields the sentence on values that rise with the seed in every variant, or fall in every one.

    values: a row a seed, in their order, a column a variant.
    """
    steps = [np.diff(values[variant].dropna().to_numpy(float)) for variant in values]
    if len([of_variant for of_variant in steps if len(of_variant) >= _LEAST_SORTED - 1]) < 2:
        return
    if all((of_variant > 0).all() for of_variant in steps):
        yield message("analyse.rising", metric, task)
    if all((of_variant < 0).all() for of_variant in steps):
        yield message("analyse.falling", metric, task)


def _computed(values: pd.DataFrame, baseline: str, run_name: RunName, task: str) -> Iterator[str]:
    """Yields a sentence on each variant that is the baseline plus or times one number on every seed, or fold.

    values: a row a seed or fold, a column a variant.
    """
    if baseline not in values:
        return
    for variant in values.columns.drop(baseline):
        pairs = values[[baseline, variant]].dropna()
        base, other = pairs[baseline].to_numpy(float), pairs[variant].to_numpy(float)
        if len({*base}) < _LEAST_PAIRS or np.array_equal(base, other) or grid_step(pairs.to_numpy(float)) > 0:
            continue
        size = float(np.abs(pairs.to_numpy(float)).max())
        shift = float(np.mean(other - base))
        if np.ptp(other - base) <= _LAST_DIGITS * size:
            yield message("analyse.shifted", variant, baseline, shift, run_name, task)
            continue
        factor = float(base @ other / (base @ base))
        if np.abs(other - factor * base).max() <= _LAST_DIGITS * size:
            yield message("analyse.scaled", variant, baseline, factor, run_name, task)


def _repeated_examples(trials: pd.DataFrame, examples: pd.DataFrame, metric: str, task: str) -> Iterator[str]:
    """Yields the sentence on examples that have the values of others in every run; `trials`: those of one task."""
    of_metric = examples[(examples["metric"] == metric) & examples["id"].isin(trials["id"])]
    if of_metric.empty:
        return
    values = np.array(of_metric["values"].tolist(), dtype=float)
    distinct, counts = np.unique(values, axis=1, return_counts=True)
    if (counts > 1).any() and _are_fine(values, distinct, distinct[:, counts > 1]):
        yield message("analyse.repeated_examples", values.shape[1], distinct.shape[1], task)


def _are_fine(values: Floats, distinct: Floats, repeated: Floats) -> bool:
    """Returns whether values have so many digits that no two examples have the same by chance.

    Each has shape (num_runs, num_examples).
    """
    num_values = min(len(np.unique(of_run)) for of_run in values)
    if num_values < _DISTINCT * distinct.shape[1]:
        return False
    return any(grid_step(example) == 0 for example in repeated.T[:_MOST_EXAMPLES])
