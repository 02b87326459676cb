"""The time, as records write it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return _written(time.time())


def stopwatch() -> Callable[[], str]:
    """A clock like `now` that never goes back: it starts from the time of day, and goes on by the monotonic clock.

    What it measures is right even when the time of day is set while it runs.
    """
    ahead = time.time() - time.monotonic()
    return lambda: _written(time.monotonic() + ahead)


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
