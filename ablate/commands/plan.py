"""`ablate plan`: what a study would train, and what of it is there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ablate.base.errors import listed
from ablate.base.wording import brief, duration, percent
from ablate.core.record import Record
from ablate.core.search_table import Parameter
from ablate.execution.pool import default_jobs
from ablate.records.rates import Rates
from ablate.records.store import Store
from ablate.stages.run import Options
from ablate.stages.selection import finished
from ablate.study.experiment import Experiment, prepare
from ablate.study.schema import winner_names
from ablate.study.searches import SearchSpec

SIZES = ("parameters", "FLOPs forward", "and backward")
TRIALS = ("cached", "to train")


def print_plan(path: Path, options: Options, console: Console) -> None:
    """A row a variant and task: parameters, FLOPs, trials cached and to be trained; what is matched; parameters by
    part; what is searched.
    """
    experiment = Rates(options.results).apply(prepare(path, options.sets, options.seeds))
    store = Store(options.results / "store", console.print, read_only=True)
    cells = experiment.cells()
    records = {i: record for i in {cell.trial.id for cell in cells} if (record := store.load(i))}
    done, _ = finished(cells, records, store, cells)
    described = {v.name: experiment.describe(v) for v in experiment.variants}
    of_task = zip(*described.values(), strict=True)
    lengths_differ = any(len({d.examples for d in descriptions}) > 1 for descriptions in of_task)
    rows: list[tuple[str, str]] = []
    planned: list[list[str]] = []
    matched: list[list[str]] = []
    by_part: list[Mapping[str, int]] = []
    for variant in experiment.variants:
        for index, task in enumerate(experiment.tasks):
            ids = [c.trial.id for c in cells if (c.variant, c.task) == (variant.name, task)]
            cached = sum(i in done for i in ids)
            found = described[variant.name][index]
            sizes = [found.parameters, found.flops, found.training_flops]
            counts = [*sizes, *([found.compute] if lengths_differ else []), cached, len(ids) - cached]
            rows.append((variant.name, task))
            planned.append([_count(n) for n in counts])
            matched.append(_matched(experiment, variant.name, index))
            by_part.append(found.parameters_by_part)
    names = [row if len(experiment.tasks) > 1 else row[:1] for row in rows]
    title = f"{experiment.study.name}: {len(experiment.variants)} variants"
    match = experiment.study.match
    headings = (*SIZES, *(("of training",) if lengths_differ else ()), *TRIALS)
    console.print(_table(title, names, headings, planned))
    if match and experiment.matched:
        title = f"{match.quantity} matched by {match.by}"
        console.print(_table(title, names, (match.by.rpartition(".")[2], "residual"), matched))
    if parts := list(dict.fromkeys(part for of_part in by_part for part in of_part)):
        shown = [[_count(of_part.get(part, 0)) for part in parts] for of_part in by_part]
        console.print(_table("parameters by part", names, [part.replace("_", " ") for part in parts], shown))
    if match and experiment.awaits_rates:
        console.print(
            f"Seconds are matched by {match.by}, at rates that the first run measures: until then the variants are "
            "shown as they come, and which of their trials are there is not known.",
            highlight=False,
            soft_wrap=True,
        )
    rest = len({cell.trial.id for cell in cells}) - len(done)
    expectation = _expectation(rest, records.values())
    if experiment.tune is not None:
        _print_search(experiment, "tune", experiment.tune, console)
        expectation = f"Of the untuned variants, {expectation[0].lower()}{expectation[1:]}"
        searches = len(experiment.variants) * len(experiment.tasks)
        most = searches * experiment.tune.trials * len(experiment.tune.seeds) + 2 * len(cells)
        expectation += f" With tuning and the tuned variants, a run trains at most {most:,}."
    console.print(expectation, highlight=False, soft_wrap=True)
    if experiment.search is not None:
        _print_search(experiment, "search", experiment.search, console)


def _print_search(experiment: Experiment, kind: str, spec: SearchSpec, console: Console) -> None:
    """The space of a search as a table, and its budget in a sentence."""
    facts = spec.facts("")
    table = Table(title=f"{kind}: the space", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("path", "values", "when"):
        table.add_column(heading, overflow="fold")
    for parameter in facts.parameters:
        table.add_row(*map(escape, (parameter.path, _values(parameter), parameter.when)))
    console.print(table)
    objectives = " and ".join(f"{o.name} ({o.direction})" for o in facts.objectives)
    pruner = "" if facts.pruner == "none" else f", given up early by {facts.pruner}"
    seeds = f"{len(spec.seeds)} tuning seed{'s' if len(spec.seeds) > 1 else ''}"
    count = len(experiment.variants) * len(experiment.tasks) if kind == "tune" else 1
    most = count * spec.trials * len(spec.seeds)
    of = f" for each of {len(experiment.variants)} variants" if kind == "tune" else ""
    then = (
        "then each variant as it was given and with its best setting, on the seeds of the study"
        if kind == "tune"
        else f"then {listed(winner_names(spec.winners))} beside the baseline, on the seeds of the study"
    )
    lines = [
        f"{facts.trials} settings by {facts.sampler}{pruner}{of}, for {objectives} on {seeds}: "
        f"at most {most:,} trials; {then}.",
        *(f"note: {remark}." for remark in spec.remarks),
        *(["`ablate sweep` does this; `ablate run` trains the variants above."] if kind == "search" else []),
    ]
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def _values(parameter: Parameter) -> str:
    """What a path may be, in words."""
    if parameter.choices:
        return ", ".join(parameter.choices)
    kind = "whole numbers " if parameter.kind == "int" else ""
    scale = " on a log scale" if parameter.log else ""
    step = f" in steps of {parameter.step:g}" if parameter.step else ""
    return f"{kind}{parameter.low:g} to {parameter.high:g}{step}{scale}"


def _matched(experiment: Experiment, variant: str, index: int) -> list[str]:
    """The value that a variant was given, and its residual; nothing where sizes are not matched."""
    if not experiment.matched:
        return []
    matched = experiment.matched[variant][index]
    return [brief(matched.value), percent(matched.residual, 2)]


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _table(
    title: str,
    names: Sequence[Sequence[str]],
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
) -> Table:
    """A row for each of `names`, a variant or a variant and a task, with its cells under their headings."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("variant", "task")[: len(names[0])]:
        table.add_column(heading, overflow="fold")
    for index, heading in enumerate(headings):
        # A number is never cut; a name can be folded.
        widest = max((len(row[index]) for row in cells), default=0)
        table.add_column(heading, justify="right", min_width=widest)
    for first, row in zip(names, cells, strict=True):
        table.add_row(*map(escape, first), *row)
    return table


def _expectation(rest: int, records: Iterable[Record]) -> str:
    """How long `rest` trials will take, by those that have run."""
    times = [seconds for record in records if (seconds := record.metrics.get("train_seconds"))]
    if not rest:
        return "Everything is in the store: nothing is trained."
    if not times:
        return f"{rest} trials to train; how long they take is not known before the first has run."
    jobs = min(default_jobs(), rest)
    seconds = sum(times) / len(times) * rest / jobs
    return f"{rest} trials to train: about {duration(seconds)} on {jobs} workers, by the {len(times)} that have run."
