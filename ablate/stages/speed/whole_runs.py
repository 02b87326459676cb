"""Times whole runs of the configs of a group beside one another, in one mirrored block (METHODS §7).

The block runs each config once in a random order, and then in the reverse of it, as `blocks` does with calls. Each run
is a process of its own, so that blocks are the replicates.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.process import now
from ablate.base.streams import numpy_stream
from ablate.core.record import outcome
from ablate.core.speed import TimedRun
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.stages.speed.group import TWIN, CallTimes, ConfigTimes, Group, GroupTimes
from ablate.stages.speed.other_programs import OtherPrograms

_TICK = 1e-9
RUNS_A_BLOCK = 2
"""Runs of each config in a block, and of the second copy of the baseline."""


@dataclass(frozen=True)
class RunRequest:
    """The runs of which one block is to be timed."""

    # Its number, which decides the order that it draws. Before the first, each config runs once uncounted.
    block: int
    # Of every run.
    seed: int
    # The metric that has the seconds that a run reports; empty: none.
    metric: str
    groups: Sequence[Group]


def measure_runs(
    workload: Workload, group: Group, request: RunRequest, at: Callable[[str], object]
) -> GroupTimes:
    """Measures one group by a block of whole runs.

    `at` hears of each config, by its key, before it is run. Raises `AblateError` for a run that does not complete,
    or does not report its seconds.
    """
    baseline = group.baseline
    others = OtherPrograms()

    def timed(config_copy: str) -> dict[str, float]:
        config_key = group.key_of(config_copy)
        at(config_key)
        return _times(workload, group.configs[config_key], config_key, request)

    if request.block == 0:
        for key in group.configs:
            timed(key)
    copies = [*group.configs, TWIN]
    draws = numpy_stream(request.block, "speed", group.key)
    order = [copies[index] for index in draws.permutation(len(copies))]
    times: dict[str, list[dict[str, float]]] = {key: [] for key in copies}
    for key in [*order, *reversed(order)]:
        times[key].append(timed(key))
    means = {key: _means(of_runs) for key, of_runs in times.items()}
    configs: dict[str, ConfigTimes] = {}
    for key in group.configs:
        compared = TWIN if key == baseline else key
        configs[key] = {"memory": None, "calls": _calls(means[key], means[compared], means[baseline])}
    return {"measured": now(), "busy": others.cores(), "configs": configs}


def _times(workload: Workload, config: Mapping[str, Any], key: str, request: RunRequest) -> dict[str, float]:
    """Returns the times of one whole run, by `RunTime`. Raises `AblateError`."""
    trial = Trial(f"{key}-timed", copy.deepcopy(dict(config)), request.seed)
    run = workload.time_run(trial)
    if run.record.status != "completed":
        raise AblateError(outcome(run.record.status, run.record.reason))
    times = {"whole_run": run.seconds, "whole_run_cpu": run.cpu_seconds}
    if request.metric:
        times["reported_step"] = _reported(run, request.metric)
    return times


def _reported(run: TimedRun, metric: str) -> float:
    """Returns the seconds that a run reports. Raises `AblateError` for what is no time."""
    seconds = run.record.metrics.get(metric)
    if seconds is None or not (math.isfinite(seconds) and seconds > 0):
        given = "nothing" if seconds is None else f"{seconds:g}"
        raise AblateError(f"it reports {given} as {metric}, which must be seconds above 0")
    return seconds


def _means(times: list[dict[str, float]]) -> dict[str, float]:
    """Returns the mean of each time over the runs of a block."""
    return {name: max(fmean(of_run[name] for of_run in times), _TICK) for name in times[0]}


def _calls(
    means: Mapping[str, float], compared: Mapping[str, float], baseline: Mapping[str, float]
) -> dict[str, CallTimes]:
    """Returns the times of a config as a file keeps those of calls; compared: what its ratio to the baseline is of."""
    calls: dict[str, CallTimes] = {}
    for name, seconds in means.items():
        calls[name] = {
            "seconds": seconds,
            "log_ratio": math.log(compared[name] / baseline[name]),
            "blocks": 1,
            "calls": RUNS_A_BLOCK,
            "examples": None,
            "tokens": None,
            "flops": None,
        }
    return calls
