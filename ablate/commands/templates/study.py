"""A commented study to start from, made from a template and the registered parts."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ablate.base.errors import AblateError, Invalid, listed, nearest
from ablate.base.registry import CATALOGUE, Slot, StrictModel
from ablate.base.text import word
from ablate.commands.templates.data import reading
from ablate.commands.templates.fill import refusal, rendered, write
from ablate.stages import CONFIGS
from ablate.study.json_schema import summary
from ablate.study.schema import MetricSection, StudyConfig, StudyName, study_model

SCHEMA = "ablate.schema.json"  # The file beside the study that holds the output of `ablate schema`.
# Values that differ from the defaults, so that a trial takes seconds.
SMALL: Mapping[str, Any] = {
    "model.d_model": 32,
    "training.lr": 3e-3,
    "training.weight_decay": 0.01,
    "training.clip_norm": 1.0,
}

COMMENT_AT = 34
WIDTH = 110


def create(target: Path, task: str | None, data: Path | None = None) -> Path:
    """Writes a study with the name and in the folder of `target`, and returns its path. Raises `AblateError`.

    It is of `task`, or of the one that `data`, a user's file, looks like, or of digits.
    """
    name = target.name.removesuffix(".yaml").removesuffix(".yml")
    _check_names(name, task)
    path = target if name != target.name else target.with_name(f"{name}.yaml")
    schema_is_there = (path.parent / SCHEMA).is_file()
    try:
        if data is None:
            text = study_text(name, task or "digits", schema_is_there)
        else:
            chosen, parameters = reading(data, path.parent, task)
            text = study_text(name, chosen, schema_is_there, parameters)
    except Invalid as error:
        source = "--from" if data else "--task"
        problems = [str(replace(problem, source=source)) for problem in error.problems]
        raise AblateError("\n".join(problems)) from None
    return write({path: text})[0]


def _check_names(study: str, task: str | None) -> None:
    """Raises `AblateError` for what cannot be the name of a study, and for an unknown task."""
    try:
        TypeAdapter(StudyName).validate_python(study)
    except ValidationError:
        allowed = "letters, digits, '.', '_' and '-', the first a letter or digit, at most 100; not `store`"
        raise refusal("is not a valid study name", study, allowed, source="NAME") from None
    tasks = CATALOGUE.names("task")
    if task is not None and task not in tasks:
        hint = nearest(task, tasks) or "To write a task of your own: ablate new --part task NAME"
        raise refusal("is not a task", task, listed(tasks), hint=hint, source="--task")


def study_text(
    name: str, task: str, schema_is_there: bool, given: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Returns the study as YAML. Raises `Invalid` for a task that needs more than is given.

    schema_is_there: whether the JSON Schema is beside it; then its first line points editors there.
    given: parameters of the task that are not as by default.
    """
    workload = CATALOGUE.get("workload", StudyConfig.model_fields["workload"].default)()
    fields = study_model(workload, CONFIGS).model_fields
    sections = workload.schema()
    model, _ = sections["model"]
    training, _ = sections["training"]
    config: Any = CATALOGUE.get("task", task).Config  # type: ignore[attr-defined]
    required = [key for key, field in config.model_fields.items() if field.is_required()]
    missing = [key for key in required if key not in given]
    if missing:
        raise Invalid("", f"needs {listed(missing)}", task, hint="Give the file of data with --from")

    built = config(name=task, **given).build()
    values = {**SMALL, "model.topology": built.topologies[0]}
    for key, value in given.items():
        values[f"task.{key}"] = getattr(value, "written", value)
    text = rendered(
        "study.yaml.j2",
        name=name,
        schema=SCHEMA,
        schema_is_there=schema_is_there,
        study=fields,
        of_stages=_examples_of_stages(fields),
        metric=MetricSection.model_fields,
        metrics=list(built.metrics),
        task=_parameters(config, "task", values),
        model=_parameters(model, "model", values),
        training=_parameters(training, "training", values),
    )
    return "".join(f"{_laid_out(line)}\n" for line in text.splitlines())


def _examples_of_stages(fields: Mapping[str, FieldInfo]) -> dict[str, str]:
    """Returns key of a stage → the last example of it, for the keys that have one."""
    examples = {}
    for config in CONFIGS:
        for key in config.model_fields:
            of_key = fields[key].examples
            if of_key:
                examples[key] = word(of_key[-1])
    return examples


def _parameters(config: type[StrictModel], path: str, values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the parameters of a section or part, and of the parts inside it, as lines of YAML with their meanings.

    path: of the section or part in the study.
    values: path in the study → a value that is not the default.
    """
    indent = "  " * (path.count(".") + 1)
    part: Any = getattr(config, "part", None)
    if part:
        yield f"{indent}name: {part.name}  # {_with_others(summary(part), part)}"
    for key, field in config.model_fields.items():
        if part and key == "name":
            continue
        below = f"{path}.{key}"
        value = values.get(below, field.default)
        inner = type(value) if isinstance(value, StrictModel) else None
        about = str(field.description)
        if value != field.default and field.default is not None and not field.is_required():
            about += f" Default: {word(field.default)}."
        slot = _slot(field)
        if slot:
            chosen: Any = CATALOGUE.get(slot, value)
            if any(map(_slot, chosen.Config.model_fields.values())):
                inner = chosen.Config
            else:
                about = _with_others(about, chosen)
        if inner is not None:
            yield f"{indent}{key}:  # {about}"
            yield from _parameters(inner, below, values)
        elif value is None:
            yield f"{indent}# {key}:  # {about}"
        else:
            yield f"{indent}{key}: {word(value)}  # {about}"


def _slot(field: FieldInfo) -> str | None:
    """Returns the slot whose parts a field takes; None for a field that takes none."""
    return next((mark.slot for mark in field.metadata if isinstance(mark, Slot)), None)


def _with_others(about: str, part: Any) -> str:
    """Returns a description that names all parts of the slot."""
    others = [name for name in CATALOGUE.names(part.slot) if name != part.name]
    if all(name in about for name in others):
        return about
    return f"{about} Or: {listed(others)}."


def _laid_out(line: str) -> str:
    """Returns a line of YAML with its comment in a column of its own, or above it where the line would be too long."""
    text, mark, comment = line.rpartition("  # ")
    if not text.strip():
        return line
    aligned = f"{text:{COMMENT_AT}}{mark}{comment}"
    if len(aligned) <= WIDTH:
        return aligned
    indent = " " * (len(text) - len(text.lstrip()))
    above = textwrap.wrap(comment, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
    return "\n".join([*above, text])
