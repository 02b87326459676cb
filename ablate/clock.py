"""The time, as records write it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def now() -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return _written(datetime.now(UTC))


def stopwatch() -> Callable[[], str]:
    """A clock like `now` that never goes back: it starts from the time of day, and goes on by the monotonic clock.

    What it measures is right even when the time of day is set while it runs.
    """
    start, began = datetime.now(UTC), time.monotonic()
    return lambda: _written(start + timedelta(seconds=time.monotonic() - began))


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
