"""Files to start from, made from the templates of this folder and the registered parts.

A commented study; or a part or a task of one's own, with a study that uses it.
"""

from __future__ import annotations

import csv
import json
import os
import random
import textwrap
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import islice
from keyword import iskeyword
from pathlib import Path
from typing import Any

import jinja2
from pydantic import TypeAdapter, ValidationError

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.files import unreadable
from ablate.base.registry import CATALOGUE, Slot, StrictModel
from ablate.base.text import word
from ablate.commands.templates import PARTS
from ablate.core.feature import grammar
from ablate.models.reference import places
from ablate.study.document import parse_value
from ablate.study.json_schema import summary
from ablate.study.schema import MetricSection, StudyBase, StudyName, study_model

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
MAX_BYTES = 100_000_000  # Of the data of a task.
SAMPLE_ROWS, SAMPLE_LENGTH = 600, 8
OTHER = "Choose another name"
LABELS = ("label", "class", "category", "target", "y")


def create(target: Path, task: str) -> Path:
    """Writes a study with the name and in the folder of `target`, and returns its path. Raises `AblateError`."""
    name = target.name.removesuffix(".yaml").removesuffix(".yml")
    try:
        TypeAdapter(StudyName).validate_python(name)
    except ValidationError:
        allowed = "letters, digits, '.', '_' and '-', the first a letter or digit, at most 100; not `store`"
        raise _refused("is not a valid study name", name, allowed, source="NAME") from None
    path = target if name != target.name else target.with_name(f"{name}.yaml")
    if task not in (tasks := CATALOGUE.names("task")):
        raise _refused(
            "is not a task",
            task,
            listed(tasks),
            nearest(task, tasks) or f"To write a task of your own: ablate new --task {task}",
            "--task",
        )
    return write({path: study_text(name, task, (path.parent / SCHEMA).is_file())})[0]


def study_text(name: str, task: str, schema_is_there: bool) -> str:
    """The study as YAML; where the JSON Schema is beside it, its first line points editors there."""
    workload = CATALOGUE.get("workload", StudyBase.model_fields["workload"].default)()
    study, sections = study_model(workload).model_fields, workload.schema()
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
        of_features={key: word(example) for key in grammar() for example in study[key].examples or ()},
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


def create_task(target: Path, data: Path | None) -> list[Path]:
    """Writes a task with the name and in the folder of `target`, and a study of it. Raises `AblateError`.

    It reads `data`: a table where it ends in .csv or .tsv, else a text; without it a sample, which is written too.
    """
    task = _file(target, "task", "--task")
    sample = {task.with_suffix(".csv"): _sample(task.stem)} if data is None else {}
    data = data or task.with_suffix(".csv")
    text = sample.get(data) or _text(data)
    is_table = data.suffix.lower() in (".csv", ".tsv")
    settings = {"data": os.path.relpath(data, task.parent)} | (_columns(data, text) if is_table else {})
    values = _names(task, "task") | {
        "topology": "encoder" if is_table else "decoder",
        "settings": {key: json.dumps(value, ensure_ascii=False) for key, value in settings.items()},
    }
    template = "task_table.py.j2" if is_table else "task_text.py.j2"
    return write(sample | _with_study(task, template, "task", values))


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
        hint = f"For a study of it: ablate new NAME --task {name}" if slot == "task" else OTHER
        raise _refused(f"is already registered as {slot}", name, hint=hint, source=source)
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


def _text(data: Path) -> str:
    """The content of a file of data; raises `AblateError` where it has none that can be read."""
    if (rule := unreadable(data, MAX_BYTES)) is not None:
        raise _refused(rule, str(data), source="--from")
    try:
        return data.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(
            f"must be UTF-8 text; byte {error.start + 1} is none", str(data), source="--from"
        ) from None


def _columns(data: Path, text: str) -> dict[str, str]:
    """The columns of texts and labels of a table, as the task's parameters."""
    lines = text.splitlines() or [""]
    table = csv.DictReader(lines, delimiter=max(",;\t|", key=lines[0].count), restval="")
    columns = table.fieldnames or []
    if len({*columns}) < max(2, len(columns)) or len(lines) < 2:
        rule = "must have a header with a column of texts and one of labels, none named twice, and a row for each text"
        raise _refused(rule, str(data), source="--from")
    label = next((name for name in columns if name.lower() in LABELS), columns[-1])
    rows = [*islice(table, 100)]
    others = [name for name in columns if name != label]
    return {"text": max(others, key=lambda name: sum(len(row[name]) for row in rows)), "label": label}


def _sample(name: str) -> str:
    """A table of letters; the label says which of a and b comes first, so that it takes the order to tell."""
    draw, lines = random.Random(name), ["text,label"]
    for _ in range(SAMPLE_ROWS):
        first, second = sorted(draw.sample(range(SAMPLE_LENGTH), 2))
        letters = draw.choices("cdefgh", k=SAMPLE_LENGTH)
        letters[first], letters[second] = draw.sample("ab", 2)
        lines.append(f"{''.join(letters)},{letters[first]} first")
    return "\n".join([*lines, ""])
