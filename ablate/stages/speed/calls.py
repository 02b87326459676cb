"""Times the calls of the configs of a group beside one another, in one process (METHODS §7)."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ablate.base.errors import AblateError
from ablate.base.process import now
from ablate.base.streams import numpy_stream
from ablate.core.speed import Operation
from ablate.core.workload import Workload
from ablate.stages.speed.blocks import BUDGET, time_blocks, waited
from ablate.stages.speed.group import TWIN, CallTimes, Group, GroupTimes
from ablate.stages.speed.other_programs import OtherPrograms
from ablate.stages.speed.step_memory import peak_of_step

Operations = Mapping[str, Mapping[str, Operation]]
"""Copy of a config → call → its operation."""


@dataclass(frozen=True)
class Request:
    """The groups and the calls that one process is to measure."""

    process: int  # Its number, which decides the orders that it draws.
    calls: Sequence[str]
    groups: Sequence[Group]
    budget: float = BUDGET


def measure_group(
    workload: Workload, group: Group, request: Request, at: Callable[[str], object]
) -> GroupTimes:
    """Measures the calls of one group, and the memory of their steps, in this process.

    `at` hears of each config, by its key, before anything is done with it. Raises `AblateError` where the baseline has
    none of the calls.
    """
    others = OtherPrograms()
    draws = numpy_stream(request.process, "speed", group.key)
    configs = _Configs(workload, group, at)
    memory = configs.memory() if "step" in request.calls else {}
    copies = [*group.configs, TWIN]
    operations = {copies[index]: configs.build(copies[index]) for index in draws.permutation(len(copies))}
    calls = _times(workload, request, configs, operations=operations, draws=draws)
    busy = others.cores()
    if request.process == 0:
        _count_flops(calls, configs, operations)
    return {
        "measured": now(),
        "busy": busy,
        "configs": {key: {"memory": memory.get(key), "calls": calls[key]} for key in group.configs},
    }


class _Configs:
    """The configs of a group, each announced by its key before anything is done with it."""

    def __init__(self, workload: Workload, group: Group, at: Callable[[str], object]) -> None:
        self.group = group
        self._workload = workload
        self._at = at

    def announce(self, config_copy: str) -> str:
        """Announces the config of a copy, and returns its key."""
        key = self.group.key_of(config_copy)
        self._at(key)
        return key

    def build(self, config_copy: str) -> Mapping[str, Operation]:
        """Builds the operations of a copy of a config."""
        config = self.group.configs[self.announce(config_copy)]
        # A copy: what a workload does to its config is not what was asked for.
        return self._workload.operations(copy.deepcopy(dict(config)))

    def memory(self) -> dict[str, int | None]:
        """Measures the memory of each config's training step, by key.

        The baseline twice: the first step of a process pays for what stays (cuBLAS's workspaces, the caches of a task).
        """
        memory = {}
        for key in (self.group.baseline, *self.group.configs):
            memory[key] = peak_of_step(partial(self.build, key))
        return memory


def _times(
    workload: Workload,
    request: Request,
    configs: _Configs,
    *,
    operations: Operations,
    draws: np.random.Generator,
) -> dict[str, dict[str, CallTimes]]:
    """Times each call of the configs beside one another: key → call → its times. Raises `AblateError`."""
    group = configs.group
    # Of several threads, one may wait for a core that the others of its own process have: that is time of the call.
    waits = waited if workload.threads == 1 else _never_waits
    timed = [call for call in request.calls if call in operations[group.baseline]]
    if not timed:
        configs.announce(group.baseline)
        raise AblateError(f"its workload offers none of the calls {', '.join(request.calls)}")

    times: dict[str, dict[str, CallTimes]] = {key: {} for key in group.configs}
    for call in timed:
        copies = [key for key in (*group.configs, TWIN) if call in operations[key]]
        of_call = {key: operations[key][call] for key in copies}
        timings = time_blocks(of_call, draws, configs.announce, budget=request.budget, waits=waits)
        for key in copies:
            if key == TWIN:
                continue
            times[key][call] = {
                "seconds": timings[key].seconds,
                "log_ratio": timings[TWIN if key == group.baseline else key].log_ratio,
                "blocks": timings[key].blocks,
                "calls": timings[key].calls,
                "examples": of_call[key].examples,
                "tokens": of_call[key].tokens,
            }
    return times


def _never_waits() -> float:
    """Returns 0, as the seconds that calls have waited for a core."""
    return 0.0


def _count_flops(
    times: Mapping[str, Mapping[str, CallTimes]], configs: _Configs, operations: Operations
) -> None:
    """Adds the FLOPs of each call, which are the same in every process.

    Of a long recurrence they take longer to count than all the rest.
    """
    for key, calls in times.items():
        for call, call_times in calls.items():
            configs.announce(key)
            call_times["flops"] = operations[key][call].flops()
