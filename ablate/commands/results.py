"""The results of a study in Python: `ablate.run(...)` and `ablate.load(...)`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.stages.options import Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ablate.core.evidence import Evidence
    from ablate.core.search_table import SearchTable
    from ablate.records.folder import StudyFolder


@dataclass(frozen=True)
class Results:
    """A study's results folder: frames, verdicts and facts."""

    folder: Path
    evidence: Evidence
    comparisons: pd.DataFrame
    claims: pd.DataFrame

    @property
    def trials(self) -> pd.DataFrame:
        """One row a trial."""
        return self.evidence.trials

    @property
    def curves(self) -> pd.DataFrame:
        """id, step, metric, value."""
        return self.evidence.curves

    @property
    def searched(self) -> SearchTable | None:
        """The settings that a sweep or tuning has tried: `.trials`, a row a setting, and `.facts`."""
        return _study(self.folder).search_table(self.evidence.facts.searched)

    def figures(self) -> dict[str, Figure]:
        """The figures of the report by name: `forest`, `seeds`, `cost`, the learning curves, those of a sweep."""
        from ablate.report.page import figures
        from ablate.stages.publish import material

        return figures(material(_study(self.folder)))


def run(study: str | Path, **options: Any) -> Results:
    """Runs a study, or with `sweep=True` its search, and loads its results. Raises `AblateError`.

    The keywords are those of `Options`: results, jobs, seeds, sets, only, seed, fresh, sweep, …
    """
    from rich.console import Console

    from ablate.commands.run import execute

    if "results" in options:
        options["results"] = Path(options["results"])
    return load(execute(Path(study), Options(**options), Console(file=sys.stderr)).folder)


def load(folder: str | Path) -> Results:
    """The results of a study from its folder alone; raises `AblateError` when they are not there."""
    found = _study(folder)
    return Results(found.path, found.evidence(), *found.frames())


def _study(folder: str | Path) -> StudyFolder:
    # Imported late: `ablate --help` imports this module to see whether it is a command.
    from ablate.records.folder import StudyFolder

    return StudyFolder.at(Path(folder))
