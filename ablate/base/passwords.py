"""Passwords and tokens in the URLs of storages and servers, which must not be kept, shown or published."""

from __future__ import annotations

import re
from typing import Any

# The first `@` ends the password, or the last one before the path does.
_IN_AUTHORITY = re.compile(r"(?<=://)([^\s:/@?#'\"]*):(?:[^\s/?#]+|[^\s@]*)@")
_ALONE = re.compile(r"(?<=https://|.http://)[^\s:/@?#'\"]{20,}@")
"""A token in the place of a user: no name of a user is so long."""
_IN_QUERY = re.compile(
    r"(?<=[?&;#])([\w.%-]*(?:pass|pwd|token|secret|credential|(?:api|access|account)[_-]?key|signature)[\w.%-]*"
    r"|auth|authorization|odbc_connect|sig)=[^\s&;#'\"]*[^\s&;#'\"),.:]",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """The text with the password of every URL, and the value of each secret in its query, replaced by `…`."""
    text = _IN_AUTHORITY.sub(r"\1:…@", text)
    return _IN_QUERY.sub(r"\1=…", _ALONE.sub("…@", text))


def masked_inside(value: Any) -> Any:
    """Plain data with every text in it masked."""
    if isinstance(value, dict):
        return {key: masked_inside(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked_inside(item) for item in value]
    return masked(value) if isinstance(value, str) else value
