"""Recorded lines against those of now."""

import difflib
import math
import re
from collections.abc import Sequence
from pathlib import Path

APART = re.compile(r"([,\s=]+)")
SHOWN = 60
"""The most lines of a difference that are shown."""


def same(was: str, now: str) -> bool:
    """Whether two lines say the same; their numbers may differ by rounding."""
    if was == now:
        return True
    a, b = APART.split(was), APART.split(now)
    return len(a) == len(b) and all(x == y or _close(x, y) for x, y in zip(a, b, strict=True))


def _close(x: str, y: str) -> bool:
    try:
        return math.isclose(float(x), float(y), rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False


def difference(path: Path, now: Sequence[str]) -> str:
    """What differs from a recording, and how to record it again; empty where nothing does."""
    was = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    if len(was) == len(now) and all(map(same, was, now)):
        return ""
    # Lines that differ by rounding only are no difference.
    if len(was) == len(now):
        now = [old if same(old, new) else new for old, new in zip(was, now, strict=True)]
    found = [*difflib.unified_diff(was, now, "recorded", "now", lineterm="", n=0)]
    more = [f"… {len(found) - SHOWN} more lines"] if len(found) > SHOWN else []
    again = f"python -m tests.freeze --record {path.stem}"
    return "\n".join([f"{path.name}: if this is meant: {again}", *found[:SHOWN], *more])
