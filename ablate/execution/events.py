"""What workers tell the driver. Trials go one way, events the other; workers write no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ablate.records.record import Record


@dataclass(frozen=True)
class Started:
    """A worker has begun a trial."""

    trial_id: str


@dataclass(frozen=True)
class Progress:
    """A trial has come to `step`; the driver may answer `Stop`."""

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
class Stop:
    """The driver's wish that a trial end early."""

    trial_id: str


Event = Started | Progress | Saved | Finished
