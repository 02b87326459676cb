"""What other processes do on this machine meanwhile."""

from __future__ import annotations

import os
import time
from pathlib import Path

_BUSY = (0, 1, 2, 5, 6, 7)
"""Places of user, nice, system, irq, softirq and steal in the first line of /proc/stat."""


class Others:
    """The cores that processes other than this one keep busy, on average since it was made."""

    def __init__(self) -> None:
        self._machine, self._own, self._clock = _busy(), time.process_time(), time.monotonic()

    def cores(self) -> float:
        """0 where the system does not say."""
        machine, own = _busy() - self._machine, time.process_time() - self._own
        return max(0.0, machine - own) / max(time.monotonic() - self._clock, 1e-9)


def waited() -> float:
    """Seconds that this thread has waited for a core while others had it; 0 where the system does not say.

    Its own waiting, for a lock, a file or a clock, is not among them.
    """
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _busy() -> float:
    """Seconds that all cores together were busy since the machine started; 0 where that is unknown."""
    try:
        ticks = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        return sum(int(ticks[place]) for place in _BUSY) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
