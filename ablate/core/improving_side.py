"""A side of a comparison that was still improving when training ended, as a value that tables store."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ImprovingSide:
    """A variant that was still improving when training ended on a task; cells hold lists of them (`core.rows`)."""

    variant: str
    task: str
