"""Changes to a config by path: what a level of a factor, a named variant and `--set` do.

A patch states only what differs. On a part (a mapping with a `name`) it replaces the whole part when the name
changes, and merges parameters when it does not.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ablate.base.errors import Invalid, listed, nearest


def apply_patches(
    config: Mapping[str, Any], patches: Mapping[str, Any], *, skip_removed: bool = False
) -> dict[str, Any]:
    """A copy of `config`, resolved or not, with the value at each dotted path changed.

    Outer paths come first. With `skip_removed`, a path that an outer patch removed is left out (a factorial
    collapses there). Raises `Invalid`, with all paths that do not exist.
    """
    result: dict[str, Any] = copy.deepcopy(dict(config))
    problems = []
    for path in sorted(patches, key=lambda path: path.count(".")):
        try:
            _apply(result, path, patches[path])
        except Invalid as error:
            if not (skip_removed and has_path(config, path)):
                problems += error.problems
    if problems:
        raise Invalid.many(problems)
    return result


def has_path(config: Mapping[str, Any], path: str) -> bool:
    """Whether the dotted path leads to a value."""
    try:
        value_at(config, path)
    except Invalid:
        return False
    return True


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; raises `Invalid` with the nearest name where it ends."""
    node: Any = config
    done: list[str] = []
    for key in path.split("."):
        if not isinstance(node, Mapping):
            raise Invalid("", f"the path does not exist: {'.'.join(done)} has no settings of its own", path)
        if key not in node:
            where = ".".join(done) or "a study's config"
            raise Invalid(
                "", f"the path does not exist: {where} has no {key!r}", path, listed(node), nearest(key, node)
            )
        node = node[key]
        done.append(key)
    return node


def _apply(config: dict[str, Any], path: str, value: Any) -> None:
    value_at(config, path)
    *outer, last = path.split(".")
    node = config
    for key in outer:
        node = node[key]
    node[last] = merged(node[last], value)


def merged(old: Any, new: Any) -> Any:
    """`old` with `new` laid over it: parts merge while their name stays, mappings merge, the rest is replaced."""
    if not isinstance(old, Mapping):
        return copy.deepcopy(new)
    if "name" in old:
        given = dict(new) if isinstance(new, Mapping) else {"name": new}
        if given.get("name", old["name"]) != old["name"]:
            return copy.deepcopy(new)
        new = given
    if not isinstance(new, Mapping):
        return copy.deepcopy(new)
    return {
        **old,
        **{
            key: merged(old[key], value) if key in old else copy.deepcopy(value) for key, value in new.items()
        },
    }


def document_keys(path: str) -> tuple[str, ...]:
    """The keys that a dotted path means in a study file, where a path of a factor, variant or space is one key."""
    for beginning, keys in (("factors.", 1), ("variants.", 2), ("search.over.", 2), ("tune.over.", 2)):
        if path.startswith(beginning):
            return tuple(path.split(".", keys))
    return tuple(path.split("."))


def set_in_document(data: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Changes a study as it was written, where much may be left out or be in its short form: `--set`."""
    *outer, last = keys
    node = data
    for key in outer:
        below = node.get(key)
        if isinstance(below, str):
            below = {"name": below}
        elif not isinstance(below, dict):
            below = {}
        node[key] = below
        node = below
    old = node.get(last)
    node[last] = merged({"name": old} if isinstance(old, str) and isinstance(value, Mapping) else old, value)
