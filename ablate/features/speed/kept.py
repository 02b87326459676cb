"""Kept measurements of speed: one file a group of configs that were timed beside one another.

    speed/<key>.json   what the key stands for, and what each process has found, in order

The key stands for the configs with their sources, the calls, the machine and the versions: a measurement that was taken
under others has another key, and the two are never mixed.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.errors import StoreError
from ablate.base.files import digest_of_data, write_text
from ablate.records.environment import machine, versions

FORMAT = 1
_FOLDER = "speed"


def here() -> dict[str, Any]:
    """The machine, its GPUs and the versions that a measurement is taken under."""
    own = {name: versions()[name] for name in ("python", "torch") if name in versions()}
    return {"machine": machine(), "node": platform.node(), "gpus": gpus(), "versions": own}


def gpus(driver: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """The models that the driver lists, and which of them are visible; torch would take one over to say so."""
    files = sorted(driver.glob("*/information"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return [*models, *filter(None, [os.environ.get("CUDA_VISIBLE_DEVICES")])]


def place(files: Sequence[str]) -> dict[str, Any] | None:
    """Speed is that of one machine."""
    return here() if any(Path(file).parts[-3:-1] == ("store", _FOLDER) for file in files) else None


class Measurements:
    """The processes of groups by key, under `root/speed`; a corrupt file is set aside with a warning."""

    def __init__(self, root: Path, warn: Callable[[str], None] = lambda message: None) -> None:
        self.folder, self.warn = root / _FOLDER, warn

    def path(self, key: str) -> Path:
        """The file of a group."""
        return self.folder / f"{key}.json"

    @staticmethod
    def key(stands_for: Mapping[str, Any]) -> str:
        """The key of a group: 16 hexadecimal digits."""
        return digest_of_data(stands_for)[:16]

    def load(self, key: str) -> list[dict[str, Any]]:
        """What the processes of a group have found so far. Raises `StoreError`."""
        path = self.path(key)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            digest = data.pop("digest")
            if digest != digest_of_data(data) or data["format"] != FORMAT:
                raise ValueError("it is not what was written")
            if self.key(data["stands_for"]) != key:
                raise ValueError("it holds another measurement")
            processes: list[dict[str, Any]] = data["processes"]
            return processes
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            numbered = (path.with_name(f"{key}.corrupt-{number}") for number in itertools.count(1))
            aside = next(file for file in numbered if not file.exists())
            try:
                path.replace(aside)
            except OSError as fixed:
                rule = f"is corrupt and cannot be set aside: {fixed.strerror}"
                raise StoreError(f"{path}: {rule}; choose another --results") from fixed
            self.warn(f"{path} is corrupt ({error}); set aside as {aside.name}, it will be measured again")
            return []

    def save(self, stands_for: Mapping[str, Any], processes: Sequence[Mapping[str, Any]]) -> None:
        """Writes all processes of a group, whole or not at all. Raises `StoreError`."""
        data = {"format": FORMAT, "stands_for": stands_for, "processes": processes}
        text = json.dumps(data | {"digest": digest_of_data(data)}, indent=1, allow_nan=False)
        write_text(self.path(self.key(stands_for)), text + "\n")
