"""Trials with their ids, and the order in which they are asked for."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ablate.core.record import Record
from ablate.core.trial import Trial


@dataclass(frozen=True)
class Cell:
    """One trial's place in a study."""

    variant: str
    task: str
    seed: int
    trial: Trial
    name: str
    "For people: variant, task where there are several, seed."


class Plan(Protocol):
    """Decides what to train next. The driver knows nothing else about what is run."""

    def ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        """The trials to train now, given the finished ones by id; none when the plan is done."""


class FixedPlan:
    """A list of trials, asked for once, without those that are already there."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = list({trial.id: trial for trial in trials}.values())
        self._asked = False

    def ask(self, records: Mapping[str, Record]) -> Sequence[Trial]:
        """All trials without a record, the first time; then none."""
        if self._asked:
            return []
        self._asked = True
        return [trial for trial in self.trials if trial.id not in records]


def trial_id(
    config: Mapping[str, Any],
    *,
    seed: int,
    stream: str,
    irrelevant: Sequence[str],
    identity: Mapping[str, str],
    sources: str,
) -> str:
    """A hash of all that the result depends on: 16 hexadecimal digits."""
    relevant = copy.deepcopy(dict(config))
    for path in irrelevant:
        *outer, last = path.split(".")
        node = relevant
        for key in outer:
            node = node.get(key, {})
        node.pop(last, None)
    content = {
        "config": relevant,
        "seed": seed,
        "stream": stream,
        "identity": dict(identity),
        "sources": sources,
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
