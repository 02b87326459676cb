"""A group of configs that are timed beside one another, and the times that a process or a block gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

TWIN = ""
"""The key of the second copy of the baseline, whose ratio to the first shows how exact ratios are."""


@dataclass(frozen=True)
class Group:
    """Configs that are timed beside one another."""

    key: str
    configs: Mapping[str, Mapping[str, Any]]  # By key, the baseline first.

    @property
    def baseline(self) -> str:
        """The key of the baseline."""
        return next(iter(self.configs))

    def key_of(self, copy: str) -> str:
        """Returns the key of the config that a copy is of: for `TWIN`, that of the baseline."""
        return self.baseline if copy == TWIN else copy


class CallTimes(TypedDict):
    """The times of one call of one config, or of its whole runs."""

    seconds: float
    # The log of the seconds over those of the baseline; of the baseline itself, that of its second copy.
    log_ratio: float
    blocks: int
    calls: int
    examples: int | None
    tokens: int | None
    # The first process alone counts them.
    flops: NotRequired[int | None]


class ConfigTimes(TypedDict):
    """The times of one config by call, and the memory of its training step."""

    memory: int | None  # In bytes; None where it has no step.
    calls: dict[str, CallTimes]


class GroupTimes(TypedDict):
    """The times that one process, or one block of whole runs, gives for a group.

    Plain data, as a file keeps it.
    """

    measured: str  # When, as ISO 8601 in UTC.
    busy: float  # Cores that other programs have kept busy meanwhile, on average.
    configs: dict[str, ConfigTimes]  # By key.
