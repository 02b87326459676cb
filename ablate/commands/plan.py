"""`ablate plan`: the trials of a study, and how many of them are cached."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ablate.base.numerals import Domain
from ablate.base.text import saying
from ablate.commands._console import AS_JSON, STUDY, SWEEP, output_console
from ablate.commands._options import options_of
from ablate.core.sizes import known_parameters
from ablate.session.option import read_options
from ablate.session.option_types import NumberType
from ablate.session.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.metric import Description
    from ablate.pipeline.jobs.batch import Batch
    from ablate.pipeline.plan.plan import StudyPlan
    from ablate.report.words import Table
    from ablate.study.study import Study

WIDTH = 100  # The most characters of a line of sentences.


@click.command("plan")
@STUDY
@options_of(Options, "seeds", "sets", "condition", "confirm")
@SWEEP
@click.option(
    "--detect",
    type=NumberType(Domain(above=0, most=1e300)),
    metavar="X",
    help="Say how many seeds detect a difference of X in the metric.",
)
@click.option(
    "--commands",
    "commands_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a line for each trial to train now, for jobs; see `ablate guide cluster`.",
)
@options_of(Options, "jobs", "engine", "results")
@options_of(Options, "retrain", "keep_finished", help="With --commands: as for `ablate run`.")
@AS_JSON
def command(
    study: Path,
    detect: float | None,
    commands_file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Show a study's variants and trials, and what it can detect.

    STUDY is a study file. The command shows the parameters, FLOPs, and cached and missing trials of each variant,
    the expected time of the missing trials, the settings that are matched, tuned or searched, and what limits its
    verdicts: inputs that an output cannot see, test examples that occur in training, too few seeds.

    It says which difference from the baseline the seeds of the study can detect, by the spread of the trials in the
    store or of the last report. It trains nothing.

    With --commands FILE it writes a call of `ablate trial` for each trial that a run would train now, in place of the
    plan, and begins the study as a run does: it dates plan and claims, and adopts what earlier jobs have left.
    """
    from ablate.pipeline.plan.plan import plan_study, study_of
    from ablate.pipeline.reports.limits import limited_as_run

    settings = limited_as_run(study, read_options(Options, options))
    if commands_file is not None:
        _write_commands(study, settings, commands_file, as_json)
        return
    with output_console(as_json) as console:
        prepared, stages = study_of(study, settings)
        plan = plan_study(prepared, stages, settings, saying(console), detect)
        if not as_json:
            show_plan(plan, console)
    if as_json:
        from ablate.commands._json import json_text
        from ablate.pipeline.plan.plan_data import plan_data

        click.echo(json_text(plan_data(plan)))


def _write_commands(study: Path, options: Options, file: Path, as_json: bool) -> None:
    """Writes the commands of the trials to train now, and says how many they are and what comes after them."""
    from ablate.commands._json import json_text
    from ablate.pipeline.jobs.commands import write_commands

    with output_console(as_json) as console:
        batch = write_commands(study, options, file, console)
        if not as_json:
            saying(console)(_commands_in_words(batch, file))
    if as_json:
        trials = [cell.id for cell in batch.cells]
        click.echo(json_text({"file": str(file), "trials": trials, "left": batch.left, "exit_code": 0}))


def _commands_in_words(batch: Batch, file: Path) -> str:
    """Returns how many trials are to be trained now, and what comes after them."""
    from ablate.report.words import message

    if not batch.cells:
        return message("plan.no_commands", str(file))
    if batch.left:
        return message("plan.commands_of_more", len(batch.cells), str(file), batch.left)
    return message("plan.commands", len(batch.cells), str(file))


def show_plan(plan: StudyPlan, console: Console) -> None:
    """Prints sizes and trials of each variant and task, searches, what the seeds can detect, and what limits them."""
    from ablate.report.terminal import print_table
    from ablate.report.words import Table

    say = saying(console)
    if plan.other_code is not None:
        say(f"{plan.other_code}\nA run stops here; --retrain trains them again, --keep-finished uses them.\n")
    for block in plan_blocks(plan, min(console.width, WIDTH)):
        if isinstance(block, Table):
            print_table(block, console)
        else:
            say(block)


def plan_blocks(plan: StudyPlan, width: int) -> Iterator[str | Table]:
    """Yields lines and tables of a plan; the items of its lists in lines of at most `width` characters."""
    from ablate.commands._condition_words import costs_in_words, forms_in_words
    from ablate.report.sentences.prospects import power_parts
    from ablate.report.words import message

    yield _variants(plan)
    commands = plan.command_lines()
    if commands:
        yield "\n" + "\n".join(commands)
    for _, preview in plan.previews:
        for part in preview.parts:
            yield f"\n{part}" if isinstance(part, str) else part
    yield from _expected_work(plan)
    over = plan.over_conditions
    if over is not None:
        yield costs_in_words(over)
    is_in_every = over is not None and over.form == "every" and over.effects is not None
    power = [*power_parts(plan.power, plan.study.config.labels, is_in_every=is_in_every)]
    if over is not None:
        power += forms_in_words(over)
    yield from _list_under(message("plan.power"), power, width)
    limitations = [*filter(None, [plan.changes]), *plan.limitations]
    yield from _list_under(message("plan.cautions"), limitations, width)


def _expected_work(plan: StudyPlan) -> Iterator[str]:
    """Yields how many trainings there are, how long they take, and what evaluation costs."""
    from ablate.report.words import message

    study = plan.study
    total = plan.at_most
    if total == 0:
        yield "\n" + message("plan.cached")
        return
    may_be_fewer = bool(plan.selecting or study.config.seeds.looks)
    workers = min(max(1, plan.capacity.trials), total)
    trials = message("plan.at_most_trials" if may_be_fewer else "plan.trials", total)
    seconds = plan.expected_seconds
    overhead = plan.overhead.seconds
    where = plan.capacity.where
    if seconds is None:
        yield "\n" + message("plan.to_train", trials, workers, where, overhead)
    else:
        yield "\n" + message("plan.to_train_in", trials, seconds, workers, where, overhead)
    baseline = study.baseline_description
    if baseline.examples and baseline.forwarded:
        percent = round(100 * baseline.forwarded / baseline.examples)
        yield message("plan.evaluation", baseline.examples, baseline.forwarded, percent)


def _list_under(title: str, items: Sequence[str | Table], width: int) -> Iterator[str | Table]:
    """Yields a title and its items, sentences behind a dash in lines of at most `width`; nothing without items."""
    if items:
        yield f"\n{title}"
    for item in items:
        if isinstance(item, str):
            text = textwrap.fill(item, width - 4, break_on_hyphens=False)
            yield "  - " + textwrap.indent(text, "    ").lstrip()
        else:
            yield item
            yield ""


def _variants(plan: StudyPlan) -> Table:
    """Returns sizes and trials, a row for each variant and task."""
    from ablate.core.short_names import short_name
    from ablate.report.words import count, message

    study = plan.study
    lengths_differ = _lengths_differ(study)
    sizes = []
    for variant in study.variants:
        for task, description in study.describe(variant).items():
            if task not in plan.conditions:
                continue
            names = {"variant": short_name(variant.name, study.config.labels)}
            if len(study.tasks) > 1:
                names["condition" if study.config.conditions else "task"] = task
            cached = plan.cached.get((variant.name, task), 0)
            size = _size(description, with_length=lengths_differ)
            size |= {"cached": cached, "to train": study.config.seeds.count - cached}
            sizes.append(names | {column: count(number) for column, number in size.items()})
    return _table(message("plan.title", study.config.name, len(study.variants)), sizes)


def _size(description: Description, *, with_length: bool) -> dict[str, int | None]:
    """Returns column → parameters and FLOPs of a variant; with those of a whole training where lengths differ."""
    size = {
        "parameters": known_parameters(description),
        "FLOPs forward": description.flops,
        "and backward": description.training_flops,
    }
    if with_length:
        size["of training"] = description.compute
    return size


def _lengths_differ(study: Study) -> bool:
    """Returns whether variants train on different numbers of examples of some task."""
    examples = {
        task: {study.describe(variant)[task].examples for variant in study.variants} for task in study.tasks
    }
    return any(len(of_task) > 1 for of_task in examples.values())


def _table(title: str, rows: Sequence[Mapping[str, str]]) -> Table:
    """Returns a table of all columns that some row has; a number that a row lacks is 0."""
    from ablate.report.words import Column, tabulated

    headings = list(dict.fromkeys(chain.from_iterable(rows)))
    names = [heading for heading in headings if heading in ("variant", "condition", "task")]
    columns = []
    for heading in headings:
        is_name = heading in names
        columns.append(Column(heading, heading, numeric=not is_name, words=is_name))
    empty = {heading: "" if heading in names else "0" for heading in headings}
    return tabulated(columns, [empty | dict(row) for row in rows], title)
