"""The files of a user's program, as far as its source shows them, and lock files."""

import ast
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from glob import glob
from pathlib import Path

from ablate.base.files import NotReadableError, read_plain
from ablate.base.plugins import named_by
from ablate.external.notebook import SUFFIX, script_of
from ablate.external.script import UNREADABLE, parsed_source

LOCKS = (
    *("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "Pipfile.lock", "pylock*.toml", "requirements*.txt"),
    *("conda-lock.yml", "environment.yml", "environment.yaml"),
)
MAX_SOURCE = 10 * 2**20  # Bytes of a file of Python.
# Words of a command with these ends are part of the program; other files may be its data or its results.
PROGRAM = (".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini")


def program_of(words: Sequence[str], folder: Path) -> dict[str, str]:
    """Returns name → place of the files that a command names, and of the user's modules that they import."""
    program: dict[str, str] = {}
    for entry in entries_of(words, folder):
        for module, file in files_imported_by(entry, folder).items():
            program[f"{entry.name} {module}"] = file
    return program


def entries_of(words: Sequence[str], folder: Path) -> list[Path]:
    """Returns the files of a program that the words of a command name, as paths or as modules."""
    parts: list[str] = []
    for word in words:
        parts += re.split("[=:]", word)
    named = [part for part in parts if part.endswith(PROGRAM)]
    named += [f"{part.replace('.', '/')}.py" for part in parts]
    return [folder / name for name in named if os.path.isfile(folder / name)]


def files_imported_by(entry: Path, folder: Path) -> dict[str, str]:
    """Returns module → file of the user's modules that a file of a program imports, itself among them.

    They are beside the file, or found from the folder in which it runs.
    """
    module = os.path.relpath(entry, folder).removesuffix(".py").replace(os.sep, ".")
    modules = named_by(folder / entry.name, [module]) | named_by(entry)
    return {module: file for module, file in modules.items() if os.path.isfile(file)}


def locks_of(folder: Path) -> dict[str, str]:
    """Returns name → place of the lock files in a folder, whether or not they are tracked."""
    locks: dict[str, str] = {}
    for pattern in LOCKS:
        for path in sorted(glob(pattern, root_dir=folder)):
            if os.path.isfile(folder / path):
                locks[path] = str(folder / path)
    return locks


def parsed(file: Path) -> ast.Module:
    """Returns the syntax tree of a file, of a notebook that of its cells; an empty one where it is not Python."""
    try:
        return _tree_of(read_plain(file, MAX_SOURCE), is_notebook=file.suffix == SUFFIX)
    except (NotReadableError, *UNREADABLE):
        return ast.Module([], [])


@lru_cache(maxsize=200)
def _tree_of(source: bytes, *, is_notebook: bool) -> ast.Module:
    """Returns the syntax tree of a source, which nobody changes. Raises one of `UNREADABLE`."""
    return parsed_source(script_of(source).source if is_notebook else source)
