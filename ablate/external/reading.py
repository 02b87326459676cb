"""The numbers of a run: printed ones, read by patterns, and written ones, in JSON or JSON lines."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.errors import AblateError, Invalid
from ablate.core.record import Curve
from ablate.external.runner import MARK

STEP = "step"  # Read like a metric, it says at which step those after it were measured.


def check_pattern(pattern: str) -> None:
    """Raises `Invalid` for a pattern without exactly one group, the number."""
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise Invalid("", f"is no regular expression: {error}", pattern) from None
    if groups != 1:
        allowed = r"exactly one, as in '^loss: (\S+)'; (?:…) groups without being one"
        raise Invalid("", f"has {groups} groups, and one must hold the number", pattern, allowed)


@dataclass
class Reading:
    """The numbers read from one run: the last value of a metric counts, and all values are its curve."""

    metrics: Sequence[str]
    # Metric, or `step` → a pattern for one line.
    patterns: Mapping[str, str] = field(default_factory=dict)
    # Metric → step and value, in the order in which they came.
    values: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    _step: int | None = None

    def hear(self, line: str) -> dict[str, float]:
        """Returns the metrics that a line reports. Raises `AblateError` for a value that is not a number."""
        if line.startswith(MARK):
            told = json.loads(line.removeprefix(MARK))
            found = self.add(told)
            # What a function returns is no report, to which there would be an answer.
            return found if STEP in told else {}
        every = {name: re.findall(pattern, line) for name, pattern in self.patterns.items()}
        return self.add({name: matches[-1] for name, matches in every.items() if matches})

    def add(self, found: Mapping[str, Any]) -> dict[str, float]:
        """Adds values measured together, at their step or else the last one read, and returns the metrics."""
        numbers = {}
        for name in (name for name in (STEP, *self.metrics) if name in found):
            try:
                numbers[name] = float(found[name])
            except (ValueError, TypeError):
                raise AblateError(f"{name}: {found[name]!r} is not a number") from None
        self._step = int(numbers.pop(STEP)) if STEP in numbers else self._step
        for name, value in numbers.items():
            curve = self.values.setdefault(name, [])
            curve.append((len(curve) + 1 if self._step is None else self._step, value))
        return numbers

    def finish(self, folder: Path) -> None:
        """Reads `.json` and `.jsonl` files of a folder. Raises `AblateError` for a metric with two values, or none."""
        for file in sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")]):
            own, text = Reading(self.metrics), file.read_text(errors="replace")
            texts = [text] if file.suffix == ".json" else filter(str.strip, text.splitlines())
            try:
                entries = [json.loads(each) for each in texts]
            except ValueError as error:
                raise AblateError(f"{file.name} cannot be read as JSON: {error}") from None
            for entry in entries:
                own.add(entry if isinstance(entry, dict) else {})
            for name, value in own.last.items():
                _, known = self.values.setdefault(name, own.values[name])[-1]
                if not np.array_equal(known, value, equal_nan=True):
                    twice = f"{known:g}, and {value:g} in {file.name}"
                    raise AblateError(f"{name} was reported twice: {twice}; report it in one place")
        if missing := [name for name in self.metrics if name not in self.values]:
            pattern = self.patterns.get(missing[0])
            where = f"no line matches {pattern!r}" if pattern else "it was neither returned nor written"
            raise AblateError(f"{missing[0]} was not read: {where}")

    @property
    def last(self) -> dict[str, float]:
        """The last reported value of each metric, which counts for the run."""
        return {name: curve[-1][1] for name, curve in self.values.items()}

    @property
    def curves(self) -> dict[str, Curve]:
        """The values by step of each metric that has several."""
        several = {name: sorted(dict(curve).items()) for name, curve in self.values.items()}
        return {
            name: Curve(np.array([step for step, _ in curve]), np.array([value for _, value in curve]))
            for name, curve in several.items()
            if len(curve) > 1
        }
