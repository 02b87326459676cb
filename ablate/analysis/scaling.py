"""How time and memory grow with the size, and the size at which one variant overtakes another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, Floats, Interval, mean_interval
from ablate.analysis.power import ALPHA
from ablate.analysis.speed import CALL_OF, Group, by_size
from ablate.analysis.student import t_quantile
from ablate.base import wording
from ablate.core.evidence import Evidence

SLOPES = ("variant", "task", "metric", "slope", "ci_low", "ci_high", "n")
OVERTAKINGS = (
    *("task", "metric", "faster_below", "faster_above", "size", "low", "high", "low_ci", "high_ci", "note"),
)
_POINTS = 4001
"""Sizes between two at which a ratio is looked up, evenly spaced on a log scale."""


def scaling(evidence: Evidence) -> pd.DataFrame:
    """The slope of log seconds, or log bytes, over log size: one row a variant, task and metric, with `SLOPES`.

    Least squares over the sizes in each of `n` processes; the mean over processes with its 95 % t interval. A slope of
    2 is time that grows with the square of the size. Empty where variants were timed at one size.
    """
    rows = []
    for task, metric, groups in _grown(evidence):
        for variant in evidence.facts.variants:
            values = _across({size: group.values.get(variant.name) for size, group in groups.items()})
            if min(values.shape) > 0 and values.shape[1] > 1:
                slopes = np.polyfit(np.log([*values]), np.log(values.to_numpy()).T, 1)[0]
                slope, bounds = mean_interval(slopes)
                rows.append((variant.name, task, metric, slope, *bounds, len(slopes)))
    return pd.DataFrame(rows, columns=list(SLOPES))


def overtakings(evidence: Evidence) -> pd.DataFrame:
    """The pairs of which one is shown to be faster at one size, and the other at a larger, with `OVERTAKINGS`.

    By the same rules as verdicts: the log ratio of a pair in a process is the difference of its log ratios to the
    baseline. `low` and `high` are the sizes, next to one another among those that show a difference, between which the
    order changes; `size` is where the mean log ratio, interpolated over log size, is 0. `low_ci` to `high_ci` are the
    sizes at which its interpolated 95 % interval includes 0 (Fieller 1954, J. R. Stat. Soc. B 16, 175–185); NaN where
    memory, which has no noise, leaves none. Of `step_memory`, faster means less.
    """
    rows = []
    names = [variant.name for variant in evidence.facts.variants]
    for task, metric, groups in _grown(evidence):
        for pair in combinations(names, 2):
            logs = _across({size: _between(group, *pair) for size, group in groups.items()})
            sizes, values = np.array([*logs], float), logs.to_numpy(float)
            found = [groups[size].compared(of).verdict for size, of in zip(sizes, values.T, strict=True)]
            shown = [i for i, verdict in enumerate(found) if verdict in ("better", "worse")]
            for i, j in pairwise(shown):
                if found[i] != found[j]:
                    order = pair if found[i] == "better" else pair[::-1]
                    size, bounds = _crossing(sizes[i : j + 1], values[:, i : j + 1])
                    open_at = [f"{size:g}" for size in sizes[i + 1 : j]]
                    note = f"the order is not shown at {wording.joined(open_at)}" if open_at else ""
                    rows.append((task, metric, *order, size, sizes[i], sizes[j], *bounds, note))
    return pd.DataFrame(rows, columns=list(OVERTAKINGS))


def _grown(evidence: Evidence) -> Iterator[tuple[str, str, dict[float, Group]]]:
    """Task, metric and what was timed at each size, where there are several."""
    for task in evidence.facts.tasks:
        for metric in CALL_OF:
            groups = by_size(evidence, task.name, metric)
            if len(groups) > 1:
                yield task.name, metric, groups


def _between(group: Group, a: str, b: str) -> pd.Series | None:
    """The log ratio of one variant to another by process; None where one was not timed."""
    logs = group.paired
    return logs[a] - logs[b] if {a, b} <= {*logs} else None


def _across(by_size: Mapping[float, pd.Series | None]) -> pd.DataFrame:
    """A column a size at which it was timed, a row a process that timed it at each of these."""
    known = {size: of for size, of in by_size.items() if of is not None and of.notna().any()}
    return pd.DataFrame(known).dropna()


def _crossing(sizes: Floats, logs: Floats) -> tuple[float, Interval]:
    """Where the mean over processes of `logs` (n, num_sizes) is 0, and where its 95 % interval includes 0."""
    at = np.linspace(math.log(sizes[0]), math.log(sizes[-1]), _POINTS)
    between = np.array([np.interp(at, np.log(sizes), of) for of in logs])
    mean, n = between.mean(axis=0), len(logs)
    half = t_quantile(ALPHA / 2, n - 1) * between.std(axis=0, ddof=1) / math.sqrt(n)
    after = int(np.flatnonzero(np.sign(mean) != np.sign(mean[0]))[0])
    share = mean[after - 1] / (mean[after - 1] - mean[after])
    size = math.exp(at[after - 1] + share * (at[after] - at[after - 1]))
    inside = np.exp(at[np.abs(mean) <= half])
    return size, (inside[0], inside[-1]) if len(inside) else (NAN, NAN)
