"""A pilot: a few seeds of every variant, trained to learn how far their differences from the baseline spread.

Its seeds neither judge nor tune, so that no verdict and no claim rests on what it showed. Its trials are kept in the
store like any others; the roster of the study holds them until the study has a report, which tells the spread itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from rich.console import Console

from ablate.core.plan import FixedPlan
from ablate.core.record import Record
from ablate.execution.driver import drive
from ablate.execution.progress import Display
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.engine import number_of_jobs, open_engine, reference, standby
from ablate.stages.expect import seconds_each
from ablate.stages.options import Options, Outcome
from ablate.study.experiment import Experiment
from ablate.study.sections.seeds import PILOT_SEEDS_FROM


def pilot(
    experiment: Experiment,
    seeds: int,
    folder: StudyFolder,
    store: Store,
    options: Options,
    console: Console,
    warn: Callable[[str], None],
) -> Outcome:
    """Trains what is missing of the pilot of a matched study, its placebo left out; the caller holds its lock."""
    placebos = {variant.name for variant in experiment.variants if variant.placebo}
    numbers = range(PILOT_SEEDS_FROM, PILOT_SEEDS_FROM + seeds)
    cells = [
        replace(cell, role="pilot", name=f"{cell.variant}{experiment.on(cell.task)} pilot seed {cell.seed}")
        for cell in experiment.cells(numbers)
        if cell.variant not in placebos
    ]
    folder.roster.add(cells)
    where = reference(experiment)
    jobs, devices = number_of_jobs(experiment, options.jobs)
    # Without a metric: only the spread is of interest, and no variant should look better than another.
    display = Display(console, f"{experiment.study.name}, pilot", "", jobs)
    failed: dict[str, str] = {}
    with (
        closing(standby(experiment.path, jobs)) as ready,
        open_engine(experiment, where, jobs, devices, ready) as engine,
        display,
    ):
        todo = {c.id: (c.variant, c.task) for c in cells if not store.has(c.id)}
        display.expected = seconds_each(experiment.cells(), [*todo.values()], store)
        records: dict[str, Record] = drive(FixedPlan(cells), engine, store, display)
    for cell in cells:
        if records[cell.id].status == "failed" and cell.id not in failed:
            failed[cell.id] = f"{cell.name}: {records[cell.id].reason}"
            warn(f"failed: {failed[cell.id]}")
    return Outcome(folder.path, [*failed.values()], display.done)
