"""`ablate plan`: the trials of a study, and how many of them are cached."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.wording import brief, counted, percent
from ablate.route.console import (
    AS_JSON,
    CONFIRM,
    JOBS,
    RESULTS,
    SEEDS,
    SETS,
    STUDY,
    printing,
    saying,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.report.words import Table
    from ablate.route.options import Options
    from ablate.route.plan import Planned
    from ablate.study.experiment import Experiment

WIDTH = 100
"""Of sentences, in characters, in a wide terminal."""


@click.command("plan")
@STUDY
@SEEDS
@SETS
@CONFIRM
@click.option(
    "--detect",
    type=click.FloatRange(0, 1e300, min_open=True),
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
    from ablate.route.options import Options
    from ablate.route.plan import planned, study_of

    settings, failed = Options(**options), []
    with printing(as_json) as console:
        experiment = study_of(study, settings)
        if pilot is not None:
            failed = _pilot(experiment, pilot, settings, console)
        found = planned(experiment, settings, saying(console), detect, piloted=pilot is not None)
        if not as_json:
            show_plan(found, console)
    if as_json:
        from ablate.route.as_json import plan_object, written

        click.echo(written(plan_object(found, failed)))
    return 1 if failed else 0


def _pilot(experiment: Experiment, seeds: int, options: Options, console: Console) -> list[str]:
    """Trains a pilot under the lock of the study; returns the names of the trials that failed, with the reason."""
    from ablate.base.locks import exclusive, training
    from ablate.base.process import interruptible
    from ablate.commands.run import telling_what_is_kept
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.route.plan import pilot

    say, warn, name = saying(console), saying(console, "warning"), experiment.study.name
    store = Store(options.results / "store", warn)
    say(f"Pilot: {counted(seeds, 'seed')} of every variant, which are never judged.")
    with (
        exclusive(store.root, name, say),
        interruptible(),
        telling_what_is_kept(StudyFolder(options.results, name), store),
        training(store.root, name, say),
    ):
        failed = pilot(experiment, seeds, options, store, console)
    for trial in failed:
        warn(f"failed: {trial}")
    return failed


def show_plan(plan: Planned, console: Console) -> None:
    """Prints sizes and trials of each variant and task, searches, what the seeds can detect, and what limits them."""
    from ablate.report.terminal import print_table
    from ablate.report.words import Table

    for part in parts(plan, min(console.width, WIDTH)):
        if isinstance(part, Table):
            print_table(part, console)
        else:
            saying(console)(part)


def parts(plan: Planned, width: int) -> Iterator[str | Table]:
    """What a plan says, in lines and tables; the items of its lists in lines of at most `width`."""
    from ablate.report.prospects import power_parts
    from ablate.report.words import Table, say

    experiment, total = plan.experiment, plan.at_most
    yield from _variants(plan)
    for sentences, _ in plan.features.values():
        yield from (f"\n{sentence}" for sentence in sentences)
    most = bool(plan.chooses or experiment.study.seeds.looks)
    expected = say("plan.to_train", most, total, plan.expected, min(plan.jobs, total))
    yield "\n" + (expected if total else say("plan.cached"))
    power = [*power_parts(plan.power, str(experiment.path))]
    for title, items in ((say("plan.power"), power), (say("plan.cautions"), plan.cautions)):
        yield from [f"\n{title}"] if items else ()
        for item in items:
            if isinstance(item, Table):
                yield from (item, "")
            else:
                text = textwrap.fill(item, width - 4, break_on_hyphens=False)
                yield "  - " + textwrap.indent(text, "    ").lstrip()


def _variants(plan: Planned) -> Iterator[Table]:
    """Sizes and trials, matched settings, and parameters by part; a row for each variant and task."""
    from ablate.report.words import count, say

    experiment, match = plan.experiment, plan.experiment.study.match
    described = {variant.name: experiment.describe(variant) for variant in experiment.variants}
    longer = any(len({d.examples for d in of_task}) > 1 for of_task in zip(*described.values(), strict=True))
    sizes, matched, by_part = [], [], []
    for variant, of_variant in described.items():
        for index, (task, found) in enumerate(zip(experiment.tasks, of_variant, strict=True)):
            name = {"variant": variant} | ({"task": task} if len(experiment.tasks) > 1 else {})
            ready = plan.cached.get((variant, task), 0)
            size = {
                "parameters": found.parameters,
                "FLOPs forward": found.flops,
                "and backward": found.training_flops,
                **({"of training": found.compute} if longer else {}),
                "cached": ready,
                "to train": experiment.study.seeds.count - ready,
            }
            sizes.append(name | {key: count(n) for key, n in size.items()})
            own = found.parameters_by_part
            by_part.append(name | {key.replace("_", " "): count(n) for key, n in own.items()})
            if match and variant in experiment.matched:
                fit = experiment.matched[variant][index]
                value = {match.by.rpartition(".")[2]: brief(fit.value), "residual": percent(fit.residual, 2)}
                matched.append(name | value)
    yield _table(say("plan.title", experiment.study.name, len(experiment.variants)), sizes)
    if match and matched:
        yield _table(say("plan.matched", match.quantity, match.by), matched)
    if any(found.parameters_by_part for of_variant in described.values() for found in of_variant):
        yield _table(say("plan.by_part"), by_part)


def _table(title: str, rows: Sequence[Mapping[str, str]]) -> Table:
    from ablate.report.words import Column, tabulated

    empty = {heading: "" if heading in ("variant", "task") else "0" for row in rows for heading in row}
    columns = [Column(heading, heading, bool(start)) for heading, start in empty.items()]
    return tabulated(columns, [empty | dict(row) for row in rows], title)
