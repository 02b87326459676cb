"""The time, as records write it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
