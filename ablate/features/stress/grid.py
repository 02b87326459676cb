"""The stress grid: every variant trained at each value of one path, whatever its own value there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from ablate.base.printable import printable
from ablate.base.wording import brief
from ablate.core.cell import Cell
from ablate.core.evidence import Evidence, no_rows
from ablate.core.record import Record
from ablate.report.words import say
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches

COLUMNS = ("id", "name", "variant", "task", "seed", "value", "status", "reason", "test_loss", "initial_loss")
"""One row a trial of the grid: value is the float at the path; the losses are NaN where the run has none."""


def stressed(experiment: Experiment, cells: Sequence[Cell]) -> list[Cell]:
    """The cells of the grid, seed by seed; where a value is the variant's own, its trial is that of `cells`.

    A placebo has none: its learning rate is the baseline's.
    """
    if not experiment.study.section("stress"):
        return []
    ((path, levels),) = experiment.study.section("stress").items()
    word = path.rpartition(".")[2]
    own = {cell.id: cell.trial for cell in cells}
    settings = [
        (variant, index, level, experiment.resolve(apply_patches(config, {path: level})))
        for variant in experiment.variants
        if not variant.placebo
        for index, config in enumerate(variant.configs)
        for level in levels
    ]
    return [
        Cell(
            variant.name,
            task := experiment.tasks[index],
            seed,
            # Only the trials of the comparison are evaluated.
            own.get((trial := experiment.trial(config, seed)).id) or replace(trial, checkpoint="none"),
            f"{variant.name}{experiment.on(task)} seed {seed} at {word} {level:g}",
            {**experiment.levels(variant, index), path: level},
            role="stress",
            size=partial(experiment.size, variant, index),
        )
        for seed in experiment.study.seeds.values
        for variant, index, level, config in settings
    ]


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
    if not rows:
        return {"stress": no_rows(COLUMNS)}
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    return {"stress": found.astype({"test_loss": float, "initial_loss": float})}


def plan(experiment: Experiment, store: Any) -> tuple[list[str], None]:
    """The size of the grid."""
    runs, grid = len(stressed(experiment, experiment.cells())), experiment.study.section("stress").items()
    return [say("plan.stress", path, [f"{rate:g}" for rate in rates], runs) for path, rates in grid], None


def told(evidence: Evidence) -> tuple[str, str]:
    """The grid."""
    grids = evidence.facts.features.get("stress", {}).items()
    return " ".join(say("methods.stress", path, [*map(brief, rates)]) for path, rates in grids), ""
