"""Paths of a config: changes by path, and labels of the values there.

A patch states only what differs. On a part (a mapping with a `name`) it replaces the whole part when the name
changes, and merges parameters when it does not.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.text import printable
from ablate.core.trial import merged
from ablate.study.suggestions import elsewhere


def key_of(value: Any) -> str:
    """Returns the JSON of a config, or of a value in one: equal for equal ones."""
    return json.dumps(value, sort_keys=True)


def is_empty(value: Any) -> bool:
    """Returns whether a patch changes nothing: it is a mapping without a value in it."""
    return isinstance(value, Mapping) and all(map(is_empty, value.values()))


def apply_patches(
    config: Mapping[str, Any], patches: Mapping[str, Any], *, skip_removed: bool = False
) -> dict[str, Any]:
    """Returns a copy of `config`, resolved or not, with the value at each dotted path changed.

    Outer paths come first. With `skip_removed`, a path that an outer patch removed is left out (a factorial
    collapses there). Raises `Invalid`, with all paths that do not exist.
    """
    result: dict[str, Any] = copy.deepcopy(dict(config))
    with Gather() as at:
        for path in sorted(patches, key=lambda path: path.count(".")):
            if skip_removed and has_path(config, path) and not has_path(result, path):
                continue
            with at():
                if is_empty(patches[path]):
                    raise Invalid(path, "changes nothing: it is empty", patches[path])
                old = value_at(result, path)
                outer, _, last = path.rpartition(".")
                node = value_at(result, outer) if outer else result
                node[last] = merged(old, patches[path])
    return result


def has_path(config: Mapping[str, Any], path: str) -> bool:
    """Returns whether the dotted path leads to a value."""
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
    return True


def overlap(path: str, other: str) -> bool:
    """Returns whether two dotted paths are one, or one of them lies inside the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """Returns the value at a dotted path; raises `Invalid` with the nearest name where the path ends."""
    node: Any = config
    keys = path.split(".")
    for depth, key in enumerate(keys):
        entries = node if isinstance(node, Mapping) else {}
        if key not in entries:
            where = ".".join(keys[:depth]) or "a study's config"
            hint = elsewhere(path, paths_of(config)) or nearest(key, entries)
            rule = f"the path does not exist: {where} has no {key!r}"
            raise Invalid("", rule, path, listed(entries), hint)
        node = entries[key]
    return node


def document_keys(path: str, keyed_by_path: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns the keys of a study file that a dotted path means.

    The path of a factor, or of a change in a variant or a condition, is one key.

    `keyed_by_path`: further places whose entries are paths, each of which is one key.
    """
    # Place → the keys before the path of an entry; that of a variant is `variants.VARIANT.PATH`.
    keys_before_path = {place: place.count(".") + 1 for place in keyed_by_path}
    keys_before_path |= {"factors": 1, "variants": 2, "conditions": 2}
    for place, num_keys in keys_before_path.items():
        if path.startswith(f"{place}."):
            return tuple(path.split(".", num_keys))
    return tuple(path.split("."))


def set_in_document(data: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Changes the value at some keys of a study as it was written, as `--set` does.

    What the study leaves out is made, and what it gives in short form is written out.
    """
    *outer, last = keys
    node = data
    for key in outer:
        inner = node.get(key)
        if not isinstance(inner, dict):
            inner = _written_out(key, inner)
            node[key] = inner
        node = inner
    old = node.get(last)
    if _is_part_name(old) and isinstance(value, Mapping):
        old = {"name": old}
    node[last] = merged(old, value)


def _written_out(key: str, value: object) -> dict[str, Any]:
    """Returns the mapping that a value at `key` is short for, empty where there is none."""
    if _is_part_name(value):
        return {"name": value}
    if key == "seeds" and isinstance(value, int):
        return {"count": value}
    return {}


def _is_part_name(value: object) -> bool:
    """Returns whether a value is short for a part.

    `on` and `off` are switches, of a section with its defaults.
    """
    return isinstance(value, str) and value not in ("on", "off")


def level_labels(values: Iterable[Any]) -> dict[str, str]:
    """Returns labels for the values at one path, by the JSON of each value.

    A label is a name, with the parameters that tell apart values of one name (`low_rank(rank=8)`).
    """
    distinct = {key_of(value): value for value in values}
    labels: dict[str, str] = {}
    for key, value in distinct.items():
        parameters = _distinguishing_parameters(value, distinct.values())
        labels[key] = printable(short_label(value) + parameters)
    return labels


def short_label(value: Any) -> str:
    """Returns a value as a word: of a part its name, else as a study file writes it."""
    if isinstance(value, DataFile):
        return value.written
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "null"
    if isinstance(value, (str, int, float)):
        return str(value)
    return json.dumps(value, separators=(",", ":"))


def _distinguishing_parameters(value: Any, values: Iterable[Any]) -> str:
    """Returns the parameters by which a part differs from others of its name, in brackets; or nothing."""
    if not isinstance(value, Mapping):
        return ""
    parameters = _parameters(value)
    name = short_label(value)
    namesakes = [
        _parameters(other) for other in values if isinstance(other, Mapping) and short_label(other) == name
    ]
    differing: list[str] = []
    for path, parameter in parameters.items():
        if any(path not in other or other[path] != parameter for other in namesakes):
            differing.append(f"{path}={short_label(parameter)}")
    return f"({','.join(differing)})" if differing else ""


def _parameters(part: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a part by dotted path.

    A nested part counts by its name and by its own parameters.
    """
    parameters: dict[str, Any] = {}
    for path in paths_of(part):
        value = value_at(part, path)
        parameters[path] = value.get("name") if isinstance(value, Mapping) else value
    return parameters


def paths_of(config: object, prefix: str = "") -> Iterator[str]:
    """Yields every dotted path of a config except the names of parts."""
    if not isinstance(config, Mapping):
        return
    for key, value in config.items():
        if key != "name":
            yield f"{prefix}{key}"
            yield from paths_of(value, f"{prefix}{key}.")
