"""Pauses Python's garbage collector, which would scan everything that is loaded again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pauses garbage collection inside the block; objects that exist at its end are never scanned again.

    Loading libraries and drawing create hundreds of thousands of objects, few of which are garbage.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            gc.freeze()
