"""`ablate new`: a commented study to start from, made from `templates/study.yaml.j2` and the registered parts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.typed import typed
from ablate.base.wording import joined
from ablate.commands.list import word
from ablate.commands.own import PARTS, create_part, create_task, faults_of, problems_of, rendered, write

SCHEMA = "ablate.schema.json"
"""The file beside the study that holds the output of `ablate schema`."""

SMALL: Mapping[str, Any] = {
    "model.d_model": 32,
    "training.lr": 3e-3,
    "training.weight_decay": 0.01,
    "training.clip_norm": 1.0,
}
"""Values that differ from the defaults, so that a trial takes seconds."""

COMMENT_AT = 34
WIDTH = 110


@click.command("new")
@click.argument("name", required=False, type=click.Path(path_type=Path))
@click.option(
    "--task",
    metavar="TASK",
    help="Task of the study (default: recall; `ablate list task` lists all tasks). Without NAME: the name of a task of "
    "your own to write.",
)
@click.option(
    "--part",
    "slot",
    metavar="SLOT",
    help=f"Write a part of your own for this slot: {', '.join(PARTS)}.",
)
@click.option(
    "--from",
    "data",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Data of the new task: a CSV file with a header, or a text file (default: a sample, which is written too).",
)
def command(name: Path | None, task: str | None, slot: str | None, data: Path | None) -> None:
    """Write a commented file to start from.

    `ablate new NAME` writes a study, `ablate new --part SLOT NAME` a part of your own, and `ablate new --task NAME` a
    task of your own, the last two with a study that uses it. You can run every file without changes.
    """
    from ablate.base.registry import CATALOGUE

    CATALOGUE.load_builtin()
    if slot is None and name is not None and data is None:
        path = create(name, task or "recall")
        click.echo(f"Wrote {path}. Edit it to ask your question, then run: ablate plan {path}")
        return
    if slot is not None and name is not None and task is None and data is None:
        written = create_part(slot, name)
    elif slot is None and name is None and task is not None:
        written = create_task(Path(task), data)
    else:
        raise click.UsageError("Give NAME, or --part SLOT NAME, or --task NAME [--from FILE].")
    if data is not None and (faults := faults_of(written[-1])):
        click.echo(f"Wrote {joined([*map(str, written)])}, which do not fit {data} yet:\n{faults}")
        click.echo(f"Edit them, or prepare the data; then: {typed('plan', written[-1])}")
        return
    click.echo(f"Wrote {joined([*map(str, written)])}; they work as they are.")
    click.echo(f"Next: {typed('run', written[-1])}")


def create(target: Path, task: str) -> Path:
    """Writes a study with the name and in the folder of `target`, and returns its path. Raises `AblateError`."""
    path = target if target.suffix in (".yaml", ".yml") else target.with_name(f"{target.name}.yaml")
    if problems := [*problems_of(path), *_problems(task)]:
        raise AblateError("\n".join(map(str, problems)))
    text = study_text(path.stem, task, schema_is_there=(path.parent / SCHEMA).is_file())
    return write({path: text})[0]


def _problems(task: str) -> Iterator[Problem]:
    from ablate.base.registry import CATALOGUE

    names = CATALOGUE.names("task")
    if task not in names:
        hint = nearest(task, names) or f"To write a task of your own: ablate new --task {task}"
        yield Problem("is not a task", (), task, listed(names), hint, source="--task")
        return
    fields = CATALOGUE.get("task", task).Config.model_fields  # type: ignore[attr-defined]
    if needed := [name for name, field in fields.items() if field.is_required()]:
        rule = f"has parameters without a default ({listed(needed)}), which this command cannot choose"
        hint = "Choose another task here, and name this one in the study"
        yield Problem(rule, (), task, hint=hint, source="--task")


def study_text(name: str, task: str, schema_is_there: bool) -> str:
    """The study as YAML; where the JSON Schema is beside it, its first line points editors there."""
    from ablate.base.registry import CATALOGUE
    from ablate.study.schema import StudyBase
    from ablate.study.sections.metric import MetricSection

    study = StudyBase.model_fields
    sections = CATALOGUE.get("workload", study["workload"].default)().schema()
    model, training = (sections[section][0] for section in ("model", "training"))
    config = CATALOGUE.get("task", task).Config  # type: ignore[attr-defined]
    built = config(name=task).build()
    values = dict(SMALL)
    if model.model_fields["topology"].default not in built.topologies:
        values["model.topology"] = built.topologies[0]
    text = rendered(
        "study.yaml.j2",
        name=name,
        schema=SCHEMA,
        schema_is_there=schema_is_there,
        study=study,
        metric=MetricSection.model_fields,
        metrics=list(built.metrics),
        task=_parameters(config, "task", values),
        model=_parameters(model, "model", values),
        training=_parameters(training, "training", values),
    )
    return "".join(f"{_laid_out(line)}\n" for line in text.splitlines())


def _parameters(config: Any, path: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The parameters of a section or part, and of the parts inside it, as lines of YAML with their meanings."""
    from ablate.base.registry import CATALOGUE, StrictModel
    from ablate.study.json_schema import summary

    indent = "  " * (path.count(".") + 1)
    if part := getattr(config, "part", None):
        yield f"{indent}name: {part.name}  # {_with_others(summary(part), part)}"
    for key, field in config.model_fields.items():
        below, about = f"{path}.{key}", str(field.description)
        value = values.get(below, field.default)
        if value != field.default and field.default is not None:
            about += f" Default: {word(field.default)}."
        inner = type(value) if isinstance(value, StrictModel) else None
        if slot := _slot(field):
            chosen: Any = CATALOGUE.get(slot, value)
            if any(map(_slot, chosen.Config.model_fields.values())):
                inner = chosen.Config
            else:
                about = _with_others(about, chosen)
        if inner is not None:
            yield from (f"{indent}{key}:  # {about}", *_parameters(inner, below, values))
        elif value is None:
            yield f"{indent}# {key}:  # {about}"
        elif not (part and key == "name"):
            yield f"{indent}{key}: {word(value)}  # {about}"


def _slot(field: Any) -> str | None:
    from ablate.base.registry import Slot

    return next((mark.slot for mark in field.metadata if isinstance(mark, Slot)), None)


def _with_others(about: str, part: Any) -> str:
    """A description that names all parts of the slot."""
    from ablate.base.registry import CATALOGUE

    others = [name for name in CATALOGUE.names(part.slot) if name != part.name]
    return about if all(name in about for name in others) else f"{about} Or: {listed(others)}."


def _laid_out(line: str) -> str:
    """A line of YAML with its comment in a column of its own, or above it where the line would be too long."""
    text, mark, comment = line.rpartition("  # ")
    if not text.strip():
        return line
    aligned = f"{text:{COMMENT_AT}}{mark}{comment}"
    start = " " * (len(text) - len(text.lstrip())) + "# "
    above = textwrap.wrap(comment, WIDTH, initial_indent=start, subsequent_indent=start)
    return aligned if len(aligned) <= WIDTH else "\n".join([*above, text])
