"""One trial's place in a study, from the plan through events to its row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ablate.core.trial import Trial

# What a variant has at a path: a number, a word, on or off as a bool, nothing; a part by its label.
Level = str | int | float | bool | None
JUDGED = "judged"


@dataclass(frozen=True)
class Cell:
    """Variant, task, seed, levels, name and trial, which travel together; several cells may share a trial."""

    variant: str
    task: str  # Empty where the workload has no tasks.
    seed: int
    trial: Trial
    name: str = ""  # The name that users see: variant, task where there are several, seed.
    # Path that some variant changes → what this one has there; searched path → the label of its value.
    levels: Mapping[str, Level] = field(default_factory=dict)
    # What it is trained for: `judged` where verdicts rest on it, else as the feature that asks for it says.
    role: str = JUDGED
    # What its record says of the size of the model: `parameters`, `flops`, `training_flops`.
    size: Callable[[], Mapping[str, int | None]] = field(default=dict, repr=False, compare=False)

    @property
    def judged(self) -> bool:
        """Whether verdicts rest on it."""
        return self.role == JUDGED

    @property
    def id(self) -> str:
        """The id of its trial."""
        return self.trial.id
