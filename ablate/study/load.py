"""A study file, validated: every mistake against the schema is named at once."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ablate.base.datafile import FOLDER
from ablate.base.errors import NOT_GIVEN, Problem, listed, nearest
from ablate.base.plugins import FAILS, MAX_BYTES, plugin_fault
from ablate.base.reading import unreadable
from ablate.base.registry import CATALOGUE, PartConfig, Slot, UnknownPart
from ablate.core import names
from ablate.core.workload import Workload
from ablate.study.document import Document, PathKey, read_document
from ablate.study.schema import StudyBase, base_of, study_model
from ablate.study.suggestions import did_you_mean, elsewhere, meanings, part_hint

GONE = (("metric", "also"), ("metric", "aggregate"), ("match", "seconds"))
"""Keys that the resolved studies of older reports have, and that mean nothing where they are empty."""
DEFAULT_WORKLOAD: str = StudyBase.model_fields["workload"].default
_RULES = {
    "missing": "is required",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be on or off",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "too_short": "must not be empty",
    "model_type": "must be a mapping",
    "model_attributes_type": "must be a mapping",
}


def load(source: Path | Document, *, confirm: bool = False) -> tuple[Document, StudyBase, Workload]:
    """A study that agrees with the schema: its document, what it says and its workload.

    `source` is a file, or one that was read, and changed by options; `confirm` names it as the confirmation of itself.
    Raises `StudyError` with all mistakes against the schema; where plugins or the workload, which make it, cannot be
    used, with those alone.
    """
    document = source if isinstance(source, Document) else read_document(source)
    path = document.path
    for section, key in GONE:
        found = document.data.get(section)
        if isinstance(found, dict) and key in found and not found[key]:
            del found[key]
    name = str(document.data.get("name", ""))
    if names.written(name) and path.resolve().parent.name != name:
        rule = "names a run that differs from a study, which `ablate run` does itself"
        document.refuse(
            ("name",), rule, name, "letters, digits, '.', '_' and '-'", "Give it a name of its own"
        )
    if confirm:
        document.set("name", names.confirming(name), "--confirm")
    if document.data.get("workload", DEFAULT_WORKLOAD) == DEFAULT_WORKLOAD:
        # First, so that a plugin that takes the name of a built-in part is the one that is refused.
        CATALOGUE.load_builtin()
    folder = base_of(path, document.data.get("folder"))
    _load_plugins(document, folder)
    workload = _workload(document)
    return document, _validated(document, study_model(workload), folder), workload


def _load_plugins(document: Document, folder: Path) -> None:
    plugins = document.data.get("plugins", [])
    stems: dict[str, str] = {}
    before = len(document.problems)
    for index, name in enumerate(plugins if isinstance(plugins, list) else []):
        at: PathKey = ("plugins", index)
        if not isinstance(name, str):
            continue
        if rule := unreadable(folder / name, MAX_BYTES):
            document.refuse(at, rule, name, "a Python file, relative to the study")
            continue
        path = (folder / name).resolve()
        if stems.setdefault(path.stem, name) != name:
            rule = f"has the name of another plugin, {stems[path.stem]}"
            document.refuse(at, rule, name, hint="Rename one of the files")
        elif fault := plugin_fault(path):
            document.refuse(at, f"{FAILS}: {fault}", hint="Correct the plugin")
    if len(document.problems) > before:
        document.raise_problems()


def _workload(document: Document) -> Workload:
    name = document.data.get("workload", DEFAULT_WORKLOAD)
    if name not in CATALOGUE.names("workload"):
        CATALOGUE.load_builtin()
    try:
        part = CATALOGUE.get("workload", name)
    except UnknownPart as error:
        document.refuse(("workload",), "unknown workload", name, listed(error.names), error.hint)
        document.raise_problems()
    if not issubclass(part, Workload) or inspect.isabstract(part):
        rule = "must be a subclass of ablate.core.workload.Workload that defines `schema` and `train`"
        document.refuse(("workload",), rule, name, hint="Correct the plugin")
        document.raise_problems()
    workload: Workload = part()
    workload.load_parts()
    return workload


def _validated(document: Document, model: type[StudyBase], folder: Path) -> StudyBase:
    """The study, with files relative to `folder`; raises `StudyError`."""
    tasks = [bool(document.data.get(key)) or (key,) in document.unread for key in ("task", "tasks")]
    if "task" in model.model_fields and all(tasks) == any(tasks):
        document.refuse(("task",), "give either `task`, or `tasks` with several")
    try:
        study = model.model_validate(document.data, context={FOLDER: folder})
    except ValidationError as error:
        for problem in translated(error, model, document.data):
            if problem.path not in document.unread:
                document.report(problem)
    document.raise_problems()
    return study


def translated(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of a failed validation of `data`, in the words of `ablate.base.errors`."""
    return (_problem(details, model, data) for details in error.errors())


def _problem(details: ErrorDetails, model: type[BaseModel], data: Mapping[str, Any]) -> Problem:
    kind, path, given = details["type"], details["loc"], details["input"]
    context: Mapping[str, Any] = details.get("ctx", {})
    # Pydantic marks the key of a mapping, rather than its value, with a last step of its own; and we, forms of a value.
    path = tuple(step for step in path if not str(step).startswith("["))
    if kind == "extra_forbidden":
        names = list(dict.fromkeys(_fields_at(model, data, path[:-1])))
        dotted = ".".join(str(step) for step in path)
        hint = "" if meanings(path[-1], names) else elsewhere(dotted, _tree(model, data))
        hint = hint or did_you_mean(path[-1], names)
        return Problem("unknown key", path, allowed=listed(names, 20), hint=hint)
    if kind in ("unknown_part", "part_without_name"):
        rule = f"{'unknown' if kind == 'unknown_part' else 'needs the name of a'} {context['slot']}"
        given = context["name"] if context["name"] is not None else given
        return Problem(rule, path, given, listed(context["names"], 40), part_hint(context["slot"], given))
    if kind == "rule":
        return Problem(details["msg"], path, given, context["allowed"])
    if kind == "string_pattern_mismatch":
        return Problem("must be a plain name", path, given, "letters, digits, '.', '_' and '-', no folder")
    if kind == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return Problem("is not a choice", path, given, allowed, nearest(given, allowed.split(", ")))
    if kind in ("bool_type", "bool_parsing"):
        return Problem(_RULES["bool_type"], path, given, "on, off, true, false")
    length = context.get("max_length", context.get("min_length", 1))
    if kind == "too_long" and length > 2:
        return Problem(f"must have at most {length:,} entries", path, context["actual_length"])
    if kind in ("too_short", "too_long") and length != 1:
        return Problem(f"must have {length} entries", path, given)
    rule = _RULES.get(kind) or details["msg"].replace("Input should", "must").replace("should", "must")
    return Problem(rule, path, given if path and kind != "missing" else NOT_GIVEN)


def _tree(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the sections of a study have by default, and those of the task that it names."""
    tree: dict[str, Any] = {}
    for section, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            with suppress(ValidationError):  # it has keys without a default
                tree[section] = kind().model_dump()
    task = data.get("task")
    name = task.get("name") if isinstance(task, dict) else task
    if name in CATALOGUE.names("task"):
        config: type[BaseModel] = CATALOGUE.get("task", name).Config  # type: ignore[attr-defined]
        tree["task"] = dict.fromkeys(config.model_fields)
    return tree


def _fields_at(model: type[BaseModel], data: Any, path: PathKey) -> list[str]:
    """The keys that the section or part at `path` has."""
    kinds: list[Any] = [model]
    value: Any = data
    for step in path:
        inside = step in value if isinstance(value, dict) else isinstance(value, list)
        value = value[step] if inside else None
        if isinstance(step, str):
            fields = [kind.model_fields[step] for kind in kinds if step in kind.model_fields]
            kinds = [kind for f in fields for kind in _kinds([f.annotation, *f.metadata], value)]
        else:
            kinds = [kind for kind in kinds if kind is not model]
    return [field.alias or name for kind in kinds for name, field in kind.model_fields.items()]


def _kinds(annotations: Sequence[Any], value: Any) -> list[type[BaseModel]]:
    """The sections and part configs inside an annotation; a slot's by the name that `value` gives."""
    found: list[type[BaseModel]] = []
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        elif isinstance(annotation, Slot):
            for item in value if isinstance(value, list) else [value]:
                try:
                    found.append(annotation.config(item)[0])
                except PydanticCustomError:
                    continue
        else:
            found += _kinds([*get_args(annotation), *getattr(annotation, "__metadata__", ())], value)
    return found


def parts_of(config: Any) -> Iterator[PartConfig]:
    """Every part that a validated config names, nested ones included."""
    if isinstance(config, PartConfig):
        yield config
    if isinstance(config, BaseModel):
        for name in type(config).model_fields:
            yield from parts_of(getattr(config, name))
    elif isinstance(config, (list, tuple)):
        yield from itertools.chain.from_iterable(map(parts_of, config))
