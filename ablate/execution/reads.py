"""The files that a trial opens beside its study and does not declare: an edit of them would go unnoticed."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

KEY = "undeclared_files"
"""In the environment of a record: the files that this process had read, and the trial did not declare."""
_CODE = (".py", ".pyc", ".pyi", ".so")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_MOST = 1000


class Reads:
    """Listens, from now to the end of the process, to the opening of files below some folders."""

    def __init__(self, watched: Collection[Path]) -> None:
        """`watched` are the study and its plugins; what lies beside or below them may be data."""
        known = {os.path.realpath(path) for path in watched}
        folders = tuple({os.path.join(os.path.dirname(path), "") for path in known})
        installed = tuple(
            os.path.join(os.path.realpath(prefix), "") for prefix in {sys.prefix, sys.base_prefix}
        )
        self._seen: dict[str, None] = {}
        self._declared: set[str] = set()

        def hear(event: str, args: tuple[Any, ...]) -> None:
            if (
                event != "open"
                or len(self._seen) > _MOST
                or not isinstance(args[0], str)
                or args[2] & _WRITES
            ):
                return
            path = os.path.realpath(args[0])
            ours = path in known or path.endswith(_CODE) or path.startswith(installed)
            if path.startswith(folders) and not ours and f"{os.sep}." not in path:
                self._seen[path] = None

        sys.addaudithook(hear)

    def undeclared(self, declared: Collection[str]) -> list[str]:
        """The files that were read so far, and not `declared`, now or before."""
        self._declared.update(map(os.path.realpath, declared))
        return [path for path in self._seen if path not in self._declared and os.path.isfile(path)]
