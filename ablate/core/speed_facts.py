"""The facts of timing the variants of a study, as its report keeps them, and the columns of what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ablate.core.speed import CALLS, RunTime, TimedCall
from ablate.core.stage_facts import StageFacts

LEAST = 0.02  # The share of time below which no variant is called faster or slower.
BUSY = 0.1  # Cores that other programs kept busy, on average, from which it is said.


@dataclass(frozen=True)
class SpeedFacts(StageFacts):
    """The conditions under which the variants of a study were timed.

    The frame has one row a variant (no placebo), task, size, call and process, the unit of speed. Size: at the path
    `over`; NaN without one. Own: whether it is the size that the study trains. Process: from 0 on. Seconds: median of a
    call. log_ratio: mean over blocks of the log of the ratio of its median time to the baseline's; of the baseline that
    of a second copy of it. Memory: peak bytes of a step; NaN for others. Examples, tokens and flops of one call; NaN
    where unknown. Busy: cores that other processes kept busy meanwhile, on average.

    Of whole runs, `call` is a `RunTime` and `process` a block of them.
    """

    key = "speed"
    columns = (
        *("variant", "task", "size", "own", "call", "process", "seconds", "log_ratio", "memory"),
        *("examples", "tokens", "flops", "blocks", "busy"),
    )

    over: str = ""  # The path whose values are the sizes; empty where each variant has its own size alone.
    sizes: list[float] = field(default_factory=list)
    margin: float = LEAST  # The share of time within which two variants count as equally fast.
    processes: int = 0
    threads: int = 1
    machine: str = ""
    # What was asked for; a variant may not have all.
    calls: list[TimedCall | RunTime] = field(default_factory=lambda: list(CALLS))
    metric: str = ""  # That has the seconds which runs report; empty where none is named.

    def plain(self) -> dict[str, Any]:
        """Returns the facts as files have them; without a metric where none is named."""
        plain = super().plain()
        return plain if self.metric else {name: value for name, value in plain.items() if name != "metric"}
