"""The results of a study in Python, which is no command: `ablate.run(...)` and `ablate.load(...)`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.analysis.search_table import SearchFacts
from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.extras import needed_by
from ablate.commands._options import in_python
from ablate.core.facts import RUNNER_UPS
from ablate.core.stages import FINAL, stage_of
from ablate.core.stress_facts import StressFacts
from ablate.core.trial import RUNNER_UP
from ablate.records.folder import StudyFolder
from ablate.session.option import as_path
from ablate.session.options import Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ablate.core.facts import Evidence, StudyFacts


OTHER_STAGES = {RUNNER_UPS: stage_of(RUNNER_UP), StressFacts.key: "stress"}
"""The frame of evidence → the stage of its trials."""


@dataclass(frozen=True, repr=False)
class Results:
    """A study's results folder: frames, verdicts and facts."""

    folder: Path
    evidence: Evidence
    # One row a variant, task and metric; `ablate.analysis.compare` says what the columns mean, `label` is the name for
    # readers.
    comparisons: pd.DataFrame
    claims: pd.DataFrame  # One row a claim.
    # One row a variant, task and measure of stability; `ablate.analysis.stability` says what the columns mean.
    stability: pd.DataFrame
    # One row a variant, task, size and measure of speed; `ablate.analysis.speed_tables` says what the columns mean.
    speed: pd.DataFrame

    @property
    def trials(self) -> pd.DataFrame:
        """The trials that verdicts are about: a row a variant, task and seed; `stage` is `final`."""
        return self._labelled(self.evidence.trials, FINAL)

    @property
    def other_trials(self) -> pd.DataFrame:
        """The trials beside those, by `stage`: `runner-up` and `stress`; without rows where there are none."""
        import pandas as pd

        frames = []
        for name, stage in OTHER_STAGES.items():
            frame = self.evidence.other_trials(name, ("id", "variant", "task", "seed", "status"))
            frames.append(self._labelled(frame, stage))
        return pd.concat(frames, ignore_index=True)

    @property
    def curves(self) -> pd.DataFrame:
        """The learning curves of `trials`: a row a variant, task, seed, step and metric, with its value."""
        trials = self.trials[["id", "variant", "label", "task", "seed", "stage"]]
        return trials.merge(self.evidence.curves, on="id")

    def _labelled(self, frame: pd.DataFrame, stage: str) -> pd.DataFrame:
        """Returns a frame with two more columns after `variant`: its name for readers, and the stage."""
        from ablate.report.tables.verdicts import names_of

        names = names_of(self.evidence.facts)
        place = frame.columns.get_loc("variant") + 1
        labelled = frame.copy()
        labelled.insert(place, "label", [names.get(name, name) for name in frame["variant"]])
        labelled.insert(place + 1, "stage", stage)
        return labelled

    @property
    def searched(self) -> pd.DataFrame:
        """The settings that a sweep or tuning has tried, a row a setting; without rows where none was."""
        return self.evidence.frame(SearchFacts)

    def figures(self) -> dict[str, Figure]:
        """Returns the figures of the report: `forest`, `seeds`, `cost`, the learning curves, those of a sweep."""
        from ablate.pipeline.judging import judge_evidence
        from ablate.report.page import figures

        return figures(judge_evidence(StudyFolder.at(self.folder)))

    def figure_data(self) -> dict[str, pd.DataFrame]:
        """Returns the frames that the figures are drawn from, by the same names: a row an observation."""
        from ablate.pipeline.judging import judge_evidence
        from ablate.report.sections import pictures, shown

        sections = shown(judge_evidence(StudyFolder.at(self.folder)))
        return {picture.name: picture.data for picture in pictures(sections)}

    def plot(self, name: str = "forest") -> Figure:
        """Returns one figure of the report: a name of `figures()`, or `curves`, the judged metric by step.

        Raises `AblateError` for a name that the report does not have.
        """
        from ablate.pipeline.judging import judge_evidence
        from ablate.report.figures.theme import theme
        from ablate.report.sections import pictures, shown
        from ablate.report.sections.curves import Curves

        sections = shown(judge_evidence(StudyFolder.at(self.folder)))
        known = {picture.name: picture for picture in pictures(sections)}
        for section in sections:
            if isinstance(section.section, Curves) and section.pictures:
                known["curves"] = section.pictures[0]
        if name not in known:
            problem = Problem("is no figure of this report", (), name, listed(known), nearest(name, known))
            raise AblateError(str(problem))
        with theme():
            figure = known[name].draw()
            # Ticks are made when a figure is first drawn, by the settings of that moment.
            figure.draw_without_rendering()
        return figure

    def _repr_html_(self) -> str:
        from ablate.report.notebook import as_html

        return as_html(StudyFolder.at(self.folder))

    def __repr__(self) -> str:
        from ablate.report.notebook import as_text

        return f"Results of {self.folder}\n{as_text(StudyFolder.at(self.folder))}"


@in_python(Options)
def run(study: str | Path | Mapping[str, Any], options: Options) -> Results:
    """Runs a study, or with `sweep=True` its search, and loads its results. Raises `AblateError`.

    study: a study file; or what one says, as a dict, whose paths are relative to the current folder.
    """
    from rich.console import Console

    from ablate.pipeline.run import run_study
    from ablate.study.files import as_file

    if not isinstance(study, Mapping):
        study = as_path(study, "study")
    with needed_by("`ablate.run`"), as_file(study) as path:
        return load(run_study(path, options, Console(file=sys.stderr)).folder)


def _labels(comparisons: pd.DataFrame, facts: StudyFacts) -> list[str]:
    """Returns what figures and tables call each comparison."""
    from ablate.report.tables.verdicts import names_of, row_name
    from ablate.report.words import rows_of

    names = names_of(facts)
    return [row_name(row, names) for row in rows_of(comparisons)]


def load(folder: str | Path) -> Results:
    """Returns the results of a study from its folder alone; raises `AblateError` when they are not there."""
    study = StudyFolder.at(as_path(folder, "folder"))
    evidence = study.evidence()
    tables = study.frames()
    comparisons = tables.comparisons
    comparisons.insert(1, "label", _labels(comparisons, evidence.facts))
    return Results(
        folder=study.path,
        evidence=evidence,
        comparisons=comparisons,
        claims=tables.claims,
        stability=tables.stability,
        speed=tables.speed,
    )
