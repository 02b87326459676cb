"""Processes that outlive the command that started them."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "TORTURE_MARK"
"""In the environment of every process of a case, but for one that clears it and has the mark among its words."""
GRACE = 5.0
"""Seconds within which they end."""


def survivors(mark: str, grace: float = GRACE) -> list[str]:
    """Waits until no process has the mark, and then ends those that still have it; their words."""
    until = time.monotonic() + grace
    found = _marked(mark)
    while found and time.monotonic() < until:
        time.sleep(0.1)
        found = _marked(mark)
    for process in found:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return [*found.values()]


def _marked(mark: str) -> dict[int, str]:
    """The processes whose environment or words have the mark, with their words."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:  # it has ended, or is another user's
            continue
        if mark.encode() in words + environment:
            found[int(entry.name)] = words.replace(b"\0", b" ").decode(errors="replace").strip()
    return found
