"""Who planned the runs of a report: the study that trained them, or nobody that ablate knows of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict


@dataclass(frozen=True)
class LostRun:
    """A run that was given and has no result, for a reason that is taken to have nothing to do with the result."""

    # A key that was renamed would load as nothing.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    variant: str
    task: str
    seed: int
    why: str  # As it follows the run: `crashed`, `was killed`.
    source: str = ""  # What says so: `error.txt`; empty where that is not known.


@dataclass(frozen=True)
class Planned:
    """The origin of runs that a study planned and trained."""

    # Variant → task → the number of seeds that it was asked for, where looks settled it before the last, or where its
    # training was stopped.
    until: dict[str, dict[str, int]] = field(default_factory=dict)
    # Variant → the tasks on which it was stopped, since its first runs had the numbers of the baseline's.
    stopped: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """The origin of runs that existed before they were judged."""

    # Variant → task → the seeds that it has, without those of `lost`.
    own_seeds: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    # The runs whose pairs are left out.
    lost: list[LostRun] = field(default_factory=list)
    # Variant → task → seed → how long each trained, where not all trained for as long; and what that is counted in:
    # `step`, `epochs_trained`.
    own_lengths: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    length_column: str = ""


Provenance = Planned | Given
