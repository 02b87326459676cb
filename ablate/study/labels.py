"""Labels of the values at one path: numbers and words as they are, a part by its name and what tells it apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.text import printable
from ablate.study.patch import key_of, value_at
from ablate.study.suggestions import paths_of


def level_labels(values: Iterable[Any]) -> dict[str, str]:
    """Labels for the values at one path, by their JSON: the name, with the parameters that tell apart
    values of one name (`low_rank(rank=8)`).
    """
    distinct = {key_of(value): value for value in values}
    return {
        key: printable(short_label(value) + _telling(value, distinct.values()))
        for key, value in distinct.items()
    }


def short_label(value: Any) -> str:
    """A value as a word: of a part its name; on, off and null as a study file writes them."""
    if isinstance(value, DataFile):
        return value.written
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "null"
    return str(value) if isinstance(value, (str, int, float)) else json.dumps(value, separators=(",", ":"))


def _telling(value: Any, values: Iterable[Any]) -> str:
    """The parameters of a part by which it differs from others of its name, in brackets; or nothing."""
    if not isinstance(value, Mapping):
        return ""
    flat = _flat(value)
    others = [_flat(o) for o in values if isinstance(o, Mapping) and short_label(o) == short_label(value)]
    differing = [key for key in flat if any(key not in other or other[key] != flat[key] for other in others)]
    return f"({','.join(f'{key}={short_label(flat[key])}' for key in differing)})" if differing else ""


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by dotted path; a nested part counts by its name and by its own parameters."""
    found = {path: value_at(value, path) for path in paths_of(value)}
    return {path: item.get("name") if isinstance(item, Mapping) else item for path, item in found.items()}
