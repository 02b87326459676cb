"""Seconds of a training step, from short trainings of several configs that take turns in blocks."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.streams import numpy_stream
from ablate.core.trial import Trial
from ablate.core.workload import Workload
from ablate.records.environment import machine

BLOCKS = 5
SHORT = 3
"Steps of the short training; in the difference to the long one, all costs but those of steps cancel."
Config = dict[str, Any]
LONG_SECONDS = 0.3
"Time that the further steps of the long training should take."
FEWEST, MOST = 10, 500
"Further steps of the long training."


@dataclass(frozen=True)
class Timing:
    """The times of several configs, measured in turn."""

    seconds_per_step: Sequence[Sequence[float]]
    "Configs × blocks."
    machine: str


def time_steps(workload: Workload, configs: Mapping[str, Config]) -> Timing:
    """Measures the seconds of a step of every config in `BLOCKS` blocks; each times all configs in random order.

    The rate in a block is the slope between a short and a longer training, so that building, evaluating and loading
    data cancel. A first pass, which does not count, warms up and gives the number of steps to time. Raises
    `AblateError` with the name of a config that cannot be trained.
    """
    names = list(configs)
    long = {}
    for name in names:
        _seconds(workload, configs[name], SHORT, name)
        further = _seconds(workload, configs[name], SHORT + FEWEST, name)
        further -= _seconds(workload, configs[name], SHORT, name)
        wanted = math.ceil(LONG_SECONDS * FEWEST / further) if further > 0 else MOST
        long[name] = min(max(wanted, FEWEST), MOST)
    rates: dict[str, list[float]] = {name: [] for name in names}
    for block in range(BLOCKS):
        for index in numpy_stream(0, "rates", block).permutation(len(names)):
            name = names[index]
            short = _seconds(workload, configs[name], SHORT, name)
            whole = _seconds(workload, configs[name], SHORT + long[name], name)
            rates[name].append((whole - short) / long[name])
    for name, measured in rates.items():
        if sorted(measured)[BLOCKS // 2] <= 0:
            raise AblateError(f"{name}: a training step is too short to be timed; match compute instead")
    return Timing([rates[name] for name in names], machine())


def _seconds(workload: Workload, config: Config, steps: int, name: str) -> float:
    """Wall clock of a training of `steps` steps, in this process."""
    reached = 0

    def emit(step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        nonlocal reached
        reached = step
        return False

    trial = Trial("", workload.timed(config, steps), 0)
    started = time.perf_counter()
    try:
        record = workload.train(trial, emit)
    except Exception as error:
        raise AblateError(f"{name}: cannot be timed: {type(error).__name__}: {error}") from error
    seconds = time.perf_counter() - started
    if record.status != "completed" and reached < steps:
        raise AblateError(f"{name}: cannot be timed: {record.reason or record.status} within {steps} steps")
    return seconds
