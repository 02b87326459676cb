"""`speed:` and `ablate bench`: the variants timed beside one another, on an idle machine (METHODS §7)."""

from collections.abc import Sequence
from typing import ClassVar

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
    costs="tables:COSTS",
):
    """Measured after training; claims may be about `step_seconds` and the like."""

    by_path: ClassVar[Sequence[str]] = ("speed.over",)
    decides: ClassVar[bool] = False
