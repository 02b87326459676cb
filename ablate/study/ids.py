"""The id of a trial: a hash of all that its result depends on."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def trial_id(
    config: Mapping[str, Any],
    *,
    seed: int,
    stream: str,
    irrelevant: Sequence[str],
    identity: Mapping[str, str],
    sources: str,
) -> str:
    """A hash of all that the result depends on: 16 hexadecimal digits."""
    relevant = copy.deepcopy(dict(config))
    for path in irrelevant:
        *outer, last = path.split(".")
        node = relevant
        for key in outer:
            node = node.get(key, {})
        node.pop(last, None)
    content = {
        "config": relevant,
        "seed": seed,
        "stream": stream,
        "identity": dict(identity),
        "sources": sources,
    }
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()
