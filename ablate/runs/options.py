"""The options of `ablate analyse`, which add what a file of runs does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ablate.base.errors import Gather
from ablate.core.metric import Direction, Metric


@dataclass(frozen=True)
class AnalysisOptions:
    """The options, each under the name that it has on the command line."""

    baseline: str
    metric: str
    direction: Direction
    margin: float | None = None
    claim: Sequence[str] = ()
    floor: float | None = None
    ceiling: float | None = None
    resolution: float = 0.0
    all_or_nothing: float | None = None
    also: Sequence[tuple[str, Direction]] = ()
    """Further metrics, which claims may use, with their directions."""
    column: Sequence[tuple[str, str]] = ()
    """Roles with the columns that have them; those of a variant or task may be several, parted by commas."""
    where: Sequence[str] = ()
    """Conditions on rows, `COLUMN=VALUE`."""
    replicates: bool = False
    """Whether rows of a variant are replicates although they differ in other columns."""
    tracking_uri: str | None = None
    known_noise: Path | None = None
    keep_noise: Path | None = None
    made_with: Sequence[tuple[str, str]] = field(default=())
    name: str | None = None

    def metrics(self) -> Mapping[str, Metric]:
        """Returns the judged metric first, then the metrics that claims may use. Raises `Invalid`."""
        bounds = {"floor": self.floor, "ceiling": self.ceiling, "solved": self.all_or_nothing}
        with Gather() as at:
            at.refuse(
                self.metric in dict(self.also),
                "--also",
                "must name another metric than --metric",
                self.metric,
            )
            at.refuse(
                self.all_or_nothing is not None and None in bounds.values(),
                "--all-or-nothing",
                "takes --floor and --ceiling",
            )
        metrics = {self.metric: Metric(self.direction, self.resolution, **bounds)}
        for name, direction in self.also:
            metrics[name] = Metric(direction)
        return metrics

    def baseline_among(self, variants: Sequence[str]) -> str:
        """Returns the name of the baseline among the variants, which may differ in spaces after commas."""
        spaced = re.sub(r",\s*", ", ", self.baseline)
        return self.baseline if self.baseline in variants or spaced not in variants else spaced
