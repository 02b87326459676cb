"""The process that measures, and how its driver sees it: it times what it is sent, once, and ends.

It ends at once when its pipe closes. What it tells is a word and what belongs to it: `at` the key of the config that it
turns to, `done` what it has found of a group, `failed` why the config that it was at cannot be measured.
"""

import copy
import gc
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from ablate.base.errors import AblateError, described
from ablate.base.plugins import raised_by_plugin
from ablate.base.process import now
from ablate.base.streams import numpy_stream
from ablate.core.speed import Operation
from ablate.core.workload import Workload
from ablate.execution.child import Child, fresh, parent
from ablate.execution.run_trial import WorkloadRef
from ablate.stages.speed.blocks import BUDGET, time_blocks, waited

# Of one group in one process, as plain data: measured, busy, configs: key → memory, calls: name → its times.
Found = dict[str, Any]
_TWIN = ""  # The key of the second copy of the baseline.
_SECOND = "ablate: second step"
# Places of user, nice, system, irq, softirq and steal in the first line of /proc/stat.
_BUSY = (0, 1, 2, 5, 6, 7)


@dataclass(frozen=True)
class Group:
    """Configs that are timed beside one another."""

    key: str
    configs: Mapping[str, Mapping[str, Any]]  # By key, the baseline first.


@dataclass(frozen=True)
class Request:
    """The groups and the calls that one process is to measure."""

    process: int  # Its number, which decides the orders that it draws.
    calls: Sequence[str]
    groups: Sequence[Group]
    budget: float = BUDGET


class Requested(Protocol):
    """All that one process is to measure."""

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, in the order in which they are measured."""


RequestT = TypeVar("RequestT", bound=Requested)
Measure = Callable[[Workload, Group, RequestT, Callable[[str], object]], Found]
"""Measures one group of a request in this process, and tells of each config, by its key, before it turns to it."""


class CannotBeTimedError(AblateError):
    """A config that could not be measured, and why."""

    exit_code = 1


def measured(
    where: WorkloadRef,
    measure: Measure[RequestT],
    request: RequestT,
    advice: Callable[[str, str, str], str],
) -> Generator[tuple[str, Found]]:
    """Yields the key and the results of each group of a request as soon as it is measured.

    It is measured in a process of its own, which ends with this generator. Raises `CannotBeTimedError`, with the
    `advice` on a group, a config and the reason.
    """
    child = Child(partial(fresh, __name__, threads=where.threads))
    try:
        child.send((where, measure, request))
        for group in request.groups:
            word, config = "", next(iter(group.configs))
            while word != "done":
                try:
                    word, told = child.connection.recv()
                except (EOFError, OSError):
                    word, told = "failed", f"its process {child.fate()}"
                if word == "failed":
                    raise CannotBeTimedError(advice(group.key, config, told))
                config = told if word == "at" else config
            yield group.key, told
    finally:
        child.end()


def measure_group(workload: Workload, group: Group, request: Request, at: Callable[[str], object]) -> Found:
    """Measures one group in this process.

    `at` hears of each config, by its key, before anything is done with it. Returns plain data: see `Found`.
    """
    base, start = next(iter(group.configs)), (_busy(), time.process_time(), time.monotonic())
    draws = numpy_stream(request.process, "speed", group.key)
    # Of several threads, one may wait for a core that the others of its own process have: that is time of the call.
    waits = waited if workload.threads == 1 else lambda: 0.0

    def turn(key: str) -> str:
        at(key or base)
        return key or base

    def built(key: str) -> Mapping[str, Operation]:
        # A copy: what a workload does to its config is not what was asked for.
        return workload.operations(copy.deepcopy(dict(group.configs[turn(key)])))

    # The baseline twice: the first step of a process pays for what stays (cuBLAS's workspaces, the caches of a task).
    stepped = (base, *group.configs) if "step" in request.calls else ()
    memory = {key: peak_of_step(partial(built, key)) for key in stepped}
    copies = [*group.configs, _TWIN]
    operations = {copies[i]: built(copies[i]) for i in draws.permutation(len(copies))}
    calls: dict[str, dict[str, Any]] = {key: {} for key in group.configs}
    timed = [call for call in request.calls if call in operations[base]]
    if not timed:
        turn(base)
        raise AblateError(f"its workload offers none of the calls {', '.join(request.calls)}")
    for call in timed:
        those = {key: operations[key][call] for key in copies if call in operations[key]}
        timings = time_blocks(those, draws, turn, budget=request.budget, waits=waits)
        for key in those.keys() - {_TWIN}:
            size = {"examples": those[key].examples, "tokens": those[key].tokens}
            calls[key][call] = asdict(timings[key]) | size
        calls[base][call]["log_ratio"] = timings[_TWIN].log_ratio
    machine, own, passed = _busy() - start[0], time.process_time() - start[1], time.monotonic() - start[2]
    # They are the same in every process, and of a long recurrence they take longer to count than all the rest.
    for key, found in calls.items() if request.process == 0 else ():
        for call, of in found.items():
            of["flops"] = operations[turn(key)][call].flops()
    return {
        "measured": now(),
        "busy": max(0.0, machine - own) / max(passed, 1e-9),
        "configs": {key: {"memory": memory.get(key), "calls": calls[key]} for key in group.configs},
    }


def _busy() -> float:
    """Returns the seconds that all cores were busy since the machine started; 0 where unknown."""
    try:
        ticks = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        return sum(int(ticks[place]) for place in _BUSY) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


class OtherPrograms:
    """The programs that keep cores busy beside this process and its children, from now on."""

    def __init__(self) -> None:
        self._busy = _busy()
        self._own = _own_seconds()
        self._moment = time.monotonic()

    def cores(self) -> float:
        """Returns the cores that they have kept busy so far, on average."""
        busy = _busy() - self._busy
        own = _own_seconds() - self._own
        passed = time.monotonic() - self._moment
        return max(0.0, busy - own) / max(passed, 1e-9)


def _own_seconds() -> float:
    """Returns the seconds of processors that this process and its ended children have taken."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_of_step(build: Callable[[], Mapping[str, Operation]]) -> int | None:
    """Returns the most bytes that are in use at once during a step.

    They hold weights, gradients, optimizer, data and all that a pass keeps. It is the second step, so that the
    optimizer has its state. On CPU the sum of all that torch's allocator gave out and took back since `build` began, on
    a GPU the device's own peak. None where there is no step, or it takes none of torch's memory.
    """
    if "torch" not in sys.modules:
        return None
    import torch
    from torch.autograd import profiler

    gc.collect()
    before = torch.cuda.memory_allocated() if torch.cuda.is_available() else 0
    with profiler.profile(profile_memory=True) as profile:
        step = build().get("step")
        if step is None:
            return None
        step.run()
        gc.collect()
        if step.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        with profiler.record_function(_SECOND):
            step.run()
    if step.device == "cuda":
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    events = profile.kineto_results.events()
    start = next(event.start_ns() for event in events if event.name() == _SECOND)
    # Events of memory say how many bytes were taken or given back.
    memory = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    before = sum(size for moment, size in memory if moment < start)
    return max(accumulate((size for moment, size in memory if moment >= start), initial=before)) or None


def main() -> NoReturn:
    """Runs the process that measures, which `Child` starts, and ends it."""
    connection = parent()
    with suppress(EOFError, OSError):
        reference, measure, request = connection.recv()
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        gc.disable()  # it would choose its own moments
        try:
            workload = reference.load()
            for group in request.groups:
                found = measure(workload, group, request, lambda key: connection.send(("at", key)))
                connection.send(("done", found))
                gc.collect()
        except (Exception, SystemExit) as error:
            text = error if isinstance(error, AblateError) else raised_by_plugin(error) or described(error)[0]
            connection.send(("failed", str(text)))
    os._exit(0)


def _end_with(connection: Connection) -> NoReturn:
    """Ends this process as soon as its pipe closes."""
    with suppress(EOFError, OSError):
        connection.recv()
    os._exit(0)
