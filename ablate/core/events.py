"""What workers tell the driver, and what it answers. Workers write no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ablate.core.record import Record


@dataclass(frozen=True)
class Started:
    """A worker has begun a trial."""

    trial_id: str


@dataclass(frozen=True)
class Progress:
    """A trial has come to `step`; one that is prunable waits for the `Answer`."""

    trial_id: str
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Saved:
    """A trial can go on from `step` when it is cut short."""

    trial_id: str
    step: int
    state: bytes


@dataclass(frozen=True)
class Finished:
    """A trial has ended, in one way or another."""

    record: Record


@dataclass(frozen=True)
class Answer:
    """The driver's word on one `Progress` of a prunable trial."""

    trial_id: str
    stop: bool
    "Whether the trial shall end here."


Event = Started | Progress | Saved | Finished

Decide = Callable[[Progress], bool]
"""Whether a prunable trial shall end at this report; asked once for each, in the order of the trial's steps."""


def go_on(report: Progress) -> bool:
    """Ends no trial."""
    return False
