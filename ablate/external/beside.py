"""What a command names of the machine beside the code and data of its study: paths elsewhere, and variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from ablate.external.command import split
from ablate.external.kinds import is_document, is_of_environment
from ablate.external.tree import root_of

_PATH = re.compile(r"(?<![\w./~$:-])/[\w.@+-]+(?:/[\w.@+-]+)+")
"""An absolute path of two parts or more."""
_FILE = re.compile(r"[\w./@+-]+")
_STATEMENT = re.compile(r"&&|\|\||[;|\n]|\b(?:do|then|else)\b")
_REFERENCE = re.compile(r"\$(?:\{[#!]?)?([A-Za-z_]\w*)")
_ASSIGNED = re.compile(
    r"(?:^|\s)(?:(?:for|read|local|declare|typeset)\s+(?:-\w+\s+)*([A-Za-z_]\w*)|([A-Za-z_]\w*)=)"
)
_OF_SHELLS = re.compile(r"BASH\w*|RANDOM|SECONDS|LINENO|OPTARG|OPTIND|IFS|PIPESTATUS|FUNCNAME|E?UID|PPID|_")
_MAX_BYTES = 2**20


def paths_beside(command: str | Sequence[str], folder: Path, data: Sequence[str]) -> list[str]:
    """Returns the absolute paths of a command outside of the root of the code, and of its data, where something is.

    Left out are programs: the first word, and what lies in an environment. Raises `ValueError` for a command that
    cannot be split.
    """
    root = root_of(folder)
    known = [root, *(Path(os.path.normpath(folder / name)) for name in data)]
    paths: dict[str, None] = {}
    for word in split(command)[1:]:
        for path in _PATH.findall(word):
            place = Path(os.path.normpath(path))
            is_program = is_of_environment(path, Path("/")) or (place.is_file() and os.access(place, os.X_OK))
            if place.exists() and not is_program and not any(place.is_relative_to(other) for other in known):
                paths[path] = None
    return list(paths)


def variables_of_shell(text: str) -> set[str]:
    """Returns the variables that a text of a shell reads before it gives them a value."""
    assigned: set[str] = set()
    read: set[str] = set()
    for statement in _statements(text):
        given = {loop or plain for loop, plain in _ASSIGNED.findall(statement)}
        loops = {loop for loop, _ in _ASSIGNED.findall(statement) if loop}
        read |= {*_REFERENCE.findall(statement)} - assigned - loops
        assigned |= given
    return {name for name in read if not _OF_SHELLS.fullmatch(name)}


def _statements(text: str) -> Iterator[str]:
    """Yields the statements of a text of a shell, without comments and texts in single quotes."""
    for line in text.splitlines():
        plain = re.sub(r"'[^']*'|(?:^|\s)#.*", " ", line)
        yield from _STATEMENT.split(plain)


def documents_named(files: Sequence[Path], words: Sequence[str], folder: Path) -> list[Path]:
    """Returns the documents below a folder that words of a command name, or scripts of a shell among its files.

    Names are read from the folder; one with a variable in it is not found.
    """
    texts = [*words, *_texts_of_scripts(files)]
    names = dict.fromkeys(name for text in texts for name in _FILE.findall(text) if is_document(name))
    places = [Path(os.path.normpath(folder / name)) for name in names]
    return [place for place in places if place.is_relative_to(folder) and place.is_file()]


def variables_of_scripts(files: Sequence[Path], words: Sequence[str]) -> set[str]:
    """Returns the variables that scripts of a shell read, and words of a command that go to one."""
    names: set[str] = set()
    for text in _texts_of_scripts(files):
        names |= variables_of_shell(text)
    for before, word in pairwise(words):
        if before.endswith("c") and before.startswith("-"):
            names |= variables_of_shell(word)
    return names


def _texts_of_scripts(files: Sequence[Path]) -> Iterator[str]:
    """Yields the texts of the scripts of a shell among files."""
    for file in files:
        if file.suffix == ".sh" and file.is_file() and file.stat().st_size <= _MAX_BYTES:
            yield file.read_text(errors="replace")
