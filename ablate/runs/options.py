"""The options of `ablate analyse`, which add what a file of runs does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather, Invalid, Problem, listed
from ablate.core.derived import DERIVED
from ablate.core.facts import TRIAL_COLUMNS
from ablate.core.metric import Direction, Metric
from ablate.core.metric_range import check_declared

OF_ANY_METRIC = ("baseline", "compare")
"""Options that runs may declare whatever metric is judged."""
RESERVED = (*TRIAL_COLUMNS, "example", "source", *DERIVED)
"""Names that no metric may have: of columns, and of metrics that are derived from the runs."""


@dataclass(frozen=True)
class AnalysisOptions:
    """The options, each under the name that it has on the command line."""

    baseline: str = ""
    metric: str = ""
    direction: Direction | None = None
    margin: float | None = None
    claim: Sequence[str] = ()
    floor: float | None = None
    ceiling: float | None = None
    resolution: float = 0.0
    all_or_nothing: float | None = None
    also: Sequence[tuple[str, Direction]] = ()
    """Further metrics, which claims may use, with their directions."""
    column: Sequence[tuple[str, str]] = ()
    """Roles with the columns that have them; those of a variant or task may be several, separated by commas."""
    seed: str = ""
    """The column of the seeds, or a pattern that finds them in the names of variants."""
    where: Sequence[str] = ()
    """Conditions on rows, `COLUMN=VALUE` or a query of pandas."""
    at: str = ""
    """The row of a run that counts, where it has one a step: `last`, `best METRIC` or `step N`."""
    compare: str | None = None
    """`all_pairs`, where each variant is compared with each other one."""
    read: Sequence[tuple[str, str]] = ()
    """Names of metrics with the patterns that find them in the lines of a log."""
    experiment: str = ""
    """The experiment of MLflow, where there are several."""
    replicates: bool = False
    """Whether rows of a variant are replicates although they differ in other columns."""
    tracking_uri: str | None = None
    known_noise: Path | None = None
    keep_noise: Path | None = None
    made_with: Sequence[tuple[str, str]] = field(default=())
    name: str | None = None
    command: str = ""
    """The call, as it was given on the command line."""

    def metrics(self) -> Mapping[str, Metric]:
        """Returns the judged metric first, then the metrics that claims may use. Raises `Invalid`."""
        metric = Metric(
            self.judged_direction,
            self.resolution,
            floor=self.floor,
            ceiling=self.ceiling,
            solved=self.all_or_nothing,
            margin=self.margin,
        )
        with Gather() as at:
            try:
                check_declared(metric, self.metric)
            except Invalid as error:
                at.problems += [replace(problem, path=(_option(problem),)) for problem in error.problems]
            at.refuse(
                self.all_or_nothing is not None and (self.floor is None or self.ceiling is None),
                "--all-or-nothing",
                "takes --floor and --ceiling",
            )
        metrics = {self.metric: replace(metric, margin=None)}
        for name, direction in self.also:
            metrics[name] = Metric(direction)
        return metrics

    def or_declared(self, declared: Mapping[str, Any]) -> AnalysisOptions:
        """Returns the options with what runs declare where the call says nothing; of another metric nothing is used."""
        is_of_metric = self.metric in ("", declared.get("metric"))
        filled = {}
        for name, value in declared.items():
            is_given = getattr(self, name) not in (None, "", 0.0)
            if not is_given and (is_of_metric or name in OF_ANY_METRIC):
                filled[name] = value
        return replace(self, **filled)

    def check_names(self) -> None:
        """Raises `Invalid` for names of metrics that tables use for something else, and for those named twice."""
        also = [name for name, _ in self.also]
        repeated = [name for name in also if also.count(name) > 1]
        with Gather() as at:
            named_by_option = [("--metric", self.metric)]
            named_by_option += [("--also", name) for name in also]
            for option, name in named_by_option:
                at.refuse(
                    name in RESERVED,
                    option,
                    "is a name that tables of runs or claims use for something else",
                    name,
                    f"any name but {', '.join(RESERVED)}",
                    "Rename the column in RUNS",
                )
            at.refuse(self.metric in also, "--also", "must name another metric than --metric", self.metric)
            at.refuse(repeated, "--also", "must name each metric once", listed(dict.fromkeys(repeated)))
            parts = [part for part, _ in self.made_with]
            repeated = [part for part in dict.fromkeys(parts) if parts.count(part) > 1]
            at.refuse(repeated, "--made-with", "must say each once", listed(repeated))

    @property
    def judged_direction(self) -> Direction:
        """The direction of the judged metric, once it is known."""
        assert self.direction is not None
        return self.direction

    @property
    def directions(self) -> dict[str, Direction]:
        """The directions of the metrics that the call names."""
        directions = dict(self.also)
        if self.direction is not None:
            directions[self.metric] = self.direction
        return directions

    def baseline_among(self, variants: Sequence[str]) -> str:
        """Returns the name of the baseline among the variants, which may differ in spaces after commas."""
        spaced = re.sub(r",\s*", ", ", self.baseline)
        return self.baseline if self.baseline in variants or spaced not in variants else spaced


def _option(problem: Problem) -> str:
    """Returns the option that gives the number of a metric that a problem is about."""
    (name,) = problem.path
    return "--all-or-nothing" if name == "solved" else f"--{name}"
