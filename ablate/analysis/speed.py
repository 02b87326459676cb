"""How fast each variant is, against the baseline, how much memory a step takes, and how both grow with the size.

The unit is the process. Of each of n processes, L is the mean over its blocks of the log of the ratio of the variant's
median time to the baseline's; the ratio is exp(L̄) with the t interval exp(L̄ ± t·s/√n). Blocks as the unit would give
false positives in 0.25 to 0.56 of comparisons where processes differ. The baseline is timed against a second copy of
itself: the larger bound of that 95 % interval is the noise floor, below which nothing is concluded, nor below 2 %.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences, Floats, mean_interval
from ablate.analysis.runs import Runs
from ablate.core.derived import CALL_OF
from ablate.core.derived import STEP_MEMORY as MEMORY
from ablate.core.facts import BASELINE, Evidence, frame_of
from ablate.core.reason import Block, Reason
from ablate.core.speed_facts import COLUMNS as FRAME
from ablate.core.speed_facts import LEAST, SpeedFacts

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("variant", "baseline", "task", "size", "own", "metric", "n", "value_variant", "value_baseline"),
    *("ratio", "ci_low", "ci_high", "slack", "noise_floor", "examples_per_second", "flops", "parameters"),
    *("processes", "busy"),
)
SLOPES = ("variant", "task", "metric", "slope", "ci_low", "ci_high", "n")


def log_ratios(logs: Floats) -> Differences:
    """Log ratios of processes, shape (n,), as differences from 0, which is a ratio of 1."""
    return Differences.between(logs, np.zeros_like(logs))


@dataclass(frozen=True)
class Group:
    """The variants on one task and metric, all at one size, or each at its own."""

    metric: str
    rows: pd.DataFrame  # Of `Evidence.frames`; of the baseline too.

    @cached_property
    def values(self) -> pd.DataFrame:
        """Seconds, or bytes: a row a process and a column a variant."""
        return self._pivot("memory" if self.metric == MEMORY else "seconds")

    @cached_property
    def logs(self) -> pd.DataFrame:
        """Log ratios to the baseline in the same form; of the baseline those of its second copy."""
        if self.metric != MEMORY:
            return self._pivot("log_ratio")
        return np.log(self.values.div(self.values.get(BASELINE, NAN), axis=0))

    @property
    def paired(self) -> pd.DataFrame:
        """`logs`, with 0 for the baseline: what differs between any two variants is the difference of their columns."""
        return self.logs.assign(**{BASELINE: 0.0})

    def _pivot(self, column: str) -> pd.DataFrame:
        rows = self.rows.astype({column: float}).dropna(subset=column)
        return rows.pivot(index="process", columns="variant", values=column)

    def ratios(self, variant: str) -> Differences:
        """Its log ratios; none where it was not timed."""
        known = self.logs[variant].dropna().to_numpy(float) if variant in self.logs else np.array([])
        return log_ratios(known)

    @cached_property
    def noise(self) -> float:
        """The noise floor: the larger |bound| of the 95 % interval of the baseline against itself; NaN: unknown."""
        d = self.ratios(BASELINE)
        return 0.0 if d.all_zero and d.n > 1 else max(map(abs, d.interval()))

    @property
    def slack(self) -> float:
        """What a ratio must exceed, a log: the noise floor and 2 %; NaN where the floor is not known."""
        return NAN if math.isnan(self.noise) else max(self.noise, math.log1p(LEAST))


def group(evidence: Evidence, task: str, metric: str, size: float | None = None) -> Group:
    """Each variant at a size; without one, as the study trains it."""
    rows = evidence.frame("speed", FRAME)
    rows = rows[(rows["task"] == task) & (rows["call"] == CALL_OF[metric])]
    return Group(metric, rows[rows["own"].astype(bool) if size is None else rows["size"] == size])


def sizes(evidence: Evidence) -> list[float]:
    """All at which something was timed, rising; none where variants were timed at their own size alone."""
    return sorted(evidence.frame("speed", FRAME)["size"].astype(float).dropna().unique().tolist())


def estimate(measure: Measure, runs: Runs, groups: Sequence[Sequence[str]]) -> Differences:
    """Of the log ratio of the mean of B to the mean of A."""
    timed, (a, b, *_) = group(runs.evidence, measure.task.name, measure.name), groups
    if not {*a, *b} <= {*timed.paired}:
        return replace(log_ratios(np.array([])), blocks=[Block(Reason("unmeasured"))])
    known = timed.paired[list(dict.fromkeys([*a, *b]))].dropna()
    logs = (known[list(b)].mean(axis=1) - known[list(a)].mean(axis=1)).to_numpy(float)
    few = Block(Reason("few", {"processes": len(logs), "least": 2}))
    return replace(log_ratios(logs), blocks=[few] if len(logs) < 2 or math.isnan(timed.noise) else [])


def slack(measure: Measure, runs: Runs) -> float:
    """The noise floor, or 2 %, as a log."""
    found = group(runs.evidence, measure.task.name, measure.name).slack
    return 0.0 if math.isnan(found) else found


def speeds(evidence: Evidence) -> pd.DataFrame:
    """One row a task, metric, size and variant that was measured, with `COLUMNS`; the study's own size comes first.

    - `value_*`: seconds of a call, or peak bytes of a step; the geometric mean over the `n` processes, of as many
      `processes` as were asked for. `ratio` is that of the variant to the baseline, so that below 1 is better; in the
      baseline's own row that of its two copies. `ci_*` at 95 %; `slack` and `noise_floor` are ratios − 1.
    - `flops` of one call; NaN where unknown. Memory has neither these nor rates.
    - `parameters`: at the size that the study trains; NaN at others. `busy`: cores that other programs kept busy.
    """
    rows: list[dict[str, Any]] = []
    asked = (SpeedFacts.of(evidence.facts) or SpeedFacts()).processes
    for task, metric, size in itertools.product(evidence.facts.tasks, CALL_OF, [None, *sizes(evidence)]):
        found = group(evidence, task.name, metric, size)
        base = geometric_mean(found.values[BASELINE]) if BASELINE in found.values else NAN
        mine = dict([*found.rows[found.rows["own"].astype(bool) == (size is None)].groupby("variant")])
        for variant in evidence.facts.variants:
            if (timed := mine.get(variant.name)) is None or variant.name not in found.values:
                continue
            d, first = found.ratios(variant.name), timed.iloc[0]
            low, high = map(math.exp, d.interval())
            value = geometric_mean(found.values[variant.name])
            row = {
                "variant": variant.name,
                "baseline": BASELINE,
                "task": task.name,
                "size": float(first["size"]),
                "own": size is None,
                "metric": metric,
                "n": d.n,
                "value_variant": value,
                "value_baseline": base,
                **{"ratio": math.exp(d.mean), "ci_low": low, "ci_high": high},
                **{"slack": math.expm1(found.slack), "noise_floor": math.expm1(found.noise)},
                "parameters": variant.parameters.get(task.name, NAN) if size is None else NAN,
                "processes": asked,
            }
            if metric != MEMORY:
                row |= {
                    "examples_per_second": float(first["examples"]) / value,
                    "flops": float(first["flops"]),
                    "busy": float(timed["busy"].astype(float).mean()),
                }
            rows.append(row)
    return frame_of(rows, COLUMNS)


def geometric_mean(values: pd.Series) -> float:
    """Of seconds or bytes, one a process; NaN of none."""
    known = np.sort(values.dropna().to_numpy(float))
    if not len(known) or known[0] == known[-1]:
        return float(known[0]) if len(known) else NAN  # memory is exact
    return math.exp(np.log(known).mean())


def scaling(evidence: Evidence) -> pd.DataFrame:
    """The slope of log seconds, or log bytes, over log size: one row a variant, task and metric, with `SLOPES`.

    Least squares over the sizes in each of `n` processes; the mean over processes with its 95 % t interval. A slope of
    2 is time that grows with the square of the size. Empty where variants were timed at one size.
    """
    rows = []
    for task, metric in itertools.product(evidence.facts.tasks, CALL_OF if (over := sizes(evidence)) else ()):
        columns = {size: group(evidence, task.name, metric, size).values for size in over}
        for variant in evidence.facts.variants:
            # The sizes at which it was timed, and the processes that timed it at each of these.
            known = {size: found[variant.name] for size, found in columns.items() if variant.name in found}
            values = frame_of(known).dropna(axis="columns", how="all").dropna()
            if min(values.shape) > 0 and values.shape[1] > 1:
                slopes = np.polyfit(np.log([*values]), np.log(values.to_numpy()).T, 1)[0]
                slope, bounds = mean_interval(slopes)
                rows.append((variant.name, task.name, metric, slope, *bounds, len(slopes)))
    return frame_of(rows, SLOPES)


def tables(evidence: Evidence) -> dict[str, pd.DataFrame]:
    """Returns the ratios to the baseline, and the slopes over sizes, by the names of their files."""
    return {"speed": speeds(evidence), "scaling": scaling(evidence)}
