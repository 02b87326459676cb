"""The process that measures: it times what it is sent, once, and ends; it ends at once when its pipe closes."""

from __future__ import annotations

import copy
import gc
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from ablate.base.clock import now
from ablate.base.errors import AblateError, described
from ablate.base.plugins import raised_by_plugin
from ablate.base.streams import numpy_stream
from ablate.core.speed import Operation
from ablate.core.workload import Workload
from ablate.execution.child import parent
from ablate.features.speed.blocks import ALONE, BUDGET, WALL, time_blocks
from ablate.features.speed.memory import peak_of_step
from ablate.features.speed.others import Others

Found = dict[str, Any]
"""Of one group in one process, as plain data: measured, busy, configs: key → memory, calls: name → its times."""
_TWIN = ""
"""The key of the second copy of the baseline."""


@dataclass(frozen=True)
class Group:
    """Configs that are timed beside one another."""

    key: str
    configs: Mapping[str, Mapping[str, Any]]
    "By key, the baseline first."


@dataclass(frozen=True)
class Request:
    """What one process is to measure."""

    process: int
    "Its number, which decides the orders that it draws."
    calls: Sequence[str]
    groups: Sequence[Group]
    budget: float = BUDGET


@dataclass(frozen=True)
class At:
    """The process turns to a config."""

    config: str


@dataclass(frozen=True)
class Done:
    """A group is measured."""

    found: Found


@dataclass(frozen=True)
class Failed:
    """The config that it was at cannot be measured."""

    reason: str


def measure_group(workload: Workload, group: Group, request: Request, at: Callable[[str], object]) -> Found:
    """Measures one group in this process; `at` hears of each config before anything is done with it."""
    others, base = Others(), next(iter(group.configs))
    draws = numpy_stream(request.process, "speed", group.key)
    # Of several threads, one may wait for a core that the others of its own process have: that is time of the call.
    clock = ALONE if workload.threads == 1 else WALL

    def turn(key: str) -> str:
        at(key or base)
        return key or base

    def built(key: str) -> Mapping[str, Operation]:
        # A copy: what a workload does to its config is not what was asked for.
        return workload.operations(copy.deepcopy(dict(group.configs[turn(key)])))

    memory: dict[str, int | None] = {}
    # The baseline twice: the first step of a process pays for what stays (cuBLAS's workspaces, the caches of a task).
    for key in (base, *group.configs) if "step" in request.calls else ():
        memory[key] = peak_of_step(lambda key=key: built(key))  # type: ignore[misc]
    copies = [*group.configs, _TWIN]
    operations = {copies[i]: built(copies[i]) for i in draws.permutation(len(copies))}
    calls: dict[str, dict[str, Any]] = {key: {} for key in group.configs}
    timed = [call for call in request.calls if call in operations[base]]
    if not timed:
        turn(base)
        raise AblateError(f"its workload offers none of the calls {', '.join(request.calls)}")
    for call in timed:
        those = {key: operations[key][call] for key in copies if call in operations[key]}
        timings = time_blocks(those, draws, turn, budget=request.budget, clock=clock)
        for key in those.keys() - {_TWIN}:
            facts = {name: getattr(those[key], name) for name in ("examples", "tokens")}
            calls[key][call] = asdict(timings[key]) | facts
        calls[base][call]["log_ratio"] = timings[_TWIN].log_ratio
    busy = others.cores()
    # They are the same in every process, and of a long recurrence they take longer to count than all the rest.
    for key, found in calls.items() if request.process == 0 else ():
        for call, of in found.items():
            of["flops"] = operations[turn(key)][call].flops()
    configs = {key: {"memory": memory.get(key), "calls": calls[key]} for key in group.configs}
    return {"measured": now(), "busy": busy, "configs": configs}


def main() -> NoReturn:
    """Entry point; see `Child`."""
    connection = parent()
    with suppress(EOFError, OSError):
        reference, request = connection.recv()
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        gc.disable()  # it would choose its own moments
        try:
            workload = reference.load()
            for group in request.groups:
                gc.freeze()
                found = measure_group(workload, group, request, lambda key: connection.send(At(key)))
                connection.send(Done(found))
                gc.collect()
        except (Exception, SystemExit) as error:
            text = error if isinstance(error, AblateError) else raised_by_plugin(error) or described(error)[0]
            connection.send(Failed(str(text)))
    os._exit(0)


def _end_with(connection: Connection) -> NoReturn:
    with suppress(EOFError, OSError):
        connection.recv()
    os._exit(0)
