"""`ablate plan`: the trials of a study, and how many of them are cached."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from ablate.base.wording import brief, counted, duration, joined, percent
from ablate.commands.options import CONFIRM, RESULTS, SEEDS, SETS, STUDY, saying

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.search_table import Parameter
    from ablate.stages.expect import Place
    from ablate.stages.options import Options
    from ablate.study.experiment import Experiment
    from ablate.study.searches import SearchSpec

WIDTH = 100
"""Of sentences, in characters, in a wide terminal."""
TEXT = ("variant", "task", "path", "values", "when")
"""Headings of the columns that hold text; the others hold numbers."""


@click.command("plan")
@STUDY
@SEEDS
@SETS
@CONFIRM
@RESULTS
def command(study: Path, **options: Any) -> None:
    """Show a study's variants and cached trials; train nothing.

    STUDY is a study file. The command shows the parameters, FLOPs, and cached and missing trials of each variant,
    the expected time of the missing trials, the settings that are matched, tuned or searched, and what limits its
    verdicts: inputs that an output cannot see, test examples that occur in training, too few seeds.
    """
    from rich.console import Console

    from ablate.stages.options import Options

    print_plan(study, Options(**options), Console())


def print_plan(path: Path, options: Options, console: Console) -> None:
    """Prints sizes and trials of each variant and task, then the settings that are matched, tuned or searched."""
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.stages.cautions import cautions
    from ablate.stages.confirm import confirming
    from ablate.stages.expect import seconds_known
    from ablate.stages.match import match
    from ablate.stages.stress import stressed
    from ablate.study.experiment import prepare

    say = saying(console)
    experiment = prepare(path, options.sets, options.seeds, confirm=options.confirm)
    experiment = confirming(experiment, options.results, options.seeds)
    folder = StudyFolder(options.results, experiment.study.name)
    experiment = match(experiment, folder)
    store = Store(options.results / "store", say, read_only=True)
    cells = experiment.cells()
    grid = stressed(experiment, cells)
    records = {i: record for i in {cell.trial.id for cell in [*cells, *grid]} if (record := store.load(i))}
    done = {c.id for c in [*grid, *cells] if store.is_finished(records.get(c.id), c.trial.checkpoint)}
    trained_as_given = not experiment.tune or experiment.trains_untuned
    cached = Counter((cell.variant, cell.task) for cell in cells if cell.id in done and trained_as_given)
    _print_variants(experiment, cached, console)
    if experiment.study.match and experiment.awaits_rates:
        say(
            f"\nThe first run measures the seconds of a training step, and matches them by "
            f"{experiment.study.match.by}. Until then, variants are shown unmatched, and it is unknown which of their "
            "trials are cached."
        )
    known = seconds_known(cells, store, folder.search_table("tuning" if experiment.tune else ""))
    # The grid of a tuned study is that of settings that are not known yet.
    here = cells if experiment.tune else [*cells, *grid]
    todo = {cell.id: (cell.variant, cell.task) for cell in here if cell.id not in done}
    expected = f"{counted(len(todo), 'trial')} to train"
    expected += f"{_time(list(todo.values()), known)}." if todo else ": all are cached."
    if experiment.tune:
        most = _print_search(experiment, "tune", experiment.tune, console) + len(cells)
        most += (len(cells) if trained_as_given else 0) + len(grid)
        places = [(cell.variant, cell.task) for cell in cells]
        tuned = f"With tuning, a run trains at most {most:,}{_time(places, known, most)}."
        expected = f"Of the untuned variants, {expected} {tuned}" if trained_as_given else tuned
    for stressed_path, levels in experiment.study.stress.items():
        values = joined([f"{level:g}" for level in levels])
        runs = counted(len(grid), "run")
        say(f"\nstress: every variant is trained at {stressed_path} = {values} too, in {runs}.")
    say(f"\n{expected}")
    if experiment.search:
        _print_search(experiment, "search", experiment.search, console)
        say("`ablate sweep` runs this search; `ablate run` trains the variants above.")
    _print_cautions(cautions(experiment), console)


def _print_cautions(texts: Sequence[str], console: Console) -> None:
    """Prints what limits the verdicts, each from a line of its own on."""
    if texts:
        saying(console)("\nWhat limits its verdicts")
    for text in texts:
        lines = textwrap.wrap(text, min(console.width, WIDTH) - 4, break_on_hyphens=False)
        saying(console)("\n".join([f"  - {lines[0]}", *(f"    {line}" for line in lines[1:])]))


def _print_variants(experiment: Experiment, cached: Counter[tuple[str, str]], console: Console) -> None:
    """Prints sizes and trials, matched settings, and parameters by part; a row for each variant and task."""
    described = [experiment.describe(variant) for variant in experiment.variants]
    longer = any(len({d.examples for d in of_task}) > 1 for of_task in zip(*described, strict=True))
    match = experiment.study.match
    sizes, matched, parts = [], [], []
    for variant, of_variant in zip(experiment.variants, described, strict=True):
        for index, (task, found) in enumerate(zip(experiment.tasks, of_variant, strict=True)):
            name = {"variant": variant.name} | ({"task": task} if len(experiment.tasks) > 1 else {})
            size = {"parameters": found.parameters, "FLOPs forward": found.flops}
            size |= {"and backward": found.training_flops} | (
                {"of training": found.compute} if longer else {}
            )
            ready = cached[variant.name, task]
            size |= {"cached": ready, "to train": experiment.study.seeds.count - ready}
            sizes.append(name | {key: "–" if n is None else f"{n:,}" for key, n in size.items()})
            parts.append(
                name | {key.replace("_", " "): f"{n:,}" for key, n in found.parameters_by_part.items()}
            )
            if match and experiment.matched:
                fit = experiment.matched[variant.name][index]
                value = {match.by.rpartition(".")[2]: brief(fit.value), "residual": percent(fit.residual, 2)}
                matched.append(name | value)
    _print(f"{experiment.study.name}: {counted(len(experiment.variants), 'variant')}", sizes, console)
    if match and matched:
        _print(f"{match.quantity} matched by {match.by}", matched, console)
    if any(found.parameters_by_part for of_variant in described for found in of_variant):
        _print("parameters by part", parts, console)


def _print_search(experiment: Experiment, kind: str, spec: SearchSpec, console: Console) -> int:
    """Prints the space of a search and its budget; returns the largest number of trials that it trains."""
    from ablate.study.schema import winner_names

    facts = spec.facts("")
    space = [
        {"path": p.path, "values": _values(p)} | ({"when": p.when} if p.when else {})
        for p in facts.parameters
    ]
    _print(f"{kind}: the space", space, console)
    count, each, then = 1, "", joined(["the baseline", *winner_names(spec.winners)])
    if kind == "tune":
        count = len(experiment.variants) * len(experiment.tasks)
        each = f" for each of {counted(len(experiment.variants), 'variant')}"
        as_given = "as the study gives it and " if experiment.trains_untuned else ""
        then = f"each variant {as_given}with its best setting"
    most = count * spec.trials * len(spec.seeds)
    objectives = joined([f"{o.name} ({o.direction})" for o in facts.objectives])
    pruner = "" if facts.pruner == "none" else f", pruned by {facts.pruner}"
    seeds = counted(len(spec.seeds), "tuning seed")
    say = saying(console)
    say(
        f"\n{counted(facts.trials, 'setting')} by {facts.sampler}{pruner}{each}, for {objectives} on {seeds}: "
        f"at most {most:,} trials; then {then}, on the seeds of the study."
    )
    for remark in spec.remarks:
        say(f"note: {remark}.")
    return most


def _values(parameter: Parameter) -> str:
    """The values that a path can take, in words."""
    if parameter.choices:
        return ", ".join(parameter.choices)
    kind = "whole numbers " if parameter.kind == "int" else ""
    scale = " on a log scale" if parameter.log else ""
    step = f" in steps of {parameter.step:g}" if parameter.step else ""
    return f"{kind}{parameter.low:g} to {parameter.high:g}{step}{scale}"


def _time(places: Sequence[Place], known: Mapping[Place, float], total: int | None = None) -> str:
    """The expected time of a training at each place, or of `total` at these, from the seconds that are known there."""
    from ablate.execution.local_pool import default_jobs

    costs = [known[place] for place in places if place in known] or list(known.values())
    if not costs:
        return "" if total else "; `ablate run` says how long that takes before it trains"
    total = len(places) if total is None else total
    jobs = min(default_jobs(), total)
    left = duration(fmean(costs) * total / jobs)
    return f": about {left} on {counted(jobs, 'worker')}, by the trials that have run"


def _print(title: str, rows: Sequence[Mapping[str, str]], console: Console) -> None:
    from ablate.report.tables import Column, Table
    from ablate.report.terminal import print_table

    empty = {heading: "" if heading in TEXT else "0" for row in rows for heading in row}
    columns = [Column(heading, heading, numeric=heading not in TEXT) for heading in empty]
    print_table(Table(columns, [empty | dict(row) for row in rows], title), console)
