"""The stress grid: every variant trained at each value of one path, whatever its own value there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ablate.base.errors import NOT_GIVEN, nearest
from ablate.base.text import printable
from ablate.base.wording import brief
from ablate.core.facts import Evidence
from ablate.core.metric import HELD_OUT
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.report.words import say
from ablate.study.checks import Draft, attempt, refuse_own
from ablate.study.document import PathKey
from ablate.study.expand import report_at
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches

COLUMNS = ("id", "name", "variant", "task", "seed", "value", "status", "reason", "test_loss", "initial_loss")
"""One row a trial of the grid: value is the float at the path; the losses are NaN where the run has none."""


def check_stress(draft: Draft) -> None:
    """Refuses a grid that the workload cannot be trained over, or over what is compared; the baseline is valid."""
    workload, document = draft.workload, draft.document
    baseline = draft.design.variants[0].configs
    for path, levels in draft.study.section("stress").items():
        at: PathKey = ("stress", path)
        if path != workload.rate_path:
            rule = "cannot be stressed: only the learning rate can"
            if workload.rate_path is None:
                rule += f", of which {draft.study.workload} names no path"
            rates = list(filter(None, [workload.rate_path]))
            document.refuse(at, rule, NOT_GIVEN, "".join(rates), nearest(path, rates))
            continue
        if any(HELD_OUT not in workload.describe(config).stability for config in baseline):
            rule = f"needs a workload whose records have `{HELD_OUT}`, which {draft.study.workload} does not declare"
            document.refuse(at, rule)
        for index, level in enumerate(levels):
            for config in baseline:
                problems = attempt(draft.resolve, apply_patches(config, {path: level}))[1]
                report_at(problems, {path: level}, (*at, index), document)
        rule = f"is what `stress` trains every variant over, so that no variant can have a {path} of its own"
        refuse_own(path, rule, f"Take it out, or compare {path} without `stress`", draft)


def stressed(experiment: Experiment, cell: Cell) -> list[Cell]:
    """The runs of one cell at each learning rate; where that is its own, they share a trial.

    A placebo has none: its learning rate is the baseline's.
    """
    found = []
    for path, levels in experiment.study.section("stress").items() if not cell.trial.stream else ():
        for level in levels:
            config = experiment.resolve(apply_patches(cell.trial.config, {path: level}))
            trial = experiment.trial(config, cell.seed)
            # Only the trials of the comparison are evaluated.
            trial = cell.trial if trial.id == cell.id else replace(trial, checkpoint="none")
            name = f"{cell.name} at {path.rpartition('.')[2]} {level:g}"
            found.append(
                replace(cell, trial=trial, name=name, levels={**cell.levels, path: level}, role="stress")
            )
    return found


def stress_frames(
    experiment: Experiment, cells: Sequence[Cell], records: Mapping[str, Record]
) -> Mapping[str, pd.DataFrame]:
    """The records of the grid as a frame with `COLUMNS`; cells that have not run are absent."""
    rows = [
        (
            *(cell.id, cell.name, cell.variant, cell.task, cell.seed, cell.levels[path]),
            *(record.status, printable(record.reason)),
            *(record.metrics.get(name) for name in ("test_loss", "initial_loss")),
        )
        for path in experiment.study.section("stress")
        for cell in cells
        if cell.role == "stress" and (record := records.get(cell.id)) is not None
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return {"stress": frame.astype({"test_loss": float, "initial_loss": float}) if rows else frame}


def plan(experiment: Experiment, store: Any) -> tuple[list[str], None]:
    """The size of the grid."""
    runs = sum(cell.role == "stress" for cell in experiment.companions(experiment.cells()))
    grid = experiment.study.section("stress").items()
    return [say("plan.stress", path, [f"{rate:g}" for rate in rates], runs) for path, rates in grid], None


def account(evidence: Evidence) -> str:
    """The grid."""
    grids = evidence.facts.features.get("stress", {}).items()
    return " ".join(say("methods.stress", path, [*map(brief, rates)]) for path, rates in grids)
