"""`ablate plan`: what a study would train, and what of it is there already."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablate.execution.pool import default_jobs
from ablate.execution.progress import duration
from ablate.records.record import Record
from ablate.records.store import Store
from ablate.run import Options
from ablate.study.experiment import prepare


def print_plan(path: Path, options: Options, console: Console) -> None:
    """A row a variant and task: parameters, FLOPs, trials that are cached and to be trained."""
    experiment = prepare(path, options.sets, options.seeds)
    store = Store(options.results / "store", console.print, read_only=True)
    cells = experiment.cells()
    records = {i: record for i in {cell.trial.id for cell in cells} if (record := store.load(i))}
    several = len(experiment.tasks) > 1
    table = Table(title=f"{experiment.study.name}: {len(experiment.variants)} variants", title_justify="left")
    table.add_column("variant", overflow="fold")
    if several:
        table.add_column("task")
    for name in ("parameters", "FLOPs", "cached", "to train"):
        table.add_column(name, justify="right")
    for variant in experiment.variants:
        for task, described in zip(experiment.tasks, experiment.describe(variant), strict=True):
            ids = [c.trial.id for c in cells if (c.variant, c.task) == (variant.name, task)]
            cached = sum(_is_kept(records.get(i)) for i in ids)
            flops = "–" if described.flops is None else f"{described.flops:,}"
            names = [escape(variant.name), escape(task)] if several else [escape(variant.name)]
            table.add_row(*names, f"{described.parameters:,}", flops, str(cached), str(len(ids) - cached))
    console.print(table)
    rest = len({cell.trial.id for cell in cells}) - sum(map(_is_kept, records.values()))
    console.print(_expectation(rest, records.values()), highlight=False, soft_wrap=True)


def _is_kept(record: Record | None) -> bool:
    return record is not None and record.status != "failed"


def _expectation(rest: int, records: Iterable[Record]) -> str:
    """How long `rest` trials will take, by those that have run."""
    times = [seconds for record in records if (seconds := record.metrics.get("train_seconds"))]
    if not rest:
        return "Everything is in the store: a run trains nothing."
    if not times:
        return f"{rest} trials to train; how long they take is not known before the first has run."
    jobs = min(default_jobs(), rest)
    seconds = sum(times) / len(times) * rest / jobs
    return f"{rest} trials to train: about {duration(seconds)} on {jobs} workers, by the {len(times)} that have run."
