"""Changes to a config by path: what a level of a factor, a named variant and `--set` do.

A patch states only what differs. On a part (a mapping with a `name`) it replaces the whole part when the name
changes, and merges parameters when it does not.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.core.feature import features
from ablate.core.trial import merged
from ablate.study.suggestions import elsewhere, paths_of


def key_of(value: Any) -> str:
    """The JSON of a config, or of a value in one: equal for equal ones."""
    return json.dumps(value, sort_keys=True)


def is_empty(value: Any) -> bool:
    """Whether a value, laid over another as a patch, changes nothing: a mapping without a value in it."""
    return isinstance(value, Mapping) and all(map(is_empty, value.values()))


def apply_patches(
    config: Mapping[str, Any], patches: Mapping[str, Any], *, skip_removed: bool = False
) -> dict[str, Any]:
    """A copy of `config`, resolved or not, with the value at each dotted path changed.

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
    """Whether the dotted path leads to a value."""
    node: Any = config
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
    return True


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; raises `Invalid` with the nearest name where it ends."""
    node: Any = config
    done: list[str] = []
    for key in path.split("."):
        if not isinstance(node, Mapping):
            raise Invalid("", f"the path does not exist: {'.'.join(done)} has no keys of its own", path)
        if key not in node:
            where = ".".join(done) or "a study's config"
            rule = f"the path does not exist: {where} has no {key!r}"
            hint = elsewhere(path, paths_of(config)) or nearest(key, node)
            raise Invalid("", rule, path, listed(node), hint)
        node = node[key]
        done.append(key)
    return node


def document_keys(path: str) -> tuple[str, ...]:
    """The keys that a dotted path means in a study file, where a path of a factor, variant or space is one key."""
    places = {place: place.count(".") + 1 for feature in features() for place in feature.by_path}
    for place, steps in {**places, "factors": 1, "variants": 2}.items():  # variants.VARIANT.PATH
        if path.startswith(f"{place}."):
            return tuple(path.split(".", steps))
    return tuple(path.split("."))


def set_in_document(data: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Changes a study as it was written, where much may be left out or be in its short form: `--set`."""
    *outer, last = keys
    node: Any = data
    for key in outer:
        below = node.get(key)
        short: dict[str, Any] = {"name": below} if _is_name(below) else {}
        if key == "seeds" and isinstance(below, int):
            short = {"count": below}
        node[key] = node = below if isinstance(below, dict) else short
    old = node.get(last)
    node[last] = merged({"name": old} if _is_name(old) and isinstance(value, Mapping) else old, value)


def _is_name(value: Any) -> bool:
    """Whether a value is short for a part; `on` and `off` are switches, of a section with its defaults."""
    return isinstance(value, str) and value not in ("on", "off")
