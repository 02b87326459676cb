"""Kept measurements of speed: one file a group of configs that were timed beside one another.

    speed/<key>.json   what the key stands for, and what each process has found, in order

The key stands for the configs with their sources, the calls, the machine and the versions: a measurement that was taken
under others has another key, and the two are never mixed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.files import digest_of_data, write_text
from ablate.records.record_file import CorruptRecordError
from ablate.records.store import Store, read_bytes

FORMAT = 1


def key_of(stands_for: Mapping[str, Any]) -> str:
    """The key of a group: 16 hexadecimal digits."""
    return digest_of_data(stands_for)[:16]


def path(store: Store, key: str) -> Path:
    """The file of a group."""
    return store.root / "speed" / f"{key}.json"


def load(store: Store, key: str) -> list[dict[str, Any]]:
    """What the processes of a group have found so far; a corrupt file is set aside. Raises `StoreError`."""
    try:
        content = read_bytes(path(store, key))
        if content is None:
            return []
        data = json.loads(content)
        digest = data.pop("digest")
        if (digest, data["format"], key_of(data["stands_for"])) != (digest_of_data(data), FORMAT, key):
            raise CorruptRecordError("it is not what was written")
        processes: list[dict[str, Any]] = data["processes"]
        return processes
    except (CorruptRecordError, ValueError, KeyError, TypeError, AttributeError) as error:
        store.spoilt(path(store, key), error, [path(store, key)], ", it will be measured again")
        return []


def save(store: Store, stands_for: Mapping[str, Any], processes: Sequence[Mapping[str, Any]]) -> None:
    """Writes all processes of a group, whole or not at all. Raises `StoreError`."""
    data = {"format": FORMAT, "stands_for": stands_for, "processes": processes}
    text = json.dumps(data | {"digest": digest_of_data(data)}, indent=1, allow_nan=False)
    write_text(path(store, key_of(stands_for)), text + "\n")
