"""The numbers of a run: printed ones, read by patterns, and written ones, in CSV, JSON or JSON lines.

Whatever a run prints or writes, what is read of it is a number, or an `AblateError` that names what is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ablate.base.errors import AblateError, shown
from ablate.base.event_files import is_event_file
from ablate.base.extras import is_installed
from ablate.base.text import printable
from ablate.core.record import Curve
from ablate.external.command import TimeLimit
from ablate.external.matching import Matching
from ablate.external.runner import MARK
from ablate.external.undeclared import STEP, Undeclared
from ablate.external.written import (
    STEPS,
    content_of,
    files_below,
    histories_of,
    mentions,
    objects_of,
    parsed,
    scalars_below,
    value_at,
)

MAX_STEP = 2**53  # Up to here, a float tells each whole number from the next.


class NotReadError(AblateError):
    """A metric that a run has neither printed, returned nor written."""

    def __init__(self, metric: str, hint: str = "") -> None:
        """`hint`: what the run wrote, and how that is read."""
        super().__init__(f"{metric} was not read: it was neither returned nor written{hint}")
        self.metric = metric
        self.hint = hint


class PatternError(AblateError):
    """A pattern that matches no line of a run, which has ended well."""


@dataclass
class Reading:
    """The numbers read from one run: the last value of a metric counts, and all are its curve."""

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
        """Adds the values of a line, and returns the metrics that it reports.

        Numbers that a function returns are added, but are no report, to which there would be an answer. Raises
        `AblateError` for a value that is not a number.
        """
        if not line.startswith(MARK):
            texts = self._matching.last_matches(line)
            self.matched |= texts.keys()
            return self.add(texts)
        source = "what the function returned or reported"
        content = parsed(line.removeprefix(MARK), source, [*self.metrics, STEP])
        if not isinstance(content, dict):
            content = {}
        numbers = self.add(content)
        return numbers if STEP in content else {}

    def add(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Adds values measured together, at their step or else the last one read, and returns the metrics.

        values: name → number, as a text or a value of JSON. Raises `AblateError` for a value that is not a number.
        """
        if STEP in values:
            self._step = _step(values[STEP])
        self.undeclared.add(self._step, values, self.metrics)
        numbers = {name: _number(name, values[name]) for name in self.metrics if name in values}
        numbers.pop(STEP, None)
        for name, value in numbers.items():
            curve = self.values.setdefault(name, [])
            curve.append((len(curve) + 1 if self._step is None else self._step, value))
        return numbers

    def finish(self, folder: Path, limit: TimeLimit | None = None) -> None:
        """Reads the files of numbers below a folder: `.json`, `.jsonl`, `.csv`, and event files of TensorBoard.

        Of a metric that files of several depths have, those nearest to the folder count. Raises `AblateError` for a
        metric with two values or none, for what cannot be read, and past the `limit`; and `PatternError`.
        """
        limit = limit or TimeLimit()
        for depth, files in enumerate(files_below(folder)):
            wanted = [name for name in self.metrics if depth == 0 or name not in self.values]
            if not wanted:
                break
            event_files = [file for file in files if is_event_file(file.name)]
            contents: dict[Path, bytes] = {}
            for file in files:
                if file in event_files:
                    continue
                content = content_of(file)
                if depth == 0 or mentions(content, wanted):
                    contents[file] = content
            for file, content in contents.items():
                self._read(file, content, wanted, limit)
            self._read_histories(contents, wanted, limit)
            self._read_events(event_files, folder, limit)
        self._refuse_unmatched()
        missing = [name for name in self.metrics if name not in self.values]
        if missing:
            raise NotReadError(missing[0])

    def _refuse_unmatched(self) -> None:
        """Raises `PatternError` for a pattern that no line matches, unless its number came another way."""
        names = self.matched | self.values.keys()
        # A short run may end before its first step is printed.
        is_short = all(len(curve) <= 1 for curve in self.values.values())
        if self._step is not None or is_short:
            names.add(STEP)
        for name, pattern in self.patterns.items():
            if name not in names:
                raise PatternError(f"{name} was not read: no line matches '{pattern}'")

    def _read(self, file: Path, content: bytes, wanted: Sequence[str], limit: TimeLimit) -> None:
        """Adds the wanted metrics that the content of a file has.

        Raises `AblateError` for one that was read before with another value.
        """
        written = Reading(wanted)
        for entry in objects_of(file, content, [*wanted, STEP]):
            limit.check()
            written.add(_flat(entry, wanted))
        self.undeclared.update(written.undeclared)
        for name, value in written.last.items():
            _, earlier = self.values.setdefault(name, written.values[name])[-1]
            if not np.array_equal(earlier, value, equal_nan=True):
                _refuse_second(name, earlier, value, file)

    def _read_histories(
        self, contents: Mapping[Path, bytes], wanted: Sequence[str], limit: TimeLimit
    ) -> None:
        """Adds the curves of wanted metrics from the histories in files.

        A curve counts where the metric has none yet, and no other last value. Raises `AblateError` for two histories
        of one metric.
        """
        histories: dict[str, list[tuple[int, float]]] = {}
        for file, content in contents.items():
            written = Reading(wanted)
            for entry in histories_of(file, content):
                limit.check()
                written.add(_flat(entry, wanted))
            for name, curve in written.values.items():
                # A checkpoint has what was written until then.
                shorter, longer = sorted([curve, histories.get(name, [])], key=len)
                is_beginning = np.array_equal(shorter, longer[: len(shorter)], equal_nan=True)
                if shorter and not is_beginning:
                    _refuse_second(name, shorter[-1][1], longer[-1][1], file)
                histories[name] = longer
        for name, curve in histories.items():
            values = self.values.get(name, curve[-1:])
            if len(values) > 1:
                continue
            has_same_end = np.array_equal(values[0][1], curve[-1][1], equal_nan=True)
            if has_same_end:
                self.values[name] = curve

    def _read_events(self, files: Sequence[Path], folder: Path, limit: TimeLimit) -> None:
        """Adds the metrics that are lacking from event files of TensorBoard, where it is installed.

        Raises `AblateError` for files that cannot be read, and past the `limit`.
        """
        lacking = [name for name in self.metrics if name not in self.values]
        if not (files and lacking and is_installed("tensorboard")):
            return
        scalars = scalars_below(files, folder)
        limit.check()
        for name in lacking:
            if name in scalars:
                self.values[name] = sorted(scalars[name].items())

    @property
    def last(self) -> dict[str, float]:
        """The last reported value of each metric, which counts for the run."""
        return {name: curve[-1][1] for name, curve in self.values.items()}

    @property
    def curves(self) -> dict[str, Curve]:
        """The values by step of each metric that has several."""
        curves = {}
        for name, readings in self.values.items():
            value_of = dict(sorted(dict(readings).items()))
            if len(value_of) > 1:
                curves[name] = Curve(np.array(list(value_of)), np.array(list(value_of.values())))
        return curves


def _refuse_second(name: str, earlier: float, value: float, file: Path) -> NoReturn:
    """Raises `AblateError` for a metric of which a file has another value."""
    twice = f"{earlier:g}, and {value:g} in {printable(file.name)}"
    raise AblateError(f"{name} was reported twice: {twice}; report it in one place")


def _flat(entry: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    """Returns an object of JSON with its step, and with metrics from objects inside it, under their own names."""
    flat = dict(entry)
    for name in metrics:
        value = None if name in entry else value_at(entry, name)
        if value is not None:
            flat[name] = value
    step = next((entry[name] for name in STEPS if name in entry), None)
    if step is not None:
        flat[STEP] = step
    return flat


def _number(name: str, given: object) -> float:
    """Returns a text or a value of JSON as a number: 82.4 for `82.4%`. Raises `AblateError`."""
    try:
        if isinstance(given, str):
            if "_" in given:
                raise ValueError("1_0 is a number of Python alone")
            return float(given.removesuffix("%"))
        return float(given)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        raise AblateError(f"{name}: {_shown(given)} is not a number") from None


def _shown(given: object) -> str:
    """Returns a value as an error message shows it, however deeply it is nested."""
    try:
        return shown(given)
    except RecursionError:
        return "a nested value"


def _step(given: object) -> int:
    """Returns a text or a value of JSON as a step. Raises `AblateError`."""
    number = _number(STEP, given)
    if not (math.isfinite(number) and 0 <= number <= MAX_STEP):
        raise AblateError(f"{STEP}: {_shown(given)} is not a step, which is a number from 0 to 2^53")
    return int(number)
