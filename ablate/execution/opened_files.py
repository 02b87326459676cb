"""The files that a process opens below the folders of a study, some of which its trials have not declared."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

# In the environment of a record: the files that its process had read, and the trial did not declare.
UNDECLARED = "undeclared_files"
CODE = (".py", ".pyc", ".pyi", ".so")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MAX_FILES = 1000


class OpenedFiles:
    """Listens, from now to the end of the process, to the opening of files below some folders."""

    def __init__(self, watched: Collection[Path]) -> None:
        """`watched` are the study and its plugins; what lies beside or below them may be data."""
        self._watched = {os.path.realpath(path) for path in watched}
        self._folders = tuple({_as_folder(os.path.dirname(path)) for path in self._watched})
        prefixes = {sys.prefix, sys.base_prefix}
        self._installed = tuple(_as_folder(os.path.realpath(prefix)) for prefix in prefixes)
        self._opened: dict[str, None] = {}
        self._declared: set[str] = set()
        sys.addaudithook(self._on_audit_event)

    def _on_audit_event(self, event: str, arguments: tuple[object, ...]) -> None:
        """Keeps the path of a file that is opened to be read and may be data; see `sys.addaudithook`."""
        if event != "open" or len(self._opened) > MAX_FILES:
            return
        path, _mode, flags = arguments
        if not isinstance(path, str) or not isinstance(flags, int) or flags & WRITES:
            return
        path = os.path.realpath(path)
        is_code = path in self._watched or path.endswith(CODE) or path.startswith(self._installed)
        is_hidden = f"{os.sep}." in path
        if path.startswith(self._folders) and not is_code and not is_hidden:
            self._opened[path] = None

    def undeclared(self, declared: Collection[str]) -> list[str]:
        """Returns the files that were read so far, and not `declared`, now or before."""
        self._declared.update(map(os.path.realpath, declared))
        return [path for path in self._opened if path not in self._declared and os.path.isfile(path)]


def _as_folder(path: str) -> str:
    """Returns a path with a separator at its end."""
    return os.path.join(path, "")
