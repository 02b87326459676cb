"""The memory of a training step, as the allocator gave it out."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from itertools import accumulate

from ablate.core.speed import Operation

_SECOND = "ablate: second step"


def peak_of_step(build: Callable[[], Mapping[str, Operation]]) -> int | None:
    """The most bytes that are in use at once during a step: weights, gradients, optimizer, data, all that a pass keeps.

    It is the second step, so that the optimizer has its state. On CPU the sum of all that torch's allocator gave out
    and took back since `build` began, on a GPU the device's own peak. None where there is no step, or it takes none of
    torch's memory.
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
    return _peak(profile.kineto_results) or None


def _peak(results: object) -> int:
    """From the events of a profile: where they name memory, how many bytes were taken or given back."""
    events = results.events()  # type: ignore[attr-defined]
    start = next(event.start_ns() for event in events if event.name() == _SECOND)
    memory = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    totals = accumulate(size for _, size in memory)
    before, during = 0, []
    for (moment, _), total in zip(memory, totals, strict=True):
        if moment < start:
            before = total
        else:
            during.append(total)
    return max([before, *during])
