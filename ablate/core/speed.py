"""The calls of a config that can be timed, and the times of a whole run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ablate.core.record import Record

TimedCall = Literal["forward", "step", "generation"]
# forward: a pass without gradients on a training batch. step: a training step on it: forward, backward, optimizer.
# generation: the batch position by position, with what the model keeps of those before, as a causal model decodes.
CALLS: tuple[TimedCall, ...] = ("forward", "step", "generation")

RunTime = Literal["whole_run", "whole_run_cpu", "reported_step"]
# whole_run: seconds on the wall, from the start of a trial's process to its end. whole_run_cpu: seconds of processors,
# of that process and all that it has started. reported_step: a metric of the trial, in seconds.
RUN_TIMES: tuple[RunTime, ...] = ("whole_run", "whole_run_cpu", "reported_step")


@dataclass(frozen=True)
class Operation:
    """A call that can be timed: built, and ready to be repeated."""

    run: Callable[[], Any]
    # Sequences that one call processes.
    examples: int
    # Positions that one call reads, or writes where it generates.
    tokens: int
    # Counts the floating-point operations of the matrix products of one call, which may take long, so that only one
    # process does it; None where they are not known.
    flops: Callable[[], int | None] = lambda: None
    # `cpu`, or `cuda`, which is timed by events of the device.
    device: str = "cpu"


@dataclass(frozen=True)
class TimedRun:
    """A whole run of a trial, and what it took."""

    record: Record
    # On the wall, from the start of its process to its end.
    seconds: float
    # Of processors, by that process and all that it has started.
    cpu_seconds: float
