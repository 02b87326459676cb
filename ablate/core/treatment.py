"""A difference in treatment between a variant and what it is compared with, as a value that tables store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

TreatmentKind = Literal["steps", "budget", "settings", "untuned", "rate", "edge", "compute"]
_FORM = re.compile(r"(?P<kind>\w+) (?P<path>\S*)=(?P<variant>.*)\|(?P<baseline>.*)")


@dataclass(frozen=True)
class Treatment:
    """A difference in the treatment of two sides; a table stores it as `kind path=variant|baseline`.

    steps, budget: a setting that decides how long a run trains, with its values. settings: the number of settings that
    were tried in tuning. untuned: `tuned` on the tuned side, empty on the other. rate: the learning rates, both
    untuned. edge: `lower` or `upper` on the side whose tuned value lies at that edge. compute: FLOPs of the whole
    training.
    """

    kind: TreatmentKind
    path: str
    """The setting; empty for kinds that are not about one setting."""
    variant: str
    baseline: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path}={self.variant}|{self.baseline}"

    @classmethod
    def parse(cls, text: str) -> Treatment | None:
        """Returns the difference from the text that `str` writes; None for any other text."""
        match = _FORM.fullmatch(text)
        if match is None:
            return None
        kinds: tuple[TreatmentKind, ...] = get_args(TreatmentKind)
        for kind in kinds:
            if kind == match["kind"]:
                return cls(kind, match["path"], match["variant"], match["baseline"])
        return None
