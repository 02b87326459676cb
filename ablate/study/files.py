"""The files of data that a config's trials read: those that it names, and those that its parts declare."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError


def named_files(config: Any) -> Iterator[DataFile]:
    """Every `DataFile` in a validated config."""
    if isinstance(config, DataFile):
        yield config
    elif isinstance(config, BaseModel):
        yield from named_files([getattr(config, name) for name in type(config).model_fields])
    elif isinstance(config, Mapping):
        yield from named_files(list(config.values()))
    elif isinstance(config, (list, tuple)):
        yield from itertools.chain.from_iterable(map(named_files, config))


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
