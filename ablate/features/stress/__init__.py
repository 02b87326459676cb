"""`stress:` every variant on a grid of learning rates, to see how much of it each of them stands."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ablate.core.feature import Feature


class StressFeature(
    Feature,
    metrics="grid:SENSITIVITY",
    grammar="grid:GRAMMAR",
    check="grid:check_stress",
    companions="grid:stressed",
    frames="grid:stress_frames",
    plan="grid:plan",
    account="grid:account",
):
    """The grid is trained beside what is judged; claims may be about `lr_sensitivity`."""

    by_path: ClassVar[Sequence[str]] = ("stress",)

    def facts(self, experiment: Any) -> Mapping[str, Any]:
        """The grid."""
        return experiment.study.section("stress")
