"""The files of the store's folder of trials: which are its own, and how to find one.

Whatever else lies there is a user's, and stays.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ablate.base.typed import at_results
from ablate.records.store import SUFFIXES

_TRIAL = re.compile(rf"([0-9a-f]{{16}})({'|'.join(map(re.escape, SUFFIXES))})")
_ASIDE = re.compile(r"[0-9a-f]{16}\.corrupt-\d+(\.\w+)?")


def whereabouts(trial_id: str, results: Path) -> str:
    """The file of a trial's record, and the command that shows it."""
    command = shlex.join(["ablate", "show", trial_id, *at_results(results)])
    return f"{results / 'store' / 'trials' / trial_id}.json; {command}"


def stored(folder: Path) -> dict[str, list[Path]]:
    """Trial id → its files, the record first; a trial without a record has not finished."""
    found: dict[str, list[Path]] = {}
    matched = [(match, path) for path in _files(folder) if (match := _TRIAL.fullmatch(path.name))]
    for match, path in sorted(matched, key=lambda each: (SUFFIXES.index(each[0][2]), each[0][1])):
        found.setdefault(match[1], []).append(path)
    return found


def set_aside(folder: Path) -> list[Path]:
    """The corrupt files of trials, under the names that nothing looks for."""
    return sorted(path for path in _files(folder) if _ASIDE.fullmatch(path.name))


def _files(folder: Path) -> Iterator[Path]:
    """The files in a folder, without links; none where there is no folder."""
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.is_file() and not path.is_symlink())
