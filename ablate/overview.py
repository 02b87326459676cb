"""`ablate plan`: what a study would train, and what of it is there already."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablate.execution.pool import default_jobs
from ablate.execution.progress import duration
from ablate.records.store import Store
from ablate.run import Options
from ablate.study.experiment import Experiment, prepare


def print_plan(path: Path, options: Options, console: Console) -> None:
    """A row a variant and task: parameters, FLOPs, trials that are cached and to be trained."""
    experiment = prepare(path, options.sets, options.seeds)
    store = Store(options.results / "store")
    records = {cell.trial.id: store.load(cell.trial.id) for cell in experiment.cells()}
    cells = experiment.cells()
    table = Table(title=f"{experiment.study.name}: {len(experiment.variants)} variants", title_justify="left")
    table.add_column("variant", overflow="fold")
    if len(experiment.tasks) > 1:
        table.add_column("task")
    for name in ("parameters", "FLOPs", "cached", "to train"):
        table.add_column(name, justify="right")
    for variant in experiment.variants:
        for task, described in zip(experiment.tasks, experiment.describe(variant), strict=True):
            ids = [c.trial.id for c in cells if (c.variant, c.task) == (variant.name, task)]
            cached = sum(_is_kept(records[i]) for i in ids)
            flops = "–" if described.flops is None else f"{described.flops:,}"
            names = [escape(variant.name)] + ([escape(task)] if len(experiment.tasks) > 1 else [])
            table.add_row(*names, f"{described.parameters:,}", flops, str(cached), str(len(ids) - cached))
    console.print(table)
    console.print(_expectation(experiment, store), highlight=False)


def _is_kept(record: object) -> bool:
    return record is not None and getattr(record, "status", "failed") != "failed"


def _expectation(experiment: Experiment, store: Store) -> str:
    """How long the rest will take, by the trials that have run."""
    ids = {cell.trial.id for cell in experiment.cells()}
    records = {trial_id: record for trial_id in ids if (record := store.load(trial_id))}
    rest = sum(not _is_kept(records.get(trial_id)) for trial_id in ids)
    times = [seconds for r in records.values() if (seconds := r.metrics.get("train_seconds"))]
    if not rest:
        return "Everything is in the store: a run trains nothing."
    if not times:
        return f"{rest} trials to train; how long they take is not known before the first has run."
    jobs = default_jobs()
    seconds = sum(times) / len(times) * rest / jobs
    return f"{rest} trials to train: about {duration(seconds)} on {jobs} workers, by the {len(times)} that have run."
