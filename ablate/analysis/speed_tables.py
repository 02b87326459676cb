"""The tables of speed: ratios to the baseline, and how seconds and bytes grow with the size."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, mean_interval
from ablate.analysis.speed import Group, group, sizes
from ablate.core.derived import CALL_OF, STEP_MEMORY
from ablate.core.facts import BASELINE, Evidence, VariantFacts
from ablate.core.rows import frame_of_rows
from ablate.core.speed_facts import SpeedFacts


@dataclass(frozen=True)
class SpeedRow:
    """The speed of a variant on one task, by one metric, at one size; NaN where a number is not known."""

    variant: str
    baseline: str
    task: str
    size: float
    """The value at the path whose values are the sizes; NaN without one."""
    own: bool
    """Whether it is the size that the study trains."""
    metric: str
    """A name of `core.derived.CALL_OF`: `step_seconds`, `step_memory`, `whole_run_seconds`."""
    n: int
    """The number of processes that timed the variant; of whole runs, of blocks."""
    value_variant: float
    """Seconds of a call or run, or peak bytes of a step: the geometric mean over the processes."""
    value_baseline: float
    """The same of the baseline."""
    ratio: float
    """The ratio of the variant to the baseline, so that below 1 is better; of the baseline that of its two copies."""
    ci_low: float
    """The lower end of its 95 % interval."""
    ci_high: float
    """The upper end of its 95 % interval."""
    slack: float
    """What a ratio must differ from 1 by: the noise floor, or 2 %; a ratio − 1."""
    noise_floor: float
    """The larger bound of the interval of the baseline against itself; a ratio − 1."""
    examples_per_second: float
    """The sequences that calls process in a second; NaN of memory and of whole runs."""
    flops: float
    """The floating-point operations of one call; NaN of memory."""
    parameters: float
    """The trainable parameters at the size that the study trains; NaN at others."""
    processes: int
    """The number of processes that were asked for."""
    busy: float
    """The cores that other programs kept busy meanwhile, on average; NaN of memory."""


@dataclass(frozen=True)
class SlopeRow:
    """The growth of seconds, or of peak bytes, of a variant with the size on one task."""

    variant: str
    task: str
    metric: str
    """The metric, as in `SpeedRow`."""
    slope: float
    """The slope of log seconds, or log bytes, over log size: 2 is time that grows with the square of the size."""
    ci_low: float
    """The lower end of its 95 % interval, of t over processes."""
    ci_high: float
    """The upper end of its 95 % interval."""
    n: int
    """The number of processes that timed the variant at each of its sizes."""


def speed_tables(evidence: Evidence) -> dict[str, pd.DataFrame]:
    """Returns the ratios to the baseline, and the slopes over sizes, by the names of their files."""
    return {"speed": speeds(evidence), "scaling": scaling(evidence)}


def speeds(evidence: Evidence) -> pd.DataFrame:
    """Returns a table of `SpeedRow`, one a task, metric, size and variant that was timed.

    The study's own size comes first.
    """
    facts = evidence.facts
    timing = facts.of(SpeedFacts)
    if timing is None:
        return frame_of_rows([], SpeedRow)
    rows = []
    for task, metric, size in product(facts.tasks, CALL_OF, [None, *sizes(evidence)]):
        timed = group(evidence, task.name, metric, size)
        # A variant whose own size is among the sizes has a row for it already.
        measured = timed.rows[timed.rows["own"].astype(bool) == (size is None)]
        for variant in facts.variants:
            of_variant = measured[measured["variant"] == variant.name]
            if len(of_variant) and variant.name in timed.values:
                rows.append(_speed_row(timed, variant, of_variant, timing.processes))
    return frame_of_rows(rows, SpeedRow)


def _speed_row(timed: Group, variant: VariantFacts, measured: pd.DataFrame, processes: int) -> SpeedRow:
    """Returns the row of a variant in its group; `measured` has a row for each process that timed it."""
    first = measured.iloc[0]
    own = bool(first["own"])
    value = timed.value(variant.name)
    logs = timed.ratios(variant.name)
    low, high = logs.interval()
    examples_per_second = flops = busy = NAN
    if timed.metric != STEP_MEMORY:
        examples_per_second = float(first["examples"]) / value
        flops = float(first["flops"])
        busy = float(measured["busy"].astype(float).mean())
    return SpeedRow(
        variant=variant.name,
        baseline=BASELINE,
        task=first["task"],
        size=float(first["size"]),
        own=own,
        metric=timed.metric,
        n=logs.n,
        value_variant=value,
        value_baseline=timed.value(BASELINE),
        ratio=math.exp(logs.mean),
        ci_low=math.exp(low),
        ci_high=math.exp(high),
        slack=math.expm1(timed.slack),
        noise_floor=math.expm1(timed.noise),
        examples_per_second=examples_per_second,
        flops=flops,
        parameters=variant.parameters.get(first["task"], NAN) if own else NAN,
        processes=processes,
        busy=busy,
    )


def scaling(evidence: Evidence) -> pd.DataFrame:
    """Returns a table of `SlopeRow`, one a variant, task and metric; empty where variants were timed at one size.

    Least squares over the sizes in each process; then the mean over processes with its t interval.
    """
    timed_sizes = sizes(evidence)
    if not timed_sizes:
        return frame_of_rows([], SlopeRow)
    rows = []
    for task, metric in product(evidence.facts.tasks, CALL_OF):
        values = {size: group(evidence, task.name, metric, size).values for size in timed_sizes}
        for variant in evidence.facts.variants:
            of_variant = {
                size: timed[variant.name] for size, timed in values.items() if variant.name in timed
            }
            # The sizes at which it was timed, and the processes that timed it at each of these.
            by_process = pd.DataFrame(of_variant).dropna(axis="columns", how="all").dropna()
            num_processes, num_sizes = by_process.shape
            if not num_processes or num_sizes < 2:
                continue
            log_sizes = np.log(by_process.columns.to_numpy(float))
            slopes = np.polyfit(log_sizes, np.log(by_process.to_numpy()).T, 1)[0]
            slope, (low, high) = mean_interval(slopes)
            rows.append(SlopeRow(variant.name, task.name, metric, slope, low, high, n=num_processes))
    return frame_of_rows(rows, SlopeRow)
