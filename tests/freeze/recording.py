"""Recordings: what the package did when it was last recorded, compared with what it does now."""

import csv
import difflib
import io
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from harness import FREE

RECORDED = Path(__file__).parent / "recorded"
MAX_LINES = 60
"""The most lines of a difference that are shown."""
SEPARATORS = re.compile(r"([,\s=]+)")


class Recording(ABC):
    """What the package did, in a file."""

    name: str
    slow: bool = False
    """Whether it takes more than a few seconds."""

    @property
    @abstractmethod
    def path(self) -> Path:
        """The file."""

    @property
    def machine(self) -> str:
        """The only machine on which the recording holds; empty where it holds on every one."""
        return ""

    @abstractmethod
    def changes(self) -> list[str]:
        """Returns the lines of a difference between the recording and what the package does now."""

    @abstractmethod
    def record(self) -> None:
        """Records what the package does now."""

    def difference(self) -> str:
        """Returns what differs from the recording, and how to record it; empty where nothing differs."""
        changes = self.changes()
        if not changes:
            return ""
        head = f"{self.path.name}: if this is meant: python -m tests.freeze --record {self.name}"
        lines = [head, *changes[:MAX_LINES]]
        if len(changes) > MAX_LINES:
            lines.append(f"… {len(changes) - MAX_LINES} more lines")
        return "\n".join(lines)


@dataclass(frozen=True)
class Lines(Recording):
    """Lines in `recorded/` that a function makes from what the package does now."""

    name: str
    make: Callable[[], Iterable[str]]
    slow: bool = False

    @property
    def path(self) -> Path:
        """The file."""
        return RECORDED / f"{self.name}.txt"

    @property
    def machine(self) -> str:
        """The machine in the first line of the recording, where it has one."""
        first, _, _ = self.path.read_text(encoding="utf-8").partition("\n")
        return first if first.startswith("# on ") else ""

    def changes(self) -> list[str]:
        """Returns the lines of a difference between the recording and what the package does now."""
        before = self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else []
        return line_changes(before, list(self.make()))

    def record(self) -> None:
        """Records what the package does now."""
        self.path.write_text("".join(f"{line}\n" for line in self.make()), encoding="utf-8")


def line_changes(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Returns the unified difference of two sequences of lines; lines that differ by rounding are equal."""
    if len(before) == len(now):
        now = [old if same(old, new) else new for old, new in zip(before, now, strict=True)]
    return list(difflib.unified_diff(before, now, "recorded", "now", lineterm="", n=0))


def same(before: str, now: str) -> bool:
    """Tells whether two lines are equal up to rounding of their numbers."""
    if before == now:
        return True
    words_before = SEPARATORS.split(before)
    words_now = SEPARATORS.split(now)
    if len(words_before) != len(words_now):
        return False
    return all(old == new or _close(old, new) for old, new in zip(words_before, words_now, strict=True))


def _close(before: str, now: str) -> bool:
    try:
        return math.isclose(float(before), float(now), rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False


def text(value: object) -> str:
    """Returns a value in one line, a number with 12 significant digits; empty for None and NaN."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else f"{value:.12g}"
    return "" if value is None else " ".join(str(value).split())


def table_lines(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Returns lines of CSV: the names of the columns, then the rows, sorted."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([text(row[column]) for column in columns])
    head, *lines = file.getvalue().splitlines()
    return [head, *sorted(lines)]


def exact_lines(frame: pd.DataFrame, *keys: str) -> list[str]:
    """Returns every number of a frame to the bit, one a line behind the keys of its row; times are left out."""
    lines = []
    for row in frame.to_dict("records"):
        place = " ".join(str(row[key]) for key in keys)
        for name, value in row.items():
            if isinstance(value, float) and name not in keys and not str(name).endswith(FREE):
                lines.append(f"{place} {name}: {float(value).hex()}")
    return sorted(lines)
