"""The floor and the resolution that a call declares of its metric, beside the values of the runs."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis.compare import compare
from ablate.analysis.grid import grid_step
from ablate.core.facts import Evidence
from ablate.core.metric import sign
from ablate.core.replication import RunName
from ablate.report.words import message
from ablate.runs.checking import CheckedRuns
from ablate.runs.looks.calls import NOT_GIVEN
from ablate.runs.options import AnalysisOptions

_LEAST_VALUES = 5
_LEAST_DISTINCT = 3
"""The fewest values, and different ones of them, whose grid is no chance."""
_ROUNDED = 1e-6
"""The share of a step by which rounding may move it."""


def deciding_thresholds(evidence: Evidence) -> dict[str, str]:
    """Returns option → the value in force, as text, of the thresholds that change the judged numbers.

    These are `floor` where a run diverged, and `resolution` where the step of the metric counts as a standard deviation
    in a planned comparison; several steps stand with commas.
    """
    facts = evidence.facts
    deciding = {}
    if (evidence.trials["status"] == "diverged").any():
        floor = facts.tasks[0].metrics[facts.metric].floor
        deciding["floor"] = NOT_GIVEN if floor is None else f"{floor:g}"
    comparisons = compare(evidence)
    steps = comparisons.loc[~comparisons["exploratory"].astype(bool), "resolution"].dropna()
    if len(steps):
        deciding["resolution"] = ",".join(f"{step:g}" for step in sorted({*steps}))
    return deciding


def declared_beside_values(
    runs: CheckedRuns, options: AnalysisOptions, *, run_name: RunName
) -> Iterator[str]:
    """Yields sentences on a floor and a resolution that the values of the runs do not bear out."""
    completed = runs.trials[runs.trials["status"] == "completed"]
    if options.floor is not None:
        yield from _diverged(runs.trials, options.floor, run_name)
        yield from _floor_above(completed, options, options.floor)
    yield from _resolution_below(completed[options.metric].dropna(), options)


def _diverged(trials: pd.DataFrame, floor: float, run_name: RunName) -> Iterator[str]:
    """Yields the sentence on the runs that count with the floor, whatever their verdict is."""
    diverged = trials[trials["status"] == "diverged"]
    names = []
    for row in diverged.to_dict("records"):
        has_number = run_name != "run"
        names.append(f"{row['variant']} {run_name} {row['seed']}" if has_number else str(row["variant"]))
    if names:
        yield message("analyse.at_floor", len(names), floor, names)


def _floor_above(completed: pd.DataFrame, options: AnalysisOptions, floor: float) -> Iterator[str]:
    """Yields the sentence on a floor that is better than completed runs of the baseline."""
    values = completed.loc[completed["variant"] == options.baseline, options.metric].dropna()
    orientation = sign(options.metrics()[options.metric])
    num_worse = int((orientation * values < orientation * floor).sum())
    if num_worse:
        yield message("analyse.floor_above", floor, num_worse, len(values), options.baseline)


def _resolution_below(values: pd.Series, options: AnalysisOptions) -> Iterator[str]:
    """Yields the sentence on a resolution below the step of the grid on which all values lie."""
    if not options.resolution or len(values) < _LEAST_VALUES or values.nunique() < _LEAST_DISTINCT:
        return
    step = grid_step(values.to_numpy(float))
    if step > options.resolution * (1 + _ROUNDED):
        yield message("analyse.coarser", len(values), options.metric, step, options.resolution)
