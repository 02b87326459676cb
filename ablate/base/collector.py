"""Python's garbage collector, kept from looking through everything that is loaded, again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Inside, no garbage is collected; what is there at the end is never looked through again.

    To load libraries and to draw makes objects by the hundred thousand, few of them garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            gc.freeze()
