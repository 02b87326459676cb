"""Passwords in URLs, of a storage or a server: nothing that is kept or published may hold one."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(?<=://)([^\s:/@]*):[^\s/]+@")


def masked(text: str) -> str:
    """The text with `…` for the password of every URL in it."""
    return _IN_URL.sub(r"\1:…@", text)
