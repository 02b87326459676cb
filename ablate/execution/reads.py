"""The files that a trial opens beside its study and does not declare: an edit of them would go unnoticed."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path

KEY = "undeclared_files"
"""In the environment of a record: the files that this process had read, and the trial did not declare."""
_CODE = (".py", ".pyc", ".pyi", ".so")
_MOST = 1000


class Reads:
    """Listens, from now to the end of the process, to the opening of files below some folders."""

    def __init__(self, watched: Collection[Path]) -> None:
        """`watched` are the study and its plugins; what lies beside or below them may be data."""
        known = {str(path.resolve()) for path in watched}
        folders = {os.path.dirname(path) + os.sep for path in known}
        installed = tuple(os.path.join(prefix, "") for prefix in {sys.prefix, sys.base_prefix})
        self._seen: dict[str, None] = {}

        def hear(event: str, args: tuple[object, ...]) -> None:
            if event != "open" or len(self._seen) > _MOST or not isinstance(args[0], str):
                return
            path = os.path.abspath(args[0])
            writes = isinstance(args[1], str) and set(args[1]) & set("wax")
            ours = path in known or path.endswith(_CODE) or path.startswith(installed)
            if path.startswith(tuple(folders)) and not writes and not ours:
                self._seen[path] = None

        sys.addaudithook(hear)

    def undeclared(self, declared: Collection[str]) -> list[str]:
        """Those that are files, and not `declared`."""
        return [path for path in self._seen if path not in declared and os.path.isfile(path)]
