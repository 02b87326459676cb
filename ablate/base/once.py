"""Values that stand under one name once: of two, one would hide the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TypeVar

from ablate.base.errors import Invalid, shown

Name = TypeVar("Name")
Value = TypeVar("Value")


class TwiceError(ValueError):
    """Two values under one name; `name`: the name, in words."""

    def __init__(self, name: object) -> None:
        self.name = str(name)
        super().__init__(f"two values have the name {shown(self.name)}")


@contextmanager
def refusing_twice(field: str, given: str) -> Iterator[None]:
    """Raises `Invalid` for two values of one name that are met inside; `given`: what holds them."""
    try:
        yield
    except TwiceError as error:
        raise Invalid(field, str(error), given, hint="Rename one of them, or remove it") from None


def put_once(values: MutableMapping[Name, Value], name: Name, value: Value, *, said: str = "") -> None:
    """Adds a value under a name. Raises `TwiceError` where the name has a value already.

    said: the name in words, where it is no text.
    """
    if name in values:
        raise TwiceError(said or name)
    values[name] = value


def loads(text: str | bytes) -> object:
    """Returns what JSON holds. Raises `TwiceError` for a key that an object has twice, `ValueError` for no JSON."""
    return json.loads(text, object_pairs_hook=_object_of)


def _object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in pairs:
        put_once(values, name, value)
    return values
