"""Files to start from, made from the templates of this folder and the registered parts.

A commented study; or a part or training code of one's own, with a study that uses it.
"""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jinja2
from pydantic import TypeAdapter, ValidationError

from ablate.base.errors import AblateError, Invalid, Problem, listed, nearest
from ablate.base.registry import CATALOGUE, Slot, StrictModel
from ablate.base.text import word
from ablate.commands.templates import PARTS
from ablate.commands.templates.data import reading
from ablate.models.reference import places
from ablate.stages import CONFIGS
from ablate.study.json_schema import summary
from ablate.study.plain_yaml import parse_value
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
OTHER = "Choose another name"


def create(target: Path, task: str | None, data: Path | None = None) -> Path:
    """Writes a study with the name and in the folder of `target`, and returns its path. Raises `AblateError`.

    It is of `task`, or of the one that `data`, a user's file, looks like, or of digits.
    """
    name = target.name.removesuffix(".yaml").removesuffix(".yml")
    try:
        TypeAdapter(StudyName).validate_python(name)
    except ValidationError:
        allowed = "letters, digits, '.', '_' and '-', the first a letter or digit, at most 100; not `store`"
        raise _refused("is not a valid study name", name, allowed, source="NAME") from None
    path = target if name != target.name else target.with_name(f"{name}.yaml")
    if task is not None and task not in (tasks := CATALOGUE.names("task")):
        hint = nearest(task, tasks) or "To write a task of your own: ablate guide own-parts"
        raise _refused("is not a task", task, listed(tasks), hint, "--task")
    try:
        chosen, given = (task or "digits", {}) if data is None else reading(data, path.parent, task)
        text = study_text(name, chosen, (path.parent / SCHEMA).is_file(), given)
    except Invalid as error:
        source = "--from" if data else "--task"
        problems = (replace(problem, source=source) for problem in error.problems)
        raise AblateError("\n".join(map(str, problems))) from None
    return write({path: text})[0]


def study_text(
    name: str, task: str, schema_is_there: bool, given: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """The study as YAML; where the JSON Schema is beside it, its first line points editors there.

    given: parameters of the task that are not as by default.
    """
    workload = CATALOGUE.get("workload", StudyConfig.model_fields["workload"].default)()
    study, sections = study_model(workload, CONFIGS).model_fields, workload.schema()
    model, training = (sections[section][0] for section in ("model", "training"))
    config = CATALOGUE.get("task", task).Config  # type: ignore[attr-defined]
    if missing := [key for key, of in config.model_fields.items() if of.is_required() and key not in given]:
        raise Invalid("", f"needs {listed(missing)}", task, hint="Give the file of data with --from")
    built = config(name=task, **given).build()
    values = {**SMALL, "model.topology": built.topologies[0]}
    values |= {f"task.{key}": getattr(of, "written", of) for key, of in given.items()}
    stage_keys = [key for config in CONFIGS for key in config.model_fields]
    text = rendered(
        "study.yaml.j2",
        name=name,
        schema=SCHEMA,
        schema_is_there=schema_is_there,
        study=study,
        of_stages={key: word(example) for key in stage_keys for example in study[key].examples or ()},
        metric=MetricSection.model_fields,
        metrics=list(built.metrics),
        task=_parameters(config, "task", values),
        model=_parameters(model, "model", values),
        training=_parameters(training, "training", values),
    )
    return "".join(f"{_laid_out(line)}\n" for line in text.splitlines())


def _parameters(config: Any, path: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The parameters of a section or part, and of the parts inside it, as lines of YAML with their meanings."""
    indent = "  " * (path.count(".") + 1)
    if part := getattr(config, "part", None):
        yield f"{indent}name: {part.name}  # {_with_others(summary(part), part)}"
    for key, field in config.model_fields.items():
        below, about = f"{path}.{key}", str(field.description)
        value = values.get(below, field.default)
        if value != field.default and field.default is not None and not field.is_required():
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
    return next((mark.slot for mark in field.metadata if isinstance(mark, Slot)), None)


def _with_others(about: str, part: Any) -> str:
    """A description that names all parts of the slot."""
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


def create_part(slot: str, target: Path) -> list[Path]:
    """Writes a part with the name and in the folder of `target`, and a study of it. Raises `AblateError`."""
    if slot not in PARTS:
        raise _refused("has no template of a part", slot, listed(PARTS), nearest(slot, PARTS), "--part")
    part = _file(target, slot, "NAME")
    values = _names(part, slot) | {
        "slot": slot,
        "path": ".".join(["model", *places()[slot].path]),
        "default": places()[slot].default,
        "parameter": PARTS[slot],
    }
    return write(_with_study(part, f"{slot}.py.j2", "part", values))


def create_workload(target: Path) -> list[Path]:
    """Writes a workload with the name and in the folder of `target`, and a study of it. Raises `AblateError`."""
    file = _file(target, "workload", "--workload")
    return write(_with_study(file, "workload.py.j2", "workload", _names(file, "workload")))


def _with_study(file: Path, template: str, kind: str, values: Mapping[str, Any]) -> dict[Path, str]:
    """A file of one's own, and beside it a study that uses it."""
    study = rendered(f"own_{kind}.yaml.j2", **values)
    return {file: rendered(template, **values), file.with_suffix(".yaml"): study}


def _file(target: Path, slot: str, source: str) -> Path:
    """The file of a part or task; raises `AblateError` where it cannot be of that name."""
    name = target.name.removesuffix(".py")
    if not name.isidentifier() or iskeyword(name) or parse_value(name) != name:
        raise _refused(
            "cannot be the name of a Python file",
            name,
            "letters, digits and '_', the first a letter, for instance `my_part`",
            source=source,
        )
    if name in CATALOGUE.names(slot):
        raise _refused(f"is already registered as {slot}", name, hint=OTHER, source=source)
    file = target.with_name(f"{name}.py")
    if not file.exists() and find_spec(name) is not None:
        raise _refused(
            "is a Python module, which a file of this name could hide", name, hint=OTHER, source=source
        )
    return file


def _names(file: Path, slot: str) -> dict[str, Any]:
    """What its templates call a part; its class with the slot, so that it is no name that they import."""
    class_name = "".join(word.capitalize() for word in [*file.stem.split("_"), slot])
    return {"name": file.stem, "class_name": class_name, "file": f"{file.stem}.yaml"}


def write(texts: Mapping[Path, str]) -> list[Path]:
    """Writes new files, and returns their paths; raises `AblateError` before the first where one cannot be written."""
    if there := [str(path) for path in texts if path.exists()]:
        raise _refused("already exists", listed(there), hint=OTHER, source="NAME")
    for path, text in texts.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise AblateError(f"{path}: cannot be written: {error.strerror}; choose another") from error
    return [*texts]


def rendered(template: str, **values: Any) -> str:
    """A template of this package, with every value on one line."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ablate.commands"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: str(value).replace("\n", " "),
    )
    return environment.get_template(template).render(values)


def _refused(rule: str, given: str, allowed: str = "", hint: str = "", source: str = "") -> AblateError:
    return AblateError(str(Problem(rule, (), given, allowed, hint, source=source)))
