"""Mistakes against a schema, which pydantic finds, in the words of `ablate.base.errors`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from ablate.base.errors import NOT_GIVEN, Problem, listed, nearest
from ablate.base.registry import Slot
from ablate.study.plain_yaml import PathKey
from ablate.study.suggestions import did_you_mean, elsewhere, key_meant, meanings, part_hint

NAME_ALLOWED = "letters, digits, '.', '_' and '-', no folder"
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


def translated(error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yields the problems of a failed validation of `data`."""
    keys = list(_keys(model, data))
    for details in error.errors():
        yield _problem(details, keys)


def keys_meant(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any]
) -> dict[PathKey, str | None]:
    """Returns the place of each unknown key → the key beside it that is meant, None where none is."""
    keys = list(_keys(model, data))
    meant: dict[PathKey, str | None] = {}
    for details in error.errors():
        if details["type"] == "extra_forbidden":
            path = tuple(details["loc"])
            meant[path] = key_meant(path[-1], _siblings(path, keys))
    return meant


def _problem(details: ErrorDetails, keys: Sequence[PathKey]) -> Problem:
    """Returns one error of pydantic as a problem; `keys` are those that may stand in the study."""
    kind = details["type"]
    given = details["input"]
    context: Mapping[str, Any] = details.get("ctx", {})
    # Pydantic marks the key of a mapping, rather than its value, with a last step of its own; and we, forms of a value.
    path = tuple(step for step in details["loc"] if not str(step).startswith("["))
    match kind:
        case "extra_forbidden":
            return _unknown_key(path, keys)
        case "unknown_part":
            return _no_part(f"unknown {context['slot']}", path, given, context)
        case "part_without_name":
            return _no_part(f"needs the name of a {context['slot']}", path, given, context)
        case "rule":
            return Problem(details["msg"], path, given, context["allowed"])
        case "literal_error":
            allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
            return Problem(
                "is not an allowed value", path, given, allowed, nearest(given, allowed.split(", "))
            )
        case "too_short" | "too_long":
            length = context.get("max_length", context.get("min_length", 1))
            if kind == "too_long" and length > 2:
                return Problem(f"must have at most {length:,} entries", path, context["actual_length"])
            if length != 1:
                return Problem(f"must have {length} entries", path, given)
            # Else it must have an entry, as the rules say.
    message = details["msg"].replace("Input should", "must").replace("should", "must")
    rule, allowed = _RULES.get(kind, (message, ""))
    if rule.endswith("mapping"):
        allowed = listed(key[-1] for key in keys if key[:-1] == path)
    if not path or kind == "missing":
        given = NOT_GIVEN
    return Problem(rule, path, given, allowed)


def _unknown_key(path: PathKey, keys: Sequence[PathKey]) -> Problem:
    siblings = _siblings(path, keys)
    hint = ""
    if not meanings(path[-1], siblings):
        hint = elsewhere(_dotted(path), [_dotted(key) for key in keys])
    hint = hint or did_you_mean(path[-1], siblings)
    return Problem("unknown key", path, allowed=listed(siblings, 20), hint=hint)


def _siblings(path: PathKey, keys: Sequence[PathKey]) -> list[str]:
    """Returns the keys that may stand where a path ends."""
    return list(dict.fromkeys(str(key[-1]) for key in keys if key[:-1] == path[:-1]))


def _dotted(path: PathKey) -> str:
    return ".".join(map(str, path))


def _no_part(rule: str, path: PathKey, given: object, context: Mapping[str, Any]) -> Problem:
    names = context["names"]
    if context["name"] is not None:
        given = context["name"]
    return Problem(rule, path, given, listed(names, 40), part_hint(context["slot"], given, names))


def _keys(model: type[BaseModel], data: object, path: PathKey = ()) -> Iterator[PathKey]:
    """Yields the place of each key that may stand in a study with this data.

    The keys of parts are those of the parts that it has, or of default ones. A field that is never written is there to
    be refused, and has no place.
    """
    for name, field in model.model_fields.items():
        if field.exclude:
            continue
        key = field.alias or name
        place = (*path, key)
        yield place
        value = data.get(key, field.default) if isinstance(data, Mapping) else field.default
        for item_place, item in _items(place, value, field).items():
            for section in _models((field.annotation, *field.metadata), item):
                yield from _keys(section, item, item_place)


def _items(place: PathKey, value: object, field: FieldInfo) -> dict[PathKey, object]:
    """Returns the values of a field by their places: items of a list, of a mapping by name, or the value itself."""
    items: Mapping[Any, object] = {}
    if isinstance(value, list):
        items = dict(enumerate(value))
    elif isinstance(value, Mapping) and get_origin(field.annotation) is dict:
        items = value
    if not items:
        return {place: value}
    return {(*place, key): item for key, item in items.items()}


def _models(annotations: Iterable[Any], value: object) -> Iterator[type[BaseModel]]:
    """Yields the sections and part configs that annotations allow for a value."""
    for annotation in annotations:
        if isinstance(annotation, Slot):
            with suppress(PydanticCustomError):
                yield annotation.config(value)[0]
        elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models(get_args(annotation), value)
