"""`stress:` every variant on a grid of learning rates, to see how much of it each of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ablate.core.feature import Feature


class StressFeature(
    Feature,
    metrics="sensitivity:SENSITIVITY",
    grammar="section:GRAMMAR",
    check="checks:check_stress",
    beside="grid:stressed",
    frames="grid:stress_frames",
    plan="grid:plan",
    told="grid:told",
):
    """The grid is trained beside what is judged; claims may be about `lr_sensitivity`."""

    by_path: ClassVar[Sequence[str]] = ("stress",)

    def confirming(self, claims: Sequence[Any]) -> Mapping[str, Any]:
        """Only a claim about it needs the grid."""
        return {} if any(claim.metric in self.metrics() for claim in claims) else {self.name: {}}

    def companions(self, study: Any) -> int:
        """One for each learning rate."""
        return sum(map(len, study.section("stress").values()))

    def facts(self, experiment: Any) -> Mapping[str, Any]:
        """The grid."""
        grid: Mapping[str, Any] = experiment.study.section("stress")
        return grid
