"""The overhead of a run: the time in which it starts and reports, and trains nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from ablate.base.kept import STRICT

_START_PER_AGE = 1.5
"""The seconds until its first trial, for each second that a run takes to read its study: 1.1 to 2.0 were measured."""
_REPORT_PER_AGE = 1.2
"""The seconds after its last trial, for each of those seconds: 0.6 to 1.5 were measured."""


@dataclass(frozen=True)
class Overhead:
    """The seconds of a run before its first trial begins, and after its last one and the measurements have ended."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    start: float = 0.0
    """The seconds to import, check the study and start workers; a wait for another run is no part of it."""
    report: float = 0.0
    """The seconds to compare, write the report and bring MLflow up to date."""

    @property
    def seconds(self) -> float:
        """The sum of both."""
        return self.start + self.report

    def left(self, age: float) -> float:
        """Returns the seconds that a run of this age has left beside training, before its first trial begins."""
        return max(0.0, self.start - age) + self.report


def guessed(age: float) -> Overhead:
    """Returns the overhead of a run that has taken `age` seconds to read its study, where none has been measured."""
    return Overhead(_START_PER_AGE * age, _REPORT_PER_AGE * age)
