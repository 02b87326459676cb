"""Copying: the source again, then an end token (Graves et al. 2014, "Neural Turing Machines")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ablate.base.registry import register
from ablate.tasks.rearranging import Rearranging


@register("task", "copy")
class Copy(Rearranging):
    """A source of random length and symbols, which the model writes again."""

    def rearranged(self, symbols: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """As they are."""
        return symbols
