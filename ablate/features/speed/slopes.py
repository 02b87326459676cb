"""How time and memory grow with the size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from ablate.analysis.paired import mean_interval
from ablate.core.evidence import Evidence
from ablate.features.speed.ratios import CALL_OF, Group, by_size

SLOPES = ("variant", "task", "metric", "slope", "ci_low", "ci_high", "n")


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


def _grown(evidence: Evidence) -> Iterator[tuple[str, str, dict[float, Group]]]:
    """Task, metric and what was timed at each size, where there are several."""
    for task in evidence.facts.tasks:
        for metric in CALL_OF:
            groups = by_size(evidence, task.name, metric)
            if len(groups) > 1:
                yield task.name, metric, groups


def _across(by_size: Mapping[float, pd.Series | None]) -> pd.DataFrame:
    """A column a size at which it was timed, a row a process that timed it at each of these."""
    known = {size: of for size, of in by_size.items() if of is not None and of.notna().any()}
    return pd.DataFrame(known).dropna()
