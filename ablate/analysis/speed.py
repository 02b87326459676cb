"""How fast each variant is against the baseline, and how much memory a step takes.

The unit is the process. Of each of n processes, L is the mean over its blocks of the log of the ratio of the variant's
median time to the baseline's; the ratio is exp(L̄) with the t interval exp(L̄ ± t·s/√n). Blocks as the unit would give
false positives in 0.25 to 0.56 of comparisons where processes differ. The baseline is timed against a second copy of
itself: the larger bound of that 95 % interval is the noise floor, below which nothing is concluded, nor below 2 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences, Floats
from ablate.analysis.runs import Runs
from ablate.core.derived import CALL_OF
from ablate.core.derived import STEP_MEMORY as MEMORY
from ablate.core.facts import BASELINE, Evidence
from ablate.core.reason import Block, Reason
from ablate.core.speed_facts import LEAST, SpeedFacts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Group:
    """The variants on one task and metric, all at one size, or each at its own."""

    metric: str
    rows: pd.DataFrame
    """The rows of the frame `speed` of `Evidence`, those of the baseline included."""

    @cached_property
    def values(self) -> pd.DataFrame:
        """Seconds of a call, or peak bytes of a step: a row a process and a column a variant."""
        return self._by_process("memory" if self.metric == MEMORY else "seconds")

    @cached_property
    def logs(self) -> pd.DataFrame:
        """Log ratios to the baseline in the same form; of the baseline those of its second copy."""
        if self.metric != MEMORY:
            return self._by_process("log_ratio")
        return np.log(self.values.div(self.values.get(BASELINE, NAN), axis=0))

    @property
    def paired(self) -> pd.DataFrame:
        """`logs`, with 0 for the baseline: what differs between any two variants is the difference of their columns."""
        return self.logs.assign(**{BASELINE: 0.0})

    def _by_process(self, column: str) -> pd.DataFrame:
        """Returns a column of the rows as a row a process and a column a variant."""
        rows = self.rows.astype({column: float}).dropna(subset=column)
        return rows.pivot(index="process", columns="variant", values=column)

    def value(self, variant: str) -> float:
        """Returns the geometric mean over processes of seconds or bytes; NaN where the variant was not timed."""
        if variant not in self.values:
            return NAN
        return geometric_mean(self.values[variant])

    def ratios(self, variant: str) -> Differences:
        """Returns the log ratios of a variant to the baseline; none where it was not timed."""
        if variant not in self.logs:
            return log_ratios(np.array([]))
        return log_ratios(self.logs[variant].dropna().to_numpy(float))

    @cached_property
    def noise(self) -> float:
        """The noise floor: the larger |bound| of the 95 % interval of the baseline against itself; NaN: unknown."""
        between_copies = self.ratios(BASELINE)
        if between_copies.all_zero and between_copies.n > 1:
            return 0.0
        low, high = between_copies.interval()
        return max(abs(low), abs(high))

    @property
    def slack(self) -> float:
        """The log that a ratio must exceed, of the noise floor and 2 %; NaN where the floor is not known."""
        if math.isnan(self.noise):
            return NAN
        return max(self.noise, math.log1p(LEAST))


def log_ratios(logs: Floats) -> Differences:
    """Returns log ratios of processes, shape (n,), as differences from 0, which is a ratio of 1."""
    return Differences.between(logs, np.zeros_like(logs))


def geometric_mean(values: pd.Series) -> float:
    """Returns the geometric mean of seconds or bytes, one a process; NaN of none."""
    known = np.sort(values.dropna().to_numpy(float))
    if not len(known):
        return NAN
    if known[0] == known[-1]:
        return float(known[0])  # Memory is exact, and stays so without the logarithm.
    return math.exp(np.log(known).mean())


def group(evidence: Evidence, task: str, metric: str, size: float | None = None) -> Group:
    """Returns the variants on a task by a metric, at a size; without one, as the study trains each."""
    frame = evidence.frame(SpeedFacts)
    rows = frame[(frame["task"] == task) & (frame["call"] == CALL_OF[metric])]
    if size is None:
        return Group(metric, rows[rows["own"].astype(bool)])
    return Group(metric, rows[rows["size"] == size])


def sizes(evidence: Evidence) -> list[float]:
    """Returns all sizes at which something was timed, rising; none where each variant has its own size alone."""
    known = evidence.frame(SpeedFacts)["size"].astype(float).dropna()
    return sorted(known.unique().tolist())


def estimate(measure: Measure, runs: Runs, groups: Sequence[Sequence[str]]) -> Differences:
    """Returns the estimate of the log of the ratio of the mean of B to the mean of A, so that above 0 A is better."""
    timed = group(runs.evidence, measure.task.name, measure.name)
    a = list(groups[0])
    b = list(groups[1])
    if not {*a, *b} <= {*timed.paired}:
        return replace(log_ratios(np.array([])), blocks=[Block(Reason("unmeasured"))])

    # Only the processes that timed all of them.
    paired = timed.paired[list(dict.fromkeys([*a, *b]))].dropna()
    logs = (paired[b].mean(axis=1) - paired[a].mean(axis=1)).to_numpy(float)
    blocks = []
    if len(logs) < 2 or math.isnan(timed.noise):
        blocks.append(Block(Reason("few", {"processes": len(logs), "least": 2})))
    return replace(log_ratios(logs), blocks=blocks)


def slack(measure: Measure, runs: Runs) -> float:
    """Returns the noise floor, or 2 %, as a log; 0 where the floor is not known."""
    least = group(runs.evidence, measure.task.name, measure.name).slack
    return 0.0 if math.isnan(least) else least
