"""The memory that this process may use."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def memory_allowed() -> int:
    """Bytes: what the machine has, or the least that a limit of the process or of its container leaves of it."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(), *_container(_GROUPS)])


def _limits() -> Iterator[int]:
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft


def _container(groups: Path) -> Iterator[int]:
    """The limits of control groups, of version 2 and 1, of which a container sees its own at the top."""
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # there is none, or it says "max"
            yield int((groups / file).read_text())
