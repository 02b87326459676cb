"""The id of a trial: a hash of all that its result depends on."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ablate.core.workload import Workload
from ablate.study.designs import Config
from ablate.study.load import parts_of
from ablate.study.patch import key_of
from ablate.study.schema import config_model
from ablate.study.sources import source_digest


class TrialIds:
    """The id of each trial; `ignored` are paths of the config that are left out of it, beside those of the workload."""

    def __init__(self, workload: Workload, ignored: Sequence[str] = ()) -> None:
        self.workload = workload
        self.irrelevant = (*workload.irrelevant(), *ignored)
        self.model = config_model(workload)
        self.known: dict[str, tuple[Mapping[str, str], str]] = {}
        self.digests: dict[tuple[Any, ...], str] = {}

    def __call__(self, config: Config, seed: int, stream: str) -> str:
        """The id of the trial that trains a resolved config under a seed: 16 hexadecimal digits."""
        key = key_of(config)
        if key not in self.known:
            parsed = self.model.model_validate(config)
            parts = [type(part).part for part in parts_of(parsed)]
            roots = (*self.workload.sources(parsed), *parts)
            if roots not in self.digests:
                self.digests[roots] = source_digest(roots, [type(self.workload), *parts])
            self.known[key] = (self.workload.identity(config), self.digests[roots])
        identity, sources = self.known[key]
        relevant = copy.deepcopy(config)
        for path in self.irrelevant:
            *outer, last = path.split(".")
            functools.reduce(lambda node, step: node.get(step, {}), outer, relevant).pop(last, None)
        content = {
            "config": relevant,
            "seed": seed,
            "stream": stream,
            "identity": dict(identity),
            "sources": sources,
        }
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
