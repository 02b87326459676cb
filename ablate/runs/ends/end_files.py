"""Files of the folder of a run whose name or one word says how it ended: `FAILED`, `.exitcode`, `status.txt`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import read_plain
from ablate.core.ending import FAILED, Ending, ending_of_error
from ablate.runs.ends.status_words import ending_in_word
from ablate.runs.ends.statuses import ending_of_fields, more_telling
from ablate.runs.run_tree import RunFolder

_MAX_BYTES = 2**26
_CODES = re.compile(r"\.?(?:exit|return)[-_]?(?:code|status)(?:\.txt)?")
"""The names of files with nothing but the code with which a process ended, as Nextflow's `.exitcode`."""
_STATUSES = re.compile(r"\.?(?:(?:run|job|trial|task)[-_])?(?:status|state)(?:\.txt)?")
"""The names of files with nothing but a word for the end of a run."""
_SUCCESSES = re.compile(r"[._]?success(?:ful)?(?:\.txt)?")
"""The names of files with nothing but true or false, as Metaflow's `_success`."""
_ERRORS = re.compile(r"failure|error\.json")
"""The names of files that are written by a run that fails: SageMaker's `failure`, torchrun's `error.json`."""
_PLACES = (".", "output", "attempt_*/*", "*/attempt_*/*")
"""Where below the folder of a run such files are: SageMaker's output, torchrun's logs of each attempt and rank."""


def end_in_files(folder: RunFolder) -> Ending | None:
    """Returns what files with one word, one code, an error or nothing say of the end of a run; None for nothing."""
    endings = []
    for file in files_of(folder.path):
        if file not in folder.results and file not in folder.configs:
            endings.append(_end_in(file))
    errors = [file for place in _PLACES for file in _files_of_last(folder.path, place)]
    endings += [_end_by_error(file) for file in errors if _ERRORS.fullmatch(file.name.lower())]
    known = [ending for ending in endings if ending is not None and ending.kind != "unknown"]
    return reduce(more_telling, known) if known else None


def unmarked_ends(folders: Sequence[RunFolder]) -> Mapping[Path, Ending]:
    """Returns folder → ending of the runs that lack a file which marks completed runs, and at least half of them have.

    They are taken for stopped. No run is where fewer have such a file.
    """
    marks: dict[str, set[Path]] = {}
    for folder in folders:
        for file in [] if folder.is_file else files_of(folder.path):
            ending = _end_by_name(file)
            if ending is not None and ending.kind == "completed":
                marks.setdefault(file.name, set()).add(folder.path)
    for mark, paths in marks.items():
        others = [folder.path for folder in folders if folder.path not in paths]
        if len(paths) > 1 and len(paths) >= len(others):
            return dict.fromkeys(
                others, Ending("stopped", "ended without a file that others have", f"no {mark}")
            )
    return {}


def _end_in(file: Path) -> Ending | None:
    """Returns what a file with one word or code says, or its name where it has the name of an end."""
    name = file.name.lower()
    if _CODES.fullmatch(name):
        return ending_of_fields({"exit_code": text_of(file).strip()}, file.name)
    if _STATUSES.fullmatch(name):
        return ending_of_fields({"status": text_of(file).strip()}, file.name)
    if _SUCCESSES.fullmatch(name):
        said = ending_of_fields({"completed": text_of(file).strip()}, file.name)
        return said if said.kind != "unknown" else _end_by_name(file)
    return _end_by_name(file)


def _end_by_name(file: Path) -> Ending | None:
    """Returns what the name of an empty file says, or one in capital letters without an ending: `FAILED`."""
    stem = file.name.strip("._").removesuffix(".txt")
    is_mark = file.stat().st_size == 0 or (stem.isupper() and file.suffix == "")
    ending = ending_in_word(stem) if is_mark and stem.replace("_", "").isalpha() else None
    return None if ending is None else replace(ending, source=file.name)


def _end_by_error(file: Path) -> Ending | None:
    """Returns the end of a run that has left a file with its error; None where the file holds none."""
    text = text_of(file).strip()
    if file.suffix == ".json":
        document: object = None
        with suppress(ValueError, RecursionError):
            document = json.loads(text)
        if not isinstance(document, Mapping) or "message" not in document:
            return None
    return ending_of_error(text, file.name) if text else replace(FAILED, source=file.name)


def _files_of_last(folder: Path, place: str) -> list[Path]:
    """Returns the files in folders below one; of several attempts those of the last."""
    if "attempt" not in place:
        return files_of(folder / place)
    ranks = [path for path in sorted(folder.glob(place)) if path.is_dir()]
    last = max((_attempt(path) for path in ranks), default=0)
    return [file for path in ranks if _attempt(path) == last for file in files_of(path)]


def _attempt(rank: Path) -> int:
    number = rank.parent.name.removeprefix("attempt_")
    return int(number) if number.isdecimal() else 0


def files_of(folder: Path) -> list[Path]:
    """Returns the plain files in a folder by name; none where it cannot be read."""
    with suppress(OSError):
        return sorted(file for file in folder.iterdir() if file.is_file())
    return []


def text_of(file: Path) -> str:
    """Returns the text of a file; none of one that is not there, or cannot be read."""
    with suppress(AblateError):
        return read_plain(file, _MAX_BYTES).decode(errors="replace")
    return ""
