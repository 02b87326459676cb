"""The load that other programs put on a machine while it measures."""

import os
import resource
import time
from pathlib import Path

# Places of user, nice, system, irq, softirq and steal in the first line of /proc/stat.
_BUSY = (0, 1, 2, 5, 6, 7)


class OtherPrograms:
    """The programs that keep cores busy beside this process and its children, from now on."""

    def __init__(self) -> None:
        self._busy = _busy_seconds()
        self._own = _own_seconds()
        self._moment = time.monotonic()

    def cores(self) -> float:
        """Returns the cores that they have kept busy so far, on average; 0 where unknown."""
        busy = _busy_seconds() - self._busy
        own = _own_seconds() - self._own
        passed = time.monotonic() - self._moment
        return max(0.0, busy - own) / max(passed, 1e-9)


def _busy_seconds() -> float:
    """Returns the seconds that all cores were busy since the machine started; 0 where unknown."""
    try:
        ticks = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        return sum(int(ticks[place]) for place in _BUSY) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0


def _own_seconds() -> float:
    """Returns the seconds of processors that this process and its ended children have taken."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
