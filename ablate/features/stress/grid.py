"""The stress grid: every variant trained at each value of one path, whatever its own value there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from ablate.base.printable import printable
from ablate.core.cell import Cell
from ablate.core.evidence import no_rows
from ablate.core.record import Record
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
    found = []
    for seed in experiment.study.seeds.values:
        for variant, index, level, config in settings:
            task, trial = experiment.tasks[index], experiment.trial(config, seed)
            found.append(
                Cell(
                    variant.name,
                    task,
                    seed,
                    # Only the trials of the comparison are evaluated.
                    own.get(trial.id) or replace(trial, checkpoint="none"),
                    f"{variant.name}{experiment.on(task)} seed {seed} at {word} {level:g}",
                    {**experiment.levels(variant, index), path: level},
                    role="stress",
                    size=partial(experiment.size, variant, index),
                )
            )
    return found


def stress_frame(
    stress: Mapping[str, Sequence[float]], cells: Sequence[Cell], records: Mapping[str, Record]
) -> pd.DataFrame:
    """The records of the grid as a frame with `COLUMNS`; cells that have not run are absent."""
    rows = [
        (
            *(cell.id, cell.name, cell.variant, cell.task, cell.seed, cell.levels[path]),
            *(record.status, printable(record.reason)),
            *(_number(record, name) for name in ("test_loss", "initial_loss")),
        )
        for path in stress
        for cell in cells
        if (record := records.get(cell.id)) is not None
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)) if rows else no_rows(COLUMNS)


def _number(record: Record, name: str) -> float:
    value = record.metrics.get(name)
    return np.nan if value is None else value
