"""What the driver and the process that writes to MLflow tell each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.records.folder import StudyFolder

# How a study is shown: it trains, was interrupted, or has its report.
Status = Literal["RUNNING", "KILLED", "FINISHED"]


@dataclass(frozen=True)
class Update:
    """The driver's request to bring MLflow up to date; the last request is for an interruption or a report."""

    folder: StudyFolder
    # None for the store's own database.
    uri: str | None
    # None to only make the database.
    status: Status | None
    # When the driver stops to wait, by the clock of `time.monotonic`; None where it does not wait.
    deadline: float | None = None

    @property
    def is_last(self) -> bool:
        """True where the driver waits for the end."""
        return self.deadline is not None


@dataclass(frozen=True)
class Progress:
    """The number of trials in MLflow, of those that have a record; sent only while the driver waits for the end."""

    done: int
    total: int


@dataclass(frozen=True)
class Ended:
    """The message that the last update has ended, sent by the process that writes to MLflow."""

    # Why MLflow is not up to date, or nothing.
    fault: str
    warnings: Sequence[str]
