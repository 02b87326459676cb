"""Signals at random moments, and how a command may end after one."""

import os
import signal
import time
from contextlib import suppress
from random import Random

from .process import Done, Started

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: (-9,), signal.SIGTERM: (130, 143, -15), signal.SIGINT: (130, -2)}


def struck(rng: Random, started: Started, within: float) -> tuple[signal.Signals, Done | None]:
    """Sends a signal at a random moment; the signal, and how it ended where it was over before."""
    number = rng.choice(SIGNALS)
    until = time.monotonic() + rng.uniform(0, within)
    while time.monotonic() < until and started.running():
        time.sleep(0.005)
    if not started.running():
        return number, started.wait()
    if number is signal.SIGKILL and rng.random() < 0.5:
        started.kill()
    else:
        with suppress(ProcessLookupError):
            os.kill(started.pid, number)
    return number, None
