"""The calls of a config that can be timed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

TimedCall = Literal["forward", "step", "generation"]
# forward: a pass without gradients on a training batch. step: a training step on it: forward, backward, optimizer.
# generation: the batch position by position, with what the model keeps of those before, as a causal model decodes.
CALLS: tuple[TimedCall, ...] = ("forward", "step", "generation")


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
