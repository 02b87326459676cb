"""The numbers of a run: printed ones, read by patterns, and written ones, in JSON or JSON lines.

Whatever a run prints or writes, what is read of it is a number, or an `AblateError` that names what is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.errors import AblateError, shown
from ablate.base.files import NotReadableError, read_plain
from ablate.base.text import printable
from ablate.core.record import Curve
from ablate.external.command import TimeLimit
from ablate.external.matching import Matching
from ablate.external.runner import MARK
from ablate.external.undeclared import STEP, Undeclared

MAX_STEP = 2**53  # Up to here, a float tells each whole number from the next.
MAX_DIGITS = 300  # Of a whole number that a float holds.
MAX_FILE = 64_000_000  # Bytes of a file of numbers.


class PatternError(AblateError):
    """A pattern that matches no line of a run, which has ended well."""


@dataclass
class Reading:
    """The numbers read from one run: the last value of a metric counts, and all values are its curve."""

    metrics: Sequence[str]
    # Metric, or `step` → a pattern for one line.
    patterns: Mapping[str, str] = field(default_factory=dict)
    # Metric → step and value, in the order in which they came.
    values: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    undeclared: Undeclared = field(default_factory=Undeclared)
    _step: int | None = None
    # The names whose patterns have matched a line, of this attempt of the trial or an earlier one.
    matched: set[str] = field(default_factory=set)
    _matching: Matching = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._matching = Matching(self.patterns)

    def hear(self, line: str) -> dict[str, float]:
        """Returns the metrics that a line reports. Raises `AblateError` for a value that is not a number."""
        if not line.startswith(MARK):
            found = self._matching.found(line)
            self.matched |= found.keys()
            return self.add(found)
        told = self._parsed(line.removeprefix(MARK), "what the function returned or reported")
        numbers = self.add(told)
        # What a function returns is no report, to which there would be an answer.
        return numbers if STEP in told else {}

    def add(self, found: Mapping[str, Any]) -> dict[str, float]:
        """Adds values measured together, at their step or else the last one read, and returns the metrics.

        Raises `AblateError` for a value that is not a number.
        """
        if STEP in found:
            self._step = _step(found[STEP])
        self.undeclared.add(self._step, found, self.metrics)
        numbers = {name: _number(name, found[name]) for name in self.metrics if name in found}
        numbers.pop(STEP, None)
        for name, value in numbers.items():
            curve = self.values.setdefault(name, [])
            curve.append((len(curve) + 1 if self._step is None else self._step, value))
        return numbers

    def finish(self, folder: Path, limit: TimeLimit | None = None) -> None:
        """Reads the `.json` and `.jsonl` files of a folder.

        Raises `AblateError` for a metric with two values or none, for what cannot be read, and past the `limit`; and
        `PatternError`.
        """
        limit = limit or TimeLimit()
        for file in sorted([*folder.glob("*.json"), *folder.glob("*.jsonl")]):
            written = Reading(self.metrics)
            for entry in self._entries(file):
                limit.check()
                written.add(entry)
            self.undeclared.update(written.undeclared)
            for name, value in written.last.items():
                _, known = self.values.setdefault(name, written.values[name])[-1]
                if not np.array_equal(known, value, equal_nan=True):
                    twice = f"{known:g}, and {value:g} in {printable(file.name)}"
                    raise AblateError(f"{name} was reported twice: {twice}; report it in one place")
        self._refuse_unmatched()
        missing = [name for name in self.metrics if name not in self.values]
        if missing:
            raise AblateError(f"{missing[0]} was not read: it was neither returned nor written")

    def _refuse_unmatched(self) -> None:
        """Raises `PatternError` for a pattern that no line matches, unless its number came another way."""
        read = self.matched | self.values.keys()
        # A short run may end before its first step is printed.
        if self._step is not None or not any(len(curve) > 1 for curve in self.values.values()):
            read.add(STEP)
        for name, pattern in self.patterns.items():
            if name not in read:
                raise PatternError(f"{name} was not read: no line matches '{pattern}'")

    def _entries(self, file: Path) -> Iterator[Mapping[str, Any]]:
        """Yields the objects in a file of JSON or JSON lines. Raises `AblateError`."""
        for text in _texts(file):
            yield self._parsed(text, printable(file.name))

    def _parsed(self, text: str, source: str) -> Mapping[str, Any]:
        """Returns the object in a text of JSON; an empty one for another value.

        Raises `AblateError` for no JSON, and for two values of one metric.
        """

        def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            names = [name for name, _ in pairs if name == STEP or name in self.metrics]
            if len(names) > len({*names}):
                raise ValueError("a name has two values in one object")
            return dict(pairs)

        try:
            value = json.loads(text, parse_int=_whole_number, object_pairs_hook=object_of)
        except (ValueError, RecursionError) as error:
            raise AblateError(f"{source} cannot be read as JSON: {error}") from None
        return value if isinstance(value, dict) else {}

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


def _texts(file: Path) -> Iterator[str]:
    """Yields the texts of a file that are to be JSON: all of it, or its lines. Raises `AblateError`."""
    try:
        content = read_plain(file, MAX_FILE)
    except NotReadableError as error:
        raise AblateError(f"{printable(file.name)} {error}") from None
    text = content.decode(json.detect_encoding(content), errors="replace")
    if file.suffix == ".json":
        yield text
        return
    for line in text.split("\n"):
        if line.strip():
            yield line


def _number(name: str, given: object) -> float:
    """Returns the number that a text or a value of JSON is. Raises `AblateError`."""
    try:
        if isinstance(given, str) and "_" in given:
            raise ValueError("1_0 is a number of Python alone")
        return float(given)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        raise AblateError(f"{name}: {_shown(given)} is not a number") from None


def _whole_number(digits: str) -> float:
    """Returns a whole number of JSON; of a number beyond all floats an infinite one, as of `1e999`."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _shown(given: object) -> str:
    """Returns a value as an error message shows it."""
    try:
        return shown(given)
    except RecursionError:
        return "a nested value"


def _step(given: object) -> int:
    """Returns the step that a text or a value of JSON is. Raises `AblateError`."""
    number = _number(STEP, given)
    if not (math.isfinite(number) and 0 <= number <= MAX_STEP):
        raise AblateError(f"{STEP}: {_shown(given)} is not a step, which is a number from 0 to 2^53")
    return int(number)
