"""The files of data that a config's trials read: those that it names, and those that its parts declare."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError


def named_files(config: Any, path: str = "") -> Iterator[tuple[str, DataFile]]:
    """Every `DataFile` in a validated config, with its dotted path; those in a list have the path of the list."""
    if isinstance(config, DataFile):
        yield path, config
    elif isinstance(config, BaseModel):
        for name in type(config).model_fields:
            yield from named_files(getattr(config, name), f"{path}.{name}" if path else name)
    elif isinstance(config, dict):
        for name, value in config.items():
            yield from named_files(value, f"{path}.{name}")
    elif isinstance(config, (list, tuple)):
        for value in config:
            yield from named_files(value, path)


def declared_files(owners: Iterable[type]) -> Iterator[tuple[str, str]]:
    """Name and place of the files in the attribute `data_files` of parts and workloads.

    The attribute has paths relative to the file of the class. Raises `AblateError` for a file that is not there.
    """
    for owner in owners:
        for name in getattr(owner, "data_files", ()):
            path = Path(inspect.getfile(owner)).resolve().parent / name
            where = f"{owner.__module__}.{owner.__qualname__}.data_files"
            if not path.is_file():
                raise AblateError(f"{where}: there is no file {path}; restore it, or correct the path")
            yield f"{owner.__qualname__} {name}", str(path)
