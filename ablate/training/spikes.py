"""Spikes of a training loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

WINDOW = 100
"""Steps before a step that say what is usual there."""
DEVIATIONS = 7
"""Standard deviations above their mean from which a loss is a spike."""
_TOGETHER = 10_000
"""Windows that are in memory at a time."""


def loss_spikes(losses: Sequence[float]) -> float | None:
    """Share of the steps whose loss is a spike (Wortsman et al. 2023, appendix), of those with a window before them.

    A spike lies above the mean of the `WINDOW` losses before it, by `DEVIATIONS` of their standard deviations or more.
    A loss that is not finite ends a run and is none. None where no step has a window.
    """
    finite = np.asarray(losses, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    later = finite[WINDOW:]
    if not len(later):
        return None
    windows = sliding_window_view(finite[:-1], WINDOW)
    count = 0
    for start in range(0, len(later), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        above = later[part] - windows[part].mean(1)
        count += np.sum((above > 0) & (above >= DEVIATIONS * windows[part].std(1, ddof=1)))
    return float(count / len(later))
