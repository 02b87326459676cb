"""`ablate plan`: what a study would train, and what of it is there already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablate.execution.pool import default_jobs
from ablate.execution.progress import duration
from ablate.records.record import Record
from ablate.records.store import Store
from ablate.run import Options
from ablate.selection import finished
from ablate.study.experiment import prepare

HEADINGS = ("parameters", "FLOPs forward", "and backward", "cached", "to train")


def print_plan(path: Path, options: Options, console: Console) -> None:
    """A row a variant and task: parameters, FLOPs, trials cached and to be trained; then parameters by part."""
    experiment = prepare(path, options.sets, options.seeds)
    store = Store(options.results / "store", console.print, read_only=True)
    cells = experiment.cells()
    records = {i: record for i in {cell.trial.id for cell in cells} if (record := store.load(i))}
    done, _ = finished(cells, records, store, cells)
    rows, planned = [], []
    for variant in experiment.variants:
        for task, described in zip(experiment.tasks, experiment.describe(variant), strict=True):
            ids = [c.trial.id for c in cells if (c.variant, c.task) == (variant.name, task)]
            cached = sum(i in done for i in ids)
            flops = (described.flops, described.training_flops)
            rows.append((variant.name, task, described.parameters_by_part))
            planned.append((described.parameters, *flops, cached, len(ids) - cached))
    names = [row[:2] if len(experiment.tasks) > 1 else row[:1] for row in rows]
    title = f"{experiment.study.name}: {len(experiment.variants)} variants"
    console.print(_table(title, names, HEADINGS, planned))
    if parts := list(dict.fromkeys(part for *_, by_part in rows for part in by_part)):
        counts = [[by_part.get(part, 0) for part in parts] for *_, by_part in rows]
        console.print(_table("parameters by part", names, [part.replace("_", " ") for part in parts], counts))
    rest = len({cell.trial.id for cell in cells}) - len(done)
    console.print(_expectation(rest, records.values()), highlight=False, soft_wrap=True)


def _table(
    title: str,
    names: Sequence[Sequence[str]],
    headings: Sequence[str],
    numbers: Sequence[Sequence[int | None]],
) -> Table:
    """A row for each of `names`, a variant or a variant and a task, with its numbers under their headings."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("variant", "task")[: len(names[0])]:
        table.add_column(heading, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right")
    for first, row in zip(names, numbers, strict=True):
        table.add_row(*map(escape, first), *("–" if number is None else f"{number:,}" for number in row))
    return table


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
