"""Events: from where a trial runs to the driver, and from the driver to its listeners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ablate.core.cell import Cell
from ablate.core.record import Record


@dataclass(frozen=True)
class Started:
    """A trial has begun."""

    trial_id: str


@dataclass(frozen=True)
class Progress:
    """A trial has reached `step`; a prunable one waits for an answer."""

    trial_id: str
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Saved:
    """A trial can resume from `step`."""

    trial_id: str
    step: int
    state: bytes


@dataclass(frozen=True)
class Ended:
    """A trial has a record."""

    record: Record


@dataclass(frozen=True)
class Lost:
    """The process of a running trial has ended without a record."""

    trial_id: str
    fate: str
    "How it ended, in words."
    output: str = ""
    "The last lines that it printed."


@dataclass(frozen=True)
class Idle:
    """No event has happened lately; engines send this a few times a second while trials run."""


@dataclass(frozen=True)
class Asked:
    """The plan has asked for cells and the driver has looked them up: `to_train` trials remain to be trained."""

    to_train: int
    left: int = 0
    "The largest number of trainings that may follow these."
    without_weights: int = 0
    "Of those to train, the finished ones whose kept weights are missing."


@dataclass(frozen=True)
class Known:
    """The record of a cell was in the store."""

    cell: Cell
    record: Record


@dataclass(frozen=True)
class Finished:
    """A cell has been trained, and its record is in the store."""

    cell: Cell
    record: Record


EngineEvent = Started | Progress | Saved | Ended | Lost | Idle
Event = Started | Progress | Asked | Known | Finished
"""For the listeners of a run."""

Hear = Callable[[EngineEvent], bool]
"""Takes the events of an engine; the answer to the `Progress` of a prunable trial says whether it ends there."""
Listen = Callable[[Event], None]


def everyone(*listeners: Listen) -> Listen:
    """One listener that tells all others, in order."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return listen
