"""Times several operations beside one another in randomised mirrored blocks (METHODS §7).

A block visits all of them in a random order, and then in the reverse of it (A B C C B A): a drift within a block takes
from each as much as it gives. The operations of a block are compared with one another, and never with another block's.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from ablate.core.speed import Operation

BUDGET = 1.0
"""Seconds that one operation should take in all blocks together; slow ones take more."""
FEWEST, MOST = 4, 12
"""Blocks."""
VISITS = 100
"""A visit takes this part of the budget at least, or `CALLS` calls, as long as the budget lasts."""
CALLS = 3
MOST_WARM = 100
"""Calls of a warm-up, and the first one."""
_TICK = 1e-9

Clock = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """How long a call of one operation takes."""

    seconds: float
    "The median over blocks of the median of a block."
    log_ratio: float
    "The mean over blocks of the log of its median over that of the first operation."
    blocks: int
    calls: int
    "Calls that were counted, the same for all operations."


def time_blocks(
    operations: Mapping[str, Operation],
    orders: np.random.Generator,
    at: Callable[[str], object] = lambda name: None,
    *,
    budget: float = BUDGET,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Times a call of each operation; ratios are to the first.

    `orders` draws the orders; `at` hears of each operation before it is called. `budget` is in seconds.
    """
    names = list(operations)
    once = []
    for name in names:
        at(name)
        once.append(_warmed(operations[name], budget, clock))
    calls, blocks = effort(min(once), max(once), budget)
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for _ in range(blocks):
        # What calls leave behind is removed between blocks, and never within one.
        gc.collect()
        order = [names[i] for i in orders.permutation(len(names))]
        for times in found.values():
            times.append([])
        for name in [*order, *reversed(order)]:
            at(name)
            found[name][-1] += _visit(operations[name], calls, clock)
    medians = {name: [max(median(block), _TICK) for block in times] for name, times in found.items()}
    first = medians[names[0]]
    return {
        name: Timing(
            median(own),
            fmean(math.log(a / b) for a, b in zip(own, first, strict=True)),
            blocks,
            sum(map(len, found[name])),
        )
        for name, own in medians.items()
    }


def effort(fastest: float, slowest: float, budget: float = BUDGET) -> tuple[int, int]:
    """Calls of a visit and blocks, for operations of which a call takes `fastest` to `slowest` seconds.

    All get the same: visits long enough for the fastest, as far as the slowest leaves some of the budget.
    """
    fastest, slowest = max(fastest, _TICK), max(slowest, _TICK)
    wanted = max(math.ceil(budget / VISITS / fastest), CALLS) + 1
    calls = max(1, min(wanted, math.floor(budget / (2 * FEWEST * slowest))))
    blocks = math.floor(budget / (2 * calls * slowest))
    return calls, min(max(blocks, FEWEST), MOST)


def _warmed(operation: Operation, budget: float, clock: Clock) -> float:
    """Calls until caches are warm; the median time of a call, without the first."""
    _visit(operation, 1, clock)
    times = _visit(operation, 1, clock)
    while sum(times) < budget / FEWEST / CALLS and len(times) < MOST_WARM:
        times += _visit(operation, 1, clock)
    return median(times)


def _visit(operation: Operation, calls: int, clock: Clock) -> list[float]:
    """Seconds of each of so many calls; of several without the first, which finds the caches of another operation."""
    times = (_on_cuda if operation.device == "cuda" else _on_cpu)(operation.run, calls, clock)
    return times[1:] or times


def _on_cpu(run: Callable[[], object], calls: int, clock: Clock) -> list[float]:
    marks = [clock()]
    for _ in range(calls):
        run()
        marks.append(clock())
    return [end - start for start, end in pairwise(marks)]


def _on_cuda(run: Callable[[], object], calls: int, clock: Clock) -> list[float]:
    """By events of the device, which waits for nothing between the calls of a visit, as in training."""
    import torch

    marks = [torch.cuda.Event(enable_timing=True) for _ in range(calls + 1)]
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        run()
        mark.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1000 for start, end in pairwise(marks)]
