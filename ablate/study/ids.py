"""The id of a trial: a hash of all that its result depends on."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.files import digest_of_file
from ablate.base.registry import PartConfig
from ablate.core.trial import identified
from ablate.core.workload import Workload
from ablate.study.designs.design import Config
from ablate.study.patch import key_of
from ablate.study.schema import config_model
from ablate.study.sources import source_digest


@dataclass(frozen=True)
class Identity:
    """What the id of a config's trials stands for beside the config itself, seed and stream."""

    content: Mapping[str, Any]
    """Versions, device type and dtype, as the workload gives them; the digest of the source that trains the config; and
    of the files that its parts declare, which it does not name, name and digest."""
    files: Mapping[str, str]
    "The files of data that it reads: place → digest of the content."


class TrialIds:
    """The id of each trial; `ignored` are paths of the config that are left out of it, beside those of the workload."""

    def __init__(self, workload: Workload, ignored: Sequence[str] = ()) -> None:
        self.workload = workload
        self.irrelevant = (*workload.irrelevant(), *ignored)
        self.model = config_model(workload)
        self.known: dict[str, Identity] = {}
        self.digests: dict[tuple[Any, ...], str] = {}

    def identity(self, config: Config) -> Identity:
        """Of a resolved config. Raises `AblateError` when a file of data cannot be read."""
        key = key_of(config)
        if key not in self.known:
            parsed = self.model.model_validate(config)
            values = [*values_in(parsed)]
            parts = [type(value).part for value in values if isinstance(value, PartConfig)]
            roots = (*self.workload.sources(parsed), *parts)
            if roots not in self.digests:
                self.digests[roots] = source_digest(roots, [type(self.workload), *parts])
            declared = dict(declared_files(dict.fromkeys([type(self.workload), *parts])))
            named = [str(value) for value in values if isinstance(value, DataFile)]
            places = dict.fromkeys([*named, *declared.values()])
            files = {place: digest_of_file(place) for place in places}
            content: dict[str, Any] = {
                "identity": dict(self.workload.identity(config)),
                "sources": self.digests[roots],
            }
            if declared:
                content["files"] = [(name, files[place]) for name, place in declared.items()]
            self.known[key] = Identity(content, files)
        return self.known[key]

    def __call__(self, config: Config, seed: int, stream: str) -> str:
        """The id of the trial that trains a resolved config under a seed: 16 hexadecimal digits."""
        identity = self.identity(config)
        content = {
            "config": identified(config, self.irrelevant, identity.files),
            "seed": seed,
            "stream": stream,
            **identity.content,
        }
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def values_in(config: Any) -> Iterator[Any]:
    """A validated config and everything inside it: sections, parts, files, numbers."""
    yield config
    inside: Iterable[Any] = config if isinstance(config, (list, tuple)) else ()
    if isinstance(config, BaseModel):
        inside = (getattr(config, name) for name in type(config).model_fields)
    elif isinstance(config, Mapping):
        inside = config.values()
    for value in inside:
        yield from values_in(value)


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
