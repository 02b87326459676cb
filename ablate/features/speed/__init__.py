"""`speed:` and `ablate bench`: the variants timed beside one another, on an idle machine (METHODS §7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ablate.base import wording
from ablate.core.feature import Feature


class SpeedFeature(
    Feature,
    metrics="ratios:METRICS",
    grammar="section:GRAMMAR",
    check="section:check_speed",
    begun="stage:begun",
    measure="stage:measure",
    plan="stage:plan",
    tables="ratios:tables",
    account="ratios:account",
    brief="tables:brief_tables",
):
    """Measured after training; claims may be about `step_seconds` and the like."""

    by_path: ClassVar[Sequence[str]] = ("speed.over",)
    decides: ClassVar[bool] = False

    def costs(self) -> Mapping[str, tuple[str, Callable[[float], str]]]:
        """Time and memory of a training step."""
        return {
            "step_seconds": ("time of a training step", wording.seconds),
            "step_memory": ("peak memory of a training step", lambda size: wording.size(round(size))),
        }
