"""The memory of a training step."""

import gc
import sys
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from ablate.core.speed import Operation

_SECOND = "ablate: second step"


def peak_of_step(build: Callable[[], Mapping[str, Operation]]) -> int | None:
    """Returns the most bytes that are in use at once during the second training step.

    They hold weights, gradients, optimizer, data and all that a pass keeps; after the first step the optimizer has its
    state. build: makes the operations. On CPU the sum of all that torch's allocator gave out and took back since
    `build` began, on a GPU the device's own peak. None where there is no step, or it takes none of torch's memory.
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
    return _peak_of_second(profile.kineto_results.events()) or None


def _peak_of_second(events: Any) -> int:
    """Returns the most bytes in use during the second step, by a profile's events of memory."""
    start = next(event.start_ns() for event in events if event.name() == _SECOND)
    # Events of memory say how many bytes were taken or given back.
    memory = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    before = sum(size for moment, size in memory if moment < start)
    changes = [size for moment, size in memory if moment >= start]
    peak: int = max(accumulate(changes, initial=before))
    return peak
