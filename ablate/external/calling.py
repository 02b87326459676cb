"""Calls a user's function in a process of its own; imports nothing of ours, and is run as a file.

What it has to tell are lines of standard output that begin with `MARK`, followed by JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

MARK = "ablate: "
UNREAD = "unread"  # The keys of the config that the function has not read.


class Config(dict[str, Any]):
    """A dict that remembers which of its keys were read; those of mappings in it by their dotted paths."""

    # As they are in terms of `__getitem__`, where those of a dict are not.
    items, values, get, pop = (
        MutableMapping.items,
        MutableMapping.values,
        MutableMapping.get,
        MutableMapping.pop,
    )  # type: ignore[assignment]

    def __init__(self, data: Mapping[str, Any], unread: dict[str, None], prefix: str = ""):
        self.prefix, self.unread = prefix, unread
        for key, value in data.items():
            inner = isinstance(value, dict)
            unread |= {} if inner else {f"{prefix}{key}": None}
            self[key] = Config(value, unread, f"{prefix}{key}.") if inner else value

    def __getitem__(self, key: str) -> Any:
        self.unread.pop(f"{self.prefix}{key}", None)
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        # With one of its own, `**config` and `dict(config)` read it by its items, too.
        return super().__iter__()


def loaded(place: str) -> Any:
    """The function at `train.py:train` or `package.module:train`, below the current folder."""
    module, _, name = place.rpartition(":")
    sys.path.insert(0, os.getcwd())
    if module.endswith(".py"):
        folder, file = os.path.split(os.path.abspath(module))
        sys.path.insert(0, folder)
        module = file.removesuffix(".py")
    return getattr(importlib.import_module(module), name)


def tell(**data: Any) -> None:
    """Writes a line at once, past what the function does to its standard output."""
    os.write(OUT, f"\n{MARK}{json.dumps(data)}\n".encode())


def report(step: int, **metrics: Any) -> None:
    """What the function may call with the metrics of a step."""
    tell(step=int(step), **numbers(metrics))


def numbers(metrics: Any) -> dict[str, float]:
    """Metrics as plain numbers; raises `TypeError`."""
    if not isinstance(metrics, Mapping) or not metrics:
        raise TypeError(f"must return numbers by name, as {{'accuracy': 0.9}}; it returned {metrics!r}")
    found = {}
    for name, value in metrics.items():
        try:
            found[str(name)] = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number, not {value!r}") from None
    return found


def call(place: str) -> None:
    """Calls the function with the config and the seed of the environment."""
    unread: dict[str, None] = {}
    train, config = loaded(place), Config(json.loads(os.environ["ABLATE_CONFIG"]), unread)
    takes = inspect.signature(train).parameters.values()
    listens = any(each.name == "report" or each.kind is each.VAR_KEYWORD for each in takes)
    found = train(config, int(os.environ["ABLATE_SEED"]), **({"report": report} if listens else {}))
    tell(**{UNREAD: [*unread], **numbers(found)})


if __name__ == "__main__":
    OUT = os.dup(1)
    call(sys.argv[1])
