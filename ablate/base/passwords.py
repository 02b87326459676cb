"""Passwords in the URLs of storages and servers, which must not be kept or published."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(?<=://)([^\s:/@]*):[^\s/]+@")


def masked(text: str) -> str:
    """The text with the password of every URL replaced by `…`."""
    return _IN_URL.sub(r"\1:…@", text)
