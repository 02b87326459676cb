"""One difference in the treatment of a variant and of what it is compared with, as a value that tables keep."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["steps", "budget", "settings", "untuned", "rate", "edge", "compute"]
_FORM = re.compile(r"(?P<kind>\w+) (?P<path>\S*)=(?P<variant>.*)\|(?P<baseline>.*)")


@dataclass(frozen=True)
class Treatment:
    """A difference in the treatment of two sides; a table keeps it as `kind path=variant|baseline`.

    steps, budget: a setting that decides how long a run trains, with its values. settings: the number of settings that
    were tried in tuning. untuned: `tuned` on the side that was, nothing on the other. rate: the learning rates, both
    untuned. edge: `lower` or `upper` on the side whose tuned value lies there. compute: FLOPs of the whole training.
    """

    kind: Kind
    path: str
    """The setting; empty where the kind says it."""
    variant: str
    baseline: str

    def __str__(self) -> str:
        return f"{self.kind} {self.path}={self.variant}|{self.baseline}"

    @classmethod
    def parse(cls, text: str) -> Treatment | None:
        """Returns the difference that `str` has written; None for any other text."""
        found = _FORM.fullmatch(text)
        if found is None:
            return None
        kinds: tuple[Kind, ...] = get_args(Kind)
        for kind in kinds:
            if kind == found["kind"]:
                return cls(kind, found["path"], found["variant"], found["baseline"])
        return None
