"""Times several operations beside one another in randomised mirrored blocks (METHODS §7).

A block visits all of them in a random order, and then in the reverse of it (A B C C B A): a drift within a block takes
from each as much as it gives. The operations of a block are compared with one another, and never with another block's.
On CPU the time of a call is that on the wall; of one thread, without what it waited for a core that others had.
"""

import gc
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from time import perf_counter

import numpy as np

from ablate.core.speed import Operation

BUDGET = 1.0  # Seconds that one operation should take in all blocks together; slow ones take more.
FEWEST = 4  # Blocks.
MOST = 40
VISITS = 100  # A visit takes this part of the budget at least, or `CALLS` calls, as long as the budget lasts.
CALLS = 3
MOST_WARM = 100  # Calls of a warm-up, and the first one.
_TICK = 1e-9


def waited() -> float:
    """Returns the seconds that this thread has waited for a core while others had it.

    Its own waiting, for a lock, a file or a clock, is not among them. 0 where the system does not say.
    """
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


@dataclass(frozen=True)
class Timing:
    """The time that a call of one operation takes."""

    seconds: float  # The median over blocks of the median of a block.
    log_ratio: float  # The mean over blocks of the log of its median over that of the first operation.
    blocks: int
    calls: int  # Calls that were counted.


def time_blocks(
    operations: Mapping[str, Operation],
    orders: np.random.Generator,
    at: Callable[[str], object] = lambda name: None,
    *,
    budget: float = BUDGET,
    waits: Callable[[], float] = waited,
) -> dict[str, Timing]:
    """Times a call of each operation beside the others; ratios are to the first.

    `orders` draws the orders; `at` hears of each operation before it is called. `budget`: seconds. `waits` returns the
    seconds that calls have waited for a core so far, which do not count. The process that measures has turned the
    garbage collector off.
    """
    names = list(operations)
    warm_seconds = {}
    for name in names:
        at(name)
        warm_seconds[name] = _warmed(operations[name], budget, waits)
    calls, num_blocks = effort(warm_seconds, budget)
    # Operation → block → the seconds of each call.
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    gc.freeze()  # A collection between blocks, which looks at all that exists already, would take long.
    for _ in range(num_blocks):
        order = [names[index] for index in orders.permutation(len(names))]
        for name in names:
            times[name].append([])
        for name in [*order, *reversed(order)]:
            at(name)
            times[name][-1] += _visit(operations[name], calls[name], waits)
        gc.collect()
    gc.unfreeze()
    return _timings(times)


def _timings(times: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, Timing]:
    """Returns the timing of each operation; times: operation → block → the seconds of each call."""
    medians: dict[str, list[float]] = {}
    for name, blocks in times.items():
        medians[name] = [max(median(block), _TICK) for block in blocks]
    first = next(iter(medians.values()))
    timings = {}
    for name, seconds in medians.items():
        log_ratios = [math.log(a / b) for a, b in zip(seconds, first, strict=True)]
        timings[name] = Timing(
            seconds=median(seconds),
            log_ratio=fmean(log_ratios),
            blocks=len(seconds),
            calls=sum(len(block) for block in times[name]),
        )
    return timings


def effort(seconds: Mapping[str, float], budget: float = BUDGET) -> tuple[dict[str, int], int]:
    """Returns the calls of one visit, by operation, and the number of blocks.

    `seconds`: operation → the time of one call. The blocks are as many as the slowest leaves time for; a visit of a
    faster one is longer than a moment.
    """
    calls = {}
    blocks = MOST
    for name, once in seconds.items():
        once = max(once, _TICK)
        wanted = max(math.ceil(budget / VISITS / once), CALLS) + 1
        affordable = math.floor(budget / (2 * FEWEST * once))
        calls[name] = max(1, min(wanted, affordable))
        blocks = min(blocks, math.floor(budget / (2 * calls[name] * once)))
    return calls, max(blocks, FEWEST)


def _warmed(operation: Operation, budget: float, waits: Callable[[], float]) -> float:
    """Calls an operation until caches are warm, and returns the median time of a call, without the first."""
    _visit(operation, 1, waits)
    times = _visit(operation, 1, waits)
    while sum(times) < budget / FEWEST / CALLS and len(times) < MOST_WARM:
        times += _visit(operation, 1, waits)
    return median(times)


def _visit(operation: Operation, calls: int, waits: Callable[[], float]) -> list[float]:
    """Returns the seconds of each of so many calls.

    Without the first of several, which finds the caches of another operation.
    """
    on_cuda = operation.device == "cuda"
    times = _on_cuda(operation.run, calls) if on_cuda else _on_cpu(operation.run, calls, waits)
    return times[1:] or times


def _on_cpu(run: Callable[[], object], calls: int, waits: Callable[[], float]) -> list[float]:
    """Returns the seconds of each call, without those waited for a core."""
    times = []
    waited_before = waits()
    for _ in range(calls):
        start = perf_counter()
        run()
        passed = perf_counter() - start
        waited_after = waits()
        times.append(passed + waited_before - waited_after)
        waited_before = waited_after
    return times


def _on_cuda(run: Callable[[], object], calls: int) -> list[float]:
    """Returns the seconds of each call by events of the device.

    The device waits for nothing between the calls of a visit, as in training.
    """
    import torch

    # torch's constructor has no types.
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(calls + 1)]  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    marks[0].record()
    for mark in marks[1:]:
        run()
        mark.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) / 1000 for start, end in pairwise(marks)]
