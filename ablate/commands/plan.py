"""`ablate plan`: the trials of a study, and how many of them are cached."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.text import saying
from ablate.commands._console import AS_JSON, STUDY, asked, printing

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.pipeline.plan import StudyPlan
    from ablate.report.words import Table

# Of sentences, in characters, in a wide terminal.
WIDTH = 100


@click.command("plan")
@STUDY
@asked("seeds", "sets", "confirm")
@click.option(
    "--detect",
    type=click.FloatRange(0, 1e300, min_open=True),
    metavar="X",
    help="Say how many seeds detect a difference of X in the metric.",
)
@click.option("--parts", is_flag=True, help="Show the parameters of each part, too.")
@asked("jobs", "engine", "results")
@AS_JSON
def command(study: Path, detect: float | None, parts: bool, as_json: bool, **options: Any) -> None:
    """Show a study's variants and trials, and what it can detect.

    STUDY is a study file. The command shows the parameters, FLOPs, and cached and missing trials of each variant,
    the expected time of the missing trials, the settings that are matched, tuned or searched, and what limits its
    verdicts: inputs that an output cannot see, test examples that occur in training, too few seeds.

    It says which difference from the baseline the seeds of the study can detect, by the spread of the trials in the
    store or of the last report. It trains nothing.
    """
    from ablate.pipeline.plan import plan_study, study_of
    from ablate.session.options import Options

    settings = Options(**options)
    with printing(as_json) as console:
        prepared, stages = study_of(study, settings)
        found = plan_study(prepared, stages, settings, saying(console), detect)
        if not as_json:
            show_plan(found, console, by_part=parts)
    if as_json:
        from ablate.commands._json import written
        from ablate.pipeline.plan_data import plan_data

        click.echo(written(plan_data(found)))


def show_plan(plan: StudyPlan, console: Console, *, by_part: bool = False) -> None:
    """Prints sizes and trials of each variant and task, searches, what the seeds can detect, and what limits them."""
    from ablate.report.terminal import print_table
    from ablate.report.words import Table

    for part in said(plan, min(console.width, WIDTH), by_part):
        if isinstance(part, Table):
            print_table(part, console)
        else:
            saying(console)(part)


def said(plan: StudyPlan, width: int, by_part: bool) -> Iterator[str | Table]:
    """What a plan says, in lines and tables; the items of its lists in lines of at most `width`."""
    from ablate.report.prospects import power_parts
    from ablate.report.words import Table, message

    study, total = plan.study, plan.at_most
    yield from _variants(plan, by_part)
    if commands := plan.command_lines():
        yield "\n" + "\n".join(commands)
    for preview in plan.previews.values():
        yield from (f"\n{part}" if isinstance(part, str) else part for part in preview.parts)
    most = bool(plan.selecting or study.config.seeds.looks)
    workers = min(max(1, plan.capacity.trials), total)
    expected = message("plan.to_train", most, total, plan.expected_seconds, workers, plan.capacity.where)
    yield "\n" + (expected if total else message("plan.cached"))
    of_baseline = study.describe(study.variants[0])[0]
    if total and of_baseline.examples and of_baseline.forwarded:
        yield message("plan.evaluation", of_baseline.examples, of_baseline.forwarded)
    power = [*power_parts(plan.power, study.config.labels)]
    for title, items in ((message("plan.power"), power), (message("plan.cautions"), plan.limitations)):
        yield from [f"\n{title}"] if items else ()
        for item in items:
            if isinstance(item, Table):
                yield from (item, "")
            else:
                text = textwrap.fill(item, width - 4, break_on_hyphens=False)
                yield "  - " + textwrap.indent(text, "    ").lstrip()


def _variants(plan: StudyPlan, parts: bool) -> Iterator[Table]:
    """Sizes and trials, and with `parts` parameters by part; a row for each variant and task."""
    from ablate.core.short_names import short_name
    from ablate.report.words import count, message

    study, labels = plan.study, plan.study.config.labels
    described = {variant.name: study.describe(variant) for variant in study.variants}
    longer = any(len({d.examples for d in of_task}) > 1 for of_task in zip(*described.values(), strict=True))
    sizes, by_part = [], []
    for variant, of_variant in described.items():
        for task, found in zip(study.tasks, of_variant, strict=True):
            name = {"variant": short_name(variant, labels)} | ({"task": task} if len(study.tasks) > 1 else {})
            ready = plan.cached.get((variant, task), 0)
            size = {
                "parameters": found.parameters,
                "FLOPs forward": found.flops,
                "and backward": found.training_flops,
                **({"of training": found.compute} if longer else {}),
                "cached": ready,
                "to train": study.config.seeds.count - ready,
            }
            sizes.append(name | {key: count(n) for key, n in size.items()})
            by_part.append(
                name | {key.replace("_", " "): count(n) for key, n in found.parameters_by_part.items()}
            )
    yield _table(message("plan.title", study.config.name, len(study.variants)), sizes)
    if parts:
        yield _table(message("plan.by_part"), by_part)


def _table(title: str, rows: Sequence[Mapping[str, str]]) -> Table:
    from ablate.report.words import Column, tabulated

    empty = {heading: "" if heading in ("variant", "task") else "0" for row in rows for heading in row}
    columns = [Column(heading, heading, bool(start)) for heading, start in empty.items()]
    return tabulated(columns, [empty | dict(row) for row in rows], title)
