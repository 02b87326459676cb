"""The results of a study in Python, which is no command: `ablate.run(...)` and `ablate.load(...)`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import Invalid
from ablate.records.folder import StudyFolder
from ablate.session.options import Options

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ablate.core.facts import Evidence


@dataclass(frozen=True, repr=False)
class Results:
    """A study's results folder: frames, verdicts and facts."""

    folder: Path
    evidence: Evidence
    # One row a variant, task and metric; `ablate.analysis.compare` says what the columns mean.
    comparisons: pd.DataFrame
    claims: pd.DataFrame  # One row a claim.
    # One row a variant, task and measure of stability; `ablate.analysis.stability` says what the columns mean.
    stability: pd.DataFrame
    # One row a variant, task, size and measure of speed; `ablate.analysis.speed_tables` says what the columns mean.
    speed: pd.DataFrame

    @property
    def trials(self) -> pd.DataFrame:
        """A row a trial."""
        return self.evidence.trials

    @property
    def curves(self) -> pd.DataFrame:
        """The learning curves: one row a trial, step and metric, with columns id, step, metric and value."""
        return self.evidence.curves

    @property
    def searched(self) -> pd.DataFrame:
        """The settings that a sweep or tuning has tried, a row a setting; without rows where none was."""
        return self.evidence.frame("search", ())

    def figures(self) -> dict[str, Figure]:
        """Returns the figures of the report: `forest`, `seeds`, `cost`, the learning curves, those of a sweep."""
        from ablate.pipeline.publish import report_data
        from ablate.report.page import figures

        return figures(report_data(StudyFolder.at(self.folder)))

    def figure_data(self) -> dict[str, pd.DataFrame]:
        """Returns the frames that the figures are drawn from, by the same names: a row an observation."""
        from ablate.pipeline.publish import report_data
        from ablate.report.sections import pictures, shown

        sections = shown(report_data(StudyFolder.at(self.folder)))
        return {picture.name: picture.data for picture in pictures(sections)}

    def __repr__(self) -> str:
        return "\n".join([f"Results of {self.folder}", *StudyFolder.at(self.folder).answer()])


def run(
    study: str | Path | Mapping[str, Any],
    *,
    results: str | Path = "results",
    jobs: int | None = None,
    engine: str = "local",
    seeds: int | Sequence[int] | None = None,
    sets: Sequence[str] | Mapping[str, Any] = (),
    only: str | Sequence[str] = (),
    seed: int | None = None,
    tracking_uri: str | None = None,
    fresh: bool = False,
    retrain: bool = False,
    keep_finished: bool = False,
    fail_fast: bool = False,
    sweep: bool = False,
    confirm: bool = False,
) -> Results:
    """Runs a study, or with `sweep=True` its search, and loads its results. Raises `AblateError`.

    study: a study file; or what one says, as a dict, whose paths are relative to the current folder.
    results: the results folder.
    jobs: worker processes; 0: in this process; None: one a core, or one a GPU.
    engine: where trials run: `local`, or `ray`, a cluster.
    seeds: number of seeds, or each of them, instead of the study's.
    sets: changes to the study, `["training.lr=0.01"]` or `{"training.lr": 0.01}`.
    only: train only these variants, and the baseline.
    seed: train only this seed.
    tracking_uri: where MLflow keeps its runs; None: SQLite in the store.
    fresh: train again the trials that are in the store.
    retrain: train again the trials that are in the store and whose code, and nothing else, has changed.
    keep_finished: use these as they are; the report says so.
    fail_fast: stop at the first failed trial.
    confirm: repeat what the study found, on seeds that it has not seen.
    """
    from rich.console import Console

    from ablate.pipeline.run import run_study
    from ablate.study.files import as_file, as_sets

    to_list = getattr(seeds, "tolist", None)  # Arrays of numpy, pandas and torch have it.
    if to_list is not None:
        seeds = to_list()
    options = Options(
        results=_path(results, "results"),
        jobs=jobs,
        engine=engine,
        seeds=tuple(seeds) if isinstance(seeds, Iterable) else seeds,
        sets=as_sets(sets) if isinstance(sets, Mapping | str) else _listed(sets),
        only=(only,) if isinstance(only, str) else _listed(only),
        seed=seed,
        tracking_uri=tracking_uri,
        fresh=fresh,
        retrain=retrain,
        keep_finished=keep_finished,
        fail_fast=fail_fast,
        sweep=sweep,
        confirm=confirm,
    )
    if not isinstance(study, Mapping):
        study = _path(study, "study")
    with as_file(study) as path:
        return load(run_study(path, options, Console(file=sys.stderr)).folder)


def load(folder: str | Path) -> Results:
    """Returns the results of a study from its folder alone; raises `AblateError` when they are not there."""
    study = StudyFolder.at(_path(folder, "folder"))
    evidence = study.evidence()
    tables = study.frames()
    return Results(
        folder=study.path,
        evidence=evidence,
        comparisons=tables.comparisons,
        claims=tables.claims,
        stability=tables.stability,
        speed=tables.speed,
    )


def _path(given: str | Path, name: str) -> Path:
    """Returns the path that an argument names. Raises `Invalid` for what names none."""
    if not isinstance(given, str | os.PathLike) or not str(given) or "\0" in str(given):
        raise Invalid(name, "must be the path of a file or folder, as text or a `Path`", given)
    return Path(given)


def _listed(given: Sequence[str]) -> Sequence[str]:
    """Returns what can be gone through once as a list, and anything else as it is, for `Options` to refuse."""
    return tuple(given) if isinstance(given, Iterable) else given
