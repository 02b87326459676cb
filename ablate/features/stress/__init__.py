"""`stress:` every variant on a grid of learning rates, to see how much of it each of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ablate.core.feature import Feature

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.cell import Cell
    from ablate.core.derived import Derived
    from ablate.core.evidence import Evidence
    from ablate.core.record import Record


class StressFeature(Feature):
    """The grid is trained beside what is judged; claims may be about `lr_sensitivity`."""

    by_path: ClassVar[Sequence[str]] = ("stress",)

    def metrics(self) -> Mapping[str, Derived]:
        """Learning-rate sensitivity."""
        from ablate.features.stress.sensitivity import SENSITIVITY

        return SENSITIVITY

    def grammar(self) -> Mapping[str, tuple[Any, Any]]:
        """The grid."""
        from ablate.features.stress.section import Stress

        return {self.name: (Stress, {})}

    def check(self, draft: Any) -> None:
        """A grid that some variant cannot be trained over is refused."""
        from ablate.features.stress.checks import check_stress

        check_stress(draft)

    def confirming(self, claims: Sequence[Any]) -> Mapping[str, Any]:
        """Only a claim about it needs the grid."""
        return {} if any(claim.metric in self.metrics() for claim in claims) else {self.name: {}}

    def companions(self, study: Any) -> int:
        """One for each learning rate."""
        return sum(map(len, study.section("stress").values()))

    def facts(self, experiment: Any) -> Mapping[str, Any]:
        """The grid."""
        return experiment.study.section("stress")

    def beside(self, experiment: Any, cells: Sequence[Cell]) -> list[Cell]:
        """Every variant at each learning rate."""
        from ablate.features.stress.grid import stressed

        return stressed(experiment, cells)

    def frame(
        self, experiment: Any, cells: Sequence[Cell], records: Mapping[str, Record]
    ) -> pd.DataFrame | None:
        """The losses that were reached."""
        from ablate.features.stress.grid import stress_frame

        return stress_frame(experiment.study.section("stress"), cells, records)

    def plan(self, experiment: Any, store: Any) -> tuple[list[str], Mapping[str, Any] | None]:
        """The size of the grid."""
        from ablate.report.words import say

        runs = len(self.beside(experiment, experiment.cells()))
        grid = experiment.study.section("stress").items()
        return [
            say("plan.stress", path, [f"{level:g}" for level in levels], runs) for path, levels in grid
        ], None

    def told(self, evidence: Evidence) -> tuple[str, str]:
        """The grid."""
        from ablate.base.wording import brief
        from ablate.report.words import say

        grids = evidence.facts.features.get(self.name, {}).items()
        return " ".join(say("methods.stress", path, [*map(brief, grid)]) for path, grid in grids), ""
