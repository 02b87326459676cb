"""A study file, validated: every mistake against the schema is named at once."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from ablate.base.datafile import FOLDER
from ablate.base.errors import NOT_GIVEN, Problem, StudyError, listed, nearest
from ablate.base.files import unreadable
from ablate.base.plugins import FAILS, MAX_BYTES, plugin_fault
from ablate.base.registry import CATALOGUE, Slot
from ablate.core import names
from ablate.core.workload import Workload
from ablate.study.document import Document, PathKey, base_of
from ablate.study.schema import StudyConfig, study_model
from ablate.study.stage_config import StageConfig
from ablate.study.suggestions import did_you_mean, elsewhere, meanings, part_hint

# Keys that the resolved studies of older reports have, and that mean nothing where they are empty.
GONE = (("metric", "also"), ("metric", "aggregate"))
NAME_ALLOWED = "letters, digits, '.', '_' and '-', no folder"
DEFAULT_WORKLOAD: str = StudyConfig.model_fields["workload"].default
# Kind of error of pydantic → the rule, and what is allowed.
_RULES = {
    "missing": ("is required", ""),
    "int_type": ("must be a whole number", ""),
    "int_from_float": ("must be a whole number", ""),
    "float_type": ("must be a number", ""),
    "string_type": ("must be text", ""),
    "string_pattern_mismatch": ("must be a plain name", NAME_ALLOWED),
    "bool_type": ("must be on or off", "on, off, true, false"),
    "bool_parsing": ("must be on or off", "on, off, true, false"),
    "list_type": ("must be a list", ""),
    "dict_type": ("must be a mapping", ""),
    "too_short": ("must not be empty", ""),
    "model_type": ("must be a mapping", ""),
    "model_attributes_type": ("must be a mapping", ""),
}


def load(document: Document, configs: Sequence[type[StageConfig]]) -> tuple[StudyConfig, Workload]:
    """Validates a study against the schema, with the keys of stages, and returns it with its workload.

    `document` may have been changed by options. Raises `StudyError` with all mistakes against the schema; where plugins
    or the workload, which make it, are at fault, with those alone.
    """
    path, data = document.path, document.data
    for section, key in GONE:
        found = data.get(section)
        if isinstance(found, dict) and key in found and not found[key]:
            del found[key]
    name = str(data.get("name", ""))
    if names.written(name) and path.resolve().parent.name != name:
        rule, allowed = "names a run that differs from a study, which `ablate run` does itself", NAME_ALLOWED
        document.refuse(("name",), rule, name, allowed, "Give it a name of its own")
    if data.get("workload", DEFAULT_WORKLOAD) == DEFAULT_WORKLOAD:
        # First, so that a plugin that takes the name of a built-in part is the one that is refused.
        CATALOGUE.load_builtin()
    folder = base_of(path, data.get("folder"))
    _load_plugins(document, folder)
    workload = _workload(document)
    workload.folder = folder
    return _validated(document, study_model(workload, configs), folder), workload


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
        elif stems.setdefault(Path(name).stem, name) != name:
            document.refuse(at, "has the name of another plugin", name, hint="Rename one of the files")
        elif fault := plugin_fault(folder / name):
            document.refuse(at, f"{FAILS}: {fault}", hint="Correct the plugin")
    if len(document.problems) > before:
        document.raise_problems()


def _workload(document: Document) -> Workload:
    CATALOGUE.load_package("external")
    name, own = document.data.get("workload", DEFAULT_WORKLOAD), CATALOGUE.names("workload")
    # Options name their workload by the one of them that has its name.
    name = next((key for key in name if key in own), name) if isinstance(name, dict) else name
    if name not in own:
        CATALOGUE.load_builtin()
    known = CATALOGUE.names("workload")
    part: Any = CATALOGUE.get("workload", name) if name in known else None
    if part is None:
        document.refuse(("workload",), "unknown workload", name, listed(known), nearest(name, known))
    elif not issubclass(part, Workload) or inspect.isabstract(part):
        rule = "must be a subclass of ablate.core.workload.Workload that defines `schema` and `train`"
        document.refuse(("workload",), rule, name, hint="Correct the plugin")
    else:
        workload: Workload = part()
        workload.load_parts()
        return workload
    raise StudyError(document.problems)


def _validated(document: Document, model: type[StudyConfig], folder: Path) -> StudyConfig:
    """The study, with files relative to `folder`; raises `StudyError`."""
    tasks = [bool(document.data.get(key)) for key in ("task", "tasks")]
    if "task" in model.model_fields and all(tasks) == any(tasks):
        document.refuse(("task",), "give either `task`, or `tasks` with several")
    try:
        study = model.model_validate(document.data, context={FOLDER: folder})
    except ValidationError as error:
        document.report_all(translated(error, model, document.data))
    document.raise_problems()
    return study


def translated(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of a failed validation of `data`, in the words of `ablate.base.errors`."""
    keys = list(_keys(model, data))
    return (_problem(details, keys) for details in error.errors())


def _problem(details: ErrorDetails, keys: Sequence[PathKey]) -> Problem:
    kind, given = details["type"], details["input"]
    context: Mapping[str, Any] = details.get("ctx", {})
    # Pydantic marks the key of a mapping, rather than its value, with a last step of its own; and we, forms of a value.
    path = tuple(step for step in details["loc"] if not str(step).startswith("["))
    if kind == "extra_forbidden":
        known = list(dict.fromkeys(str(key[-1]) for key in keys if key[:-1] == path[:-1]))
        dotted = [".".join(map(str, key)) for key in (path, *keys)]
        hint = "" if meanings(path[-1], known) else elsewhere(dotted[0], dotted[1:])
        hint = hint or did_you_mean(path[-1], known)
        return Problem("unknown key", path, allowed=listed(known, 20), hint=hint)
    if kind in ("unknown_part", "part_without_name"):
        rule = f"{'unknown' if kind == 'unknown_part' else 'needs the name of a'} {context['slot']}"
        given = context["name"] if context["name"] is not None else given
        hint = part_hint(context["slot"], given, context["names"])
        return Problem(rule, path, given, listed(context["names"], 40), hint)
    if kind == "rule":
        return Problem(details["msg"], path, given, context["allowed"])
    if kind == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        return Problem("is not a choice", path, given, allowed, nearest(given, allowed.split(", ")))
    length = context.get("max_length", context.get("min_length", 1))
    if kind == "too_long" and length > 2:
        return Problem(f"must have at most {length:,} entries", path, context["actual_length"])
    if kind in ("too_short", "too_long") and length != 1:
        return Problem(f"must have {length} entries", path, given)
    message = details["msg"].replace("Input should", "must").replace("should", "must")
    rule, allowed = _RULES.get(kind, (message, ""))
    if rule.endswith("mapping"):
        allowed = listed(key[-1] for key in keys if key[:-1] == path)
    return Problem(rule, path, given if path and kind != "missing" else NOT_GIVEN, allowed)


def _keys(model: type[BaseModel], data: Any, path: PathKey = ()) -> Iterator[PathKey]:
    """The place of each key that may stand in a study with this data: those of the parts that it has, or of default
    ones.

    A field that is never written is there to be refused, and has no place.
    """
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        here = (*path, field.alias or name)
        yield here
        value = data.get(here[-1], field.default) if isinstance(data, Mapping) else field.default
        several: Mapping[Any, Any] = dict(enumerate(value)) if isinstance(value, list) else {}
        if get_origin(field.annotation) is dict and isinstance(value, Mapping):
            several = value
        for place, item in ({(*here, key): item for key, item in several.items()} or {here: value}).items():
            for kind in _models((field.annotation, *field.metadata), item):
                yield from _keys(kind, item, place)


def _models(annotations: Iterable[Any], value: Any) -> Iterator[type[BaseModel]]:
    """The sections and part configs that annotations allow for a value, or for each that a mapping has by name."""
    for annotation in annotations:
        if isinstance(annotation, Slot):
            with suppress(PydanticCustomError):
                yield annotation.config(value)[0]
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models(get_args(annotation), value)
