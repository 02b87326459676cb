"""Numbers of a run: those that it prints, by patterns, and those that it writes as JSON or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.errors import AblateError, Invalid, listed
from ablate.core.record import Curve

STEP = "step"  # Read like a metric, it says at which step those after it were measured.


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern whose one group is the number. Raises `Invalid`."""
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise Invalid("", f"is no regular expression: {error}", pattern) from None
    if found.groups != 1:
        allowed = r"exactly one, as in '^loss: (\S+)'; (?:…) groups without being one"
        raise Invalid("", f"has {found.groups} groups, and one must hold the number", pattern, allowed)
    return found


@dataclass
class Reading:
    """What has been read of one run: the last value of a metric counts, and all of them are its curve."""

    # Metric → a pattern, for one line.
    patterns: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    # Metric → step → value, in the order in which they came.
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    # Settings that the run says it has not read.
    unread: list[str] = field(default_factory=list)
    _step: int | None = None

    def hear(self, line: str) -> dict[str, float]:
        """Reads a line that was printed; the metrics in it. Raises `AblateError` for what is no number."""
        texts = {
            name: match for name, pattern in self.patterns.items() for match in pattern.findall(line)[-1:]
        }
        return self.add({name: _number(name, text) for name, text in texts.items()})

    def add(self, found: Mapping[str, float], step: int | None = None) -> dict[str, float]:
        """Takes numbers that were measured together, at a step, or else at the last that was read; the metrics."""
        self._step = int(found[STEP]) if np.isfinite(found.get(STEP, np.nan)) else self._step
        metrics = {name: value for name, value in found.items() if name != STEP}
        for name, value in metrics.items():
            curve = self.values.setdefault(name, {})
            at = self._step if step is None else step
            at = len(curve) + 1 if at is None else at
            curve.pop(at, None)  # The last value is the last in its curve, too.
            curve[at] = value
        return metrics

    def collect(self, folder: Path) -> None:
        """Reads the `.json` and `.jsonl` files of a folder. Raises `AblateError` for a metric that has two values."""
        for file in sorted(path for path in folder.iterdir() if path.suffix in (".json", ".jsonl")):
            own = Reading()
            for entry in _entries(file):
                own.add(
                    {
                        key: float(n)
                        for key, n in entry.items()
                        if isinstance(n, int | float) and not isinstance(n, bool)
                    }
                )
            for name, curve in own.values.items():
                value, known = own.last[name], self.last.get(name)
                if known is not None and not np.array_equal(known, value, equal_nan=True):
                    raise AblateError(
                        f"{name} was reported twice: {known:g}, and {value:g} in {file.name}; report it in one place"
                    )
                self.values.setdefault(name, curve)

    @property
    def last(self) -> dict[str, float]:
        """The last value of each metric, which counts."""
        return {name: [*curve.values()][-1] for name, curve in self.values.items()}

    @property
    def curves(self) -> dict[str, Curve]:
        """The values of each metric by step."""
        return {
            name: Curve(np.array(sorted(of)), np.array([of[step] for step in sorted(of)]))
            for name, of in self.values.items()
        }

    def lacks(self, metrics: Sequence[str]) -> str:
        """Why the run does not count, in words: a metric that it has not reported; empty where it has all of them."""
        missing = [name for name in metrics if name not in self.values]
        if not missing:
            return ""
        name, found = missing[0], listed(f"{name} {value:g}" for name, value in self.last.items())
        where = (
            f"no line matches {self.patterns[name].pattern!r}" if name in self.patterns else "not reported"
        )
        return f"{name} was not read: {where}; read: {found or 'nothing'}"

    @property
    def unbounded(self) -> str:
        """The first metric whose last value is no finite number, as `loss nan`; empty where there is none."""
        return next((f"{name} {value:g}" for name, value in self.last.items() if not np.isfinite(value)), "")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise AblateError(f"{name}: {text!r} is not a number; mend the pattern that reads it") from None


def _entries(file: Path) -> Iterator[Mapping[str, Any]]:
    """The mappings of a JSON file, one or a list, or of its lines."""
    text = file.read_text(errors="replace")
    try:
        texts = [text] if file.suffix == ".json" else filter(str.strip, text.splitlines())
        found = [json.loads(each) for each in texts]
    except ValueError as error:
        raise AblateError(f"{file.name} cannot be read as JSON: {error}") from None
    for each in found:
        yield from (
            entry for entry in (each if isinstance(each, list) else [each]) if isinstance(entry, dict)
        )
