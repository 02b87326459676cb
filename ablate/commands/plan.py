"""`ablate plan`: the trials of a study, and how many of them are cached."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.wording import brief, counted, duration, joined, percent
from ablate.commands.options import (
    AS_JSON,
    CONFIRM,
    JOBS,
    RESULTS,
    SEEDS,
    SETS,
    STUDY,
    Difference,
    printing,
    saying,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.search_table import Parameter
    from ablate.records.folder import StudyFolder
    from ablate.stages.options import Options
    from ablate.stages.plan import Planned
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
@click.option(
    "--detect",
    type=Difference(),
    metavar="X",
    help="Say how many seeds detect a difference of X in the metric, and what they cost.",
)
@click.option(
    "--pilot",
    type=click.IntRange(2, 1000),
    metavar="N",
    help="Train N seeds of every variant that are never judged, to learn how far the differences spread.",
)
@JOBS
@RESULTS
@AS_JSON
def command(study: Path, detect: float | None, pilot: int | None, as_json: bool, **options: Any) -> int:
    """Show a study's variants and trials, and what it can detect.

    STUDY is a study file. The command shows the parameters, FLOPs, and cached and missing trials of each variant,
    the expected time of the missing trials, the settings that are matched, tuned or searched, and what limits its
    verdicts: inputs that an output cannot see, test examples that occur in training, too few seeds.

    It says which difference from the baseline the seeds of the study can detect, by the spread of the trials in the
    store or of the last report. Before there are any, --pilot 3 trains three seeds of every variant for it, from seed
    20,000 on: they are never judged, so that no verdict rests on what they showed. They are kept until the study is
    reported; then `ablate clean` removes them. Without --pilot, the command trains nothing.

    Exit codes: 0: done; 1: some trials of the pilot failed; 2: the study or the command line is invalid; 130:
    interrupted.
    """
    from ablate.stages.options import Options
    from ablate.stages.plan import planned, study_of

    settings, failed = Options(**options), []
    with printing(as_json) as console:
        experiment, folder = study_of(study, settings)
        if pilot is not None:
            failed = _pilot(experiment, folder, pilot, settings, console)
        found = planned(experiment, folder, settings, saying(console), detect, piloted=pilot is not None)
        if not as_json:
            show_plan(found, console)
    if as_json:
        from ablate.stages.as_json import plan_object, written

        click.echo(written(plan_object(found, failed)))
    return 1 if failed else 0


def print_plan(path: Path, options: Options, console: Console, detect: float | None = None) -> None:
    """Prints the plan of a study, which trains nothing."""
    from ablate.stages.plan import planned, study_of

    show_plan(planned(*study_of(path, options), options, saying(console), detect), console)


def _pilot(
    experiment: Experiment, folder: StudyFolder, seeds: int, options: Options, console: Console
) -> list[str]:
    """Trains a pilot under the lock of the study; returns the names of the trials that failed, with the reason."""
    from ablate.base.locks import exclusive, interruptible, training
    from ablate.commands.run import telling_what_is_kept
    from ablate.records.store import Store
    from ablate.stages.pilot import pilot

    say, warn = saying(console), saying(console, "warning")
    store = Store(options.results / "store", warn)
    say(f"Pilot: {counted(seeds, 'seed')} of every variant, which are never judged.")
    with (
        exclusive(store.root, folder.name, say),
        interruptible(),
        telling_what_is_kept(folder, store),
        training(store.root, folder.name, say),
    ):
        return pilot(experiment, seeds, folder, store, options, console, warn).failed


def show_plan(plan: Planned, console: Console) -> None:
    """Prints sizes and trials of each variant and task, searches, what the seeds can detect, and what limits them."""
    say, experiment = saying(console), plan.experiment
    _print_variants(plan, console)
    later = "; `ablate run` says how long that takes before it trains"
    walks = experiment.walks
    total, seconds = (plan.at_most, plan.expected) if walks else (len(plan.todo), plan.seconds_as_given)
    most = "at most " if total and (walks or experiment.study.seeds.looks) else ""
    expected = f"{most}{counted(total, 'trial')} to train"
    expected += f"{_time(plan, seconds, total, later)}." if total else ": all are cached."
    if experiment.tune:
        _print_search(plan, "tune", experiment.tune, console)
        tuned = (
            f"With tuning, a run trains at most {plan.at_most:,}{_time(plan, plan.expected, plan.at_most)}."
        )
        expected = f"Of the untuned variants, {expected} {tuned}" if plan.trained_as_given else tuned
    for stressed_path, levels in experiment.study.stress.items():
        values = joined([f"{level:g}" for level in levels])
        runs = counted(plan.stressed, "run")
        say(f"\nstress: every variant at {stressed_path} = {values} too, in {runs}.")
    _print_timing(plan, console)
    say(f"\n{expected[0].upper()}{expected[1:]}")
    if experiment.search:
        _print_search(plan, "search", experiment.search, console)
        say("`ablate sweep` runs this search; `ablate run` trains the variants above.")
    _print_power(plan, console)
    _print_cautions(plan.cautions, console)


def _print_timing(plan: Planned, console: Console) -> None:
    """Prints in how many processes the variants are timed after training, and how long that takes."""
    if (section := plan.experiment.study.speed) is None:
        return
    sizes = "".join(
        f" at its own size and at {path} = {joined([f'{s:g}' for s in of])}"
        for path, of in section.over.items()
    )
    left = section.processes - plan.timed
    time = f": about {duration(plan.timing_seconds)}" if left else ""
    kept = f" ({plan.timed if left else 'all'} kept)" if plan.timed else ""
    saying(console)(
        f"\nspeed: after training, every variant is timed{sizes} in {section.processes} processes{kept}, one after "
        f"the other{time}."
    )


def _print_power(plan: Planned, console: Console) -> None:
    """Prints what the seeds of the study can detect."""
    from ablate.report.prospects import power_parts
    from ablate.report.tables import Table
    from ablate.report.terminal import print_table

    parts = list(power_parts(plan.power, str(plan.experiment.path)))
    if parts:
        saying(console)("\nWhat its seeds can detect")
    for part in parts:
        if isinstance(part, Table):
            print_table(part, console)
            saying(console)("")
        else:
            _print_item(part, console)


def _print_cautions(texts: Sequence[str], console: Console) -> None:
    """Prints what limits the verdicts."""
    if texts:
        saying(console)("\nWhat limits its verdicts")
    for text in texts:
        _print_item(text, console)


def _print_item(text: str, console: Console) -> None:
    """Prints one item of a list, wrapped."""
    lines = textwrap.wrap(text, min(console.width, WIDTH) - 4, break_on_hyphens=False)
    saying(console)("\n".join([f"  - {lines[0]}", *(f"    {line}" for line in lines[1:])]))


def _print_variants(plan: Planned, console: Console) -> None:
    """Prints sizes and trials, matched settings, and parameters by part; a row for each variant and task."""
    experiment = plan.experiment
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
            ready = plan.cached.get((variant.name, task), 0)
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


def _print_search(plan: Planned, kind: str, spec: SearchSpec, console: Console) -> None:
    """Prints the space of a search and its budget."""
    from ablate.study.schema import winner_names

    experiment, facts = plan.experiment, spec.facts()
    space = [
        {"path": p.path, "values": _values(p)} | ({"when": p.when} if p.when else {})
        for p in facts.parameters
    ]
    _print(f"{kind}: the space", space, console)
    each, then = "", joined(["the baseline", *winner_names(spec.winners)])
    if kind == "tune":
        each = f" for each of {counted(len(experiment.variants), 'variant')}"
        as_given = "as the study gives it and " if experiment.trains_untuned else ""
        then = f"each variant {as_given}with its best setting"
    objectives = joined([f"{o.name} ({o.direction})" for o in facts.objectives])
    pruner = "" if facts.pruner == "none" else f", pruned by {facts.pruner}"
    seeds = counted(len(spec.seeds), "tuning seed")
    say = saying(console)
    say(
        f"\n{counted(facts.trials, 'setting')} by {facts.sampler}{pruner}{each}, for {objectives} on {seeds}: "
        f"at most {plan.settings(kind, spec):,} trials; then {then}, on the seeds of the study."
    )
    for remark in spec.remarks:
        say(f"note: {remark}.")


def _values(parameter: Parameter) -> str:
    """The values that a path can take, in words."""
    if parameter.choices:
        return ", ".join(parameter.choices)
    kind = "whole numbers " if parameter.kind == "int" else ""
    scale = " on a log scale" if parameter.log else ""
    step = f" in steps of {parameter.step:g}" if parameter.step else ""
    return f"{kind}{parameter.low:g} to {parameter.high:g}{step}{scale}"


def _time(plan: Planned, seconds: float | None, total: int, unknown: str = "") -> str:
    """The expected time of `total` trainings, in words."""
    if seconds is None:
        return unknown
    jobs = min(plan.jobs, total)
    return f": about {duration(seconds)} on {counted(jobs, 'worker')}, by the trials that have run"


def _print(title: str, rows: Sequence[Mapping[str, str]], console: Console) -> None:
    from ablate.report.tables import Column, Table
    from ablate.report.terminal import print_table

    empty = {heading: "" if heading in TEXT else "0" for row in rows for heading in row}
    columns = [Column(heading, heading, numeric=heading not in TEXT) for heading in empty]
    print_table(Table(columns, [empty | dict(row) for row in rows], title), console)
