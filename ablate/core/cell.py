"""One trial's place in a study, from the plan through events to its row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ablate.core.trial import Trial


@dataclass(frozen=True)
class Cell:
    """Variant, task, seed, levels, name and trial, which travel together; several cells may share a trial."""

    variant: str
    task: str
    "Empty where the workload has no tasks."
    seed: int
    trial: Trial
    name: str = ""
    "For people: variant, task where there are several, seed."
    levels: Mapping[str, str] = field(default_factory=dict)
    "Factor path, or searched path, → label of the level that the variant has."
    judged: bool = True
    "Whether a verdict rests on it: not on a setting that a search tried, nor on a variant before it was tuned."

    @property
    def id(self) -> str:
        """Of the trial."""
        return self.trial.id
