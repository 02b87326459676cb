"""Speed: what can be timed of a config, and the facts of a measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ablate.core.facts import Facts

TimedCall = Literal["forward", "step", "generation"]
CALLS: tuple[TimedCall, ...] = ("forward", "step", "generation")
"""forward: a pass without gradients on a training batch. step: a training step on it: forward, backward, optimizer.
generation: the batch position by position, with what the model keeps of those before, as a causal model decodes."""

LEAST = 0.02
"""The share of time below which no variant is called faster or slower."""
BUSY = 0.1
"""Cores that other programs kept busy, on average, from which it is said."""


@dataclass(frozen=True)
class Operation:
    """One call that can be timed: built, and ready to be repeated."""

    run: Callable[[], Any]
    examples: int
    "Sequences that one call processes."
    tokens: int
    "Positions that one call reads, or writes where it generates."
    flops: Callable[[], int | None] = lambda: None
    """Counts the floating-point operations of the matrix products of one call, which may take long, so that only one
    process does it; None where they are not known."""
    device: str = "cpu"
    "`cpu`, or `cuda`, which is timed by events of the device."


COLUMNS = (
    *("variant", "task", "size", "own", "call", "process", "seconds", "log_ratio", "memory"),
    *("examples", "tokens", "flops", "blocks", "busy"),
)
"""Of the frame `speed` of `Evidence`: one row a variant (no placebo), task, size, call and process, the unit of speed.

Size: at the path `SpeedFacts.over`; NaN without one. Own: whether it is the size that the study trains. Process: from 0
on. Seconds: median of a call. log_ratio: mean over blocks of the log of the ratio of its median time to the baseline's;
of the baseline that of a second copy of it. Memory: peak bytes of a step; NaN for others. Examples, tokens and flops of
one call; flops NaN where unknown. Busy: cores that other processes kept busy meanwhile, on average.
"""


@dataclass(frozen=True)
class SpeedFacts:
    """How the variants of a study were timed."""

    over: str = ""
    "The path whose values are the sizes; empty where each variant has its own size alone."
    sizes: list[float] = field(default_factory=list)
    margin: float = LEAST
    "The share of time within which two variants count as equally fast."
    processes: int = 0
    threads: int = 1
    machine: str = ""
    calls: list[TimedCall] = field(default_factory=lambda: list(CALLS))
    "What was asked for; a variant may not have all."

    @classmethod
    def of(cls, facts: Facts) -> SpeedFacts | None:
        """Those of a study; None where its variants were not timed."""
        return cls(**facts.features["speed"]) if "speed" in facts.features else None
