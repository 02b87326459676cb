"""Timestamps of records."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return _written(time.time())


def stopwatch() -> Callable[[], str]:
    """A clock like `now` that never goes back: the time of day at the start, advanced by the monotonic clock.

    Durations are right even when the time of day is changed meanwhile.
    """
    ahead = time.time() - time.monotonic()
    return lambda: _written(time.monotonic() + ahead)


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
