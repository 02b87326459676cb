"""Digests by which a file is known again: they tell of accidents and edits, and are no signatures."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest_of(*contents: bytes) -> str:
    """Of the contents, one after the other: 32 hexadecimal digits."""
    code = hashlib.blake2b(digest_size=16)
    for content in contents:
        code.update(content)
    return code.hexdigest()


def digest_of_data(data: Any) -> str:
    """Of plain data, the same before it is written as JSON and after it is read: floats are written exactly."""
    # Through JSON once, which makes text of keys that are numbers, and then sorts them as such.
    return digest_of(json.dumps(json.loads(json.dumps(data)), sort_keys=True).encode())
