"""The logs that calls of ablate have written below a user's code, which are no part of it."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.base.outputs import written_by_call

_LIST = "call-logs.txt"
"""The file of a store that lists the logs of its calls, a path a line."""


def logs_among(root: Path, paths: Iterable[str], store: Path) -> frozenset[str]:
    """Returns those of the paths below a root that this call writes, or an earlier one with this store has written."""
    writing = written_by_call()
    logs = {path for path in _listed(store) if path.startswith(f"{root}{os.sep}")}
    found = {os.path.relpath(path, root) for path in logs}
    for path in paths if writing else ():
        status = os.lstat(root / path)
        if (status.st_dev, status.st_ino) in writing:
            found.add(path)
    return frozenset(found)


def list_logs(root: Path, logs: Iterable[str], store: Path) -> None:
    """Adds the logs below a root to the list of a store, where there is one that can be written."""
    before = _listed(store)
    now = dict.fromkeys([*before, *(str(root / path) for path in sorted(logs))])
    if len(now) > len(before) and store.is_dir():
        with suppress(AblateError), replacing(store / _LIST) as path:
            path.write_text("".join(f"{log}\n" for log in now if "\n" not in log))


def _listed(store: Path) -> list[str]:
    try:
        return (store / _LIST).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
