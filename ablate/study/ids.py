"""The id of a trial: a hash of all that its result depends on, the source that it uses included.

How that source is found and hashed is in `ablate.study.sources`.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.files import digest_of_file
from ablate.base.registry import PartConfig
from ablate.core.trial import identified
from ablate.core.workload import Workload
from ablate.study.designs import Config
from ablate.study.patch import key_of
from ablate.study.schema import config_model
from ablate.study.sources import source_digest


@dataclass(frozen=True)
class Identity:
    """Everything that the ids of a config's trials stand for, beside seed and stream."""

    # The config; versions, device type and dtype, as the workload gives them; the digest of the source that trains the
    # config; and name and digest of the files that its parts declare and it does not name.
    content: bytes
    # The files of data that it reads: place → digest of the content.
    files: Mapping[str, str]

    def __call__(self, seed: int, stream: str) -> str:
        """Returns the id of the trial under a seed: 16 hexadecimal digits."""
        return hashlib.blake2b(self.content + f"{seed} {stream}".encode(), digest_size=8).hexdigest()


class TrialIds:
    """The id of each trial; `ignored` are paths of the config that are left out of it, beside those of the workload."""

    def __init__(self, workload: Workload, ignored: Sequence[str] = ()) -> None:
        self.workload = workload
        self.irrelevant = (*workload.irrelevant(), *ignored)
        self._model = config_model(workload)
        self._identities: dict[str, Identity] = {}
        self._source_digest = functools.cache(source_digest)

    def identity(self, config: Config) -> Identity:
        """Returns what the ids of a resolved config's trials stand for.

        Raises `AblateError` when a file of data cannot be read.
        """
        key = key_of(config)
        if key not in self._identities:
            self._identities[key] = self._identified(config)
        return self._identities[key]

    def _identified(self, config: Config) -> Identity:
        parsed = self._model.model_validate(config)
        values = list(values_in(parsed))
        parts = [type(value).part for value in values if isinstance(value, PartConfig)]
        # The name of a file that parts declare → its place.
        declared = dict(declared_files(dict.fromkeys([type(self.workload), *parts])))
        declared.update(self.workload.files(config))
        places = [str(value) for value in values if isinstance(value, DataFile)]
        places += declared.values()
        digests = {place: digest_of_file(place) for place in dict.fromkeys(places)}
        sources = (*self.workload.sources(parsed), *parts)
        content = {
            "config": identified(config, self.irrelevant, digests),
            "identity": dict(self.workload.identity(config)),
            "sources": self._source_digest(sources),
            "files": [(name, digests[place]) for name, place in declared.items()],
        }
        return Identity(key_of(content).encode(), digests)


def values_in(config: object) -> Iterator[object]:
    """Yields a validated config and everything inside it: sections, parts, files, numbers."""
    yield config
    inside: Iterable[object] = ()
    if isinstance(config, BaseModel):
        values = dict(config)
        inside = [values[name] for name in type(config).model_fields]
    elif isinstance(config, Mapping):
        inside = config.values()
    elif isinstance(config, (list, tuple)):
        inside = config
    for value in inside:
        yield from values_in(value)


def declared_files(owners: Iterable[type]) -> Iterator[tuple[str, str]]:
    """Yields name and place of the files in the attribute `data_files` of parts and workloads.

    The attribute has paths relative to the file of the class. Raises `AblateError` for a file that is not there.
    """
    for owner in owners:
        for name in getattr(owner, "data_files", ()):
            path = Path(inspect.getfile(owner)).resolve().parent / name
            if not path.is_file():
                where = f"{owner.__module__}.{owner.__qualname__}.data_files"
                raise AblateError(f"{where}: there is no file {path}; restore it, or correct the path")
            # Of a file elsewhere the place is no part of an id, as it is none of a `DataFile`.
            file_name = path.name if Path(name).is_absolute() else name
            yield f"{owner.__qualname__} {file_name}", str(path)
