"""How a trial's program, settings and seed reach a user's code: by its command line, or by its environment."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath

from ablate.base.errors import Invalid, nearest

_RUNS_SCRIPTS = re.compile(r"(python|pypy)[\d.]*|(ba|da|z)?sh|torchrun|accelerate|deepspeed|uv")
"""Names of programs that run the script which follows them."""
_SCRIPTS = (".py", ".sh")
_NO_SCRIPT = re.compile(r"-[a-z]*[mc]")
"""Options behind which a module or code follows, and no script."""
_CONFIG = re.compile(rb"ABLATE_(?!DIR|SEED)")
_SEED = re.compile(rb"ABLATE_(?!DIR|CONFIG)")
Reads = Callable[[Iterable[Path], Sequence[str]], bool]
"""Tells whether one of some files, or a word of a command, may read something from the environment."""
_MAX_BYTES = 2**20
"""The size of a file above which it is taken for data, and not searched for names."""


def check_program(words: Sequence[str], folder: Path, place: str) -> None:
    """Raises `Invalid` where a command names a script that is not in the folder of the study.

    place: the key of the study that names it.
    """
    for script in _scripts(words):
        check_exists(script, folder, place)


def check_exists(name: str, folder: Path, place: str) -> None:
    """Raises `Invalid` for a file that is not there, with the nearest that is."""
    file = folder / name
    if file.exists():
        return
    neighbours = sorted(other.name for other in file.parent.glob(f"*{file.suffix}"))
    where = "your folder" if file.parent == folder else str(PurePath(name).parent)
    raise Invalid(place, f"{where} has no {file.name}", hint=nearest(file.name, neighbours))


def _scripts(words: Sequence[str]) -> list[str]:
    """Returns the script that a command runs: its first word, or the one behind a program that runs scripts."""
    is_run = False
    for index, word in enumerate(words):
        if word.endswith(_SCRIPTS) and (is_run or index == 0):
            return [word]
        if is_run and _NO_SCRIPT.fullmatch(word):
            return []
        is_run = is_run or _RUNS_SCRIPTS.fullmatch(PurePath(word).name) is not None
    return []


def may_read_config(files: Iterable[Path], words: Sequence[str]) -> bool:
    """Returns whether one of the files, or a word of a command, may read the config of a trial from its environment."""
    return _mention(files, words, _CONFIG)


def may_read_seed(files: Iterable[Path], words: Sequence[str]) -> bool:
    """Returns whether one of the files, or a word of a command, may read the seed of a trial from its environment."""
    return _mention(files, words, _SEED)


def _mention(files: Iterable[Path], words: Sequence[str], name: re.Pattern[bytes]) -> bool:
    """Returns whether a file or a word has a name in it; True where a file cannot be read."""
    if any(name.search(os.fsencode(word)) for word in words):
        return True
    for file in files:
        try:
            if file.stat().st_size <= _MAX_BYTES and name.search(file.read_bytes()):
                return True
        except OSError:
            return True
    return False
