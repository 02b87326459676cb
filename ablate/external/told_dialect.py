"""The dialect of a user's program, as its study or its source tells it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from ablate.base.wording import joined
from ablate.external.dialect import NOTATIONS, Dialect
from ablate.external.sources import entries_of, files_imported_by, parsed


@dataclass(frozen=True)
class ToldDialect:
    """The dialect of a program, where it is known, and what tells it."""

    dialect: Dialect | None
    source: str
    """Words that follow the name of the dialect; without one, what there is instead; empty where nothing is."""


@dataclass(frozen=True)
class _Import:
    """An import of a library that parses command lines."""

    dialect: Dialect
    module: str
    place: str
    """`train.py:3`."""


def told_dialect(words: Sequence[str], folder: Path) -> ToldDialect:
    """Returns the dialect that the Python files of a command import; without one there, what their imports import.

    Where two are imported, nobody knows which of them reads the command. words: those of a command, before it is filled
    in; folder: in which it runs.
    """
    scripts = [word for word in words if word.endswith(".py")]
    # A word such as a subcommand may be a module, too.
    entries = [entry for entry in entries_of(scripts or words, folder) if entry.suffix == ".py"]
    imports = list(_imports(entries))
    if not imports:
        beside: dict[Path, None] = {}
        for entry in entries:
            beside |= dict.fromkeys(map(Path, files_imported_by(entry, folder).values()))
        imports = list(_imports(beside))
    dialects = list(dict.fromkeys(found.dialect for found in imports))
    if not dialects:
        return ToldDialect(None, "")
    if len(dialects) > 1:
        return ToldDialect(None, joined([f"{found.module} at {found.place}" for found in imports]))
    first = imports[0]
    return ToldDialect(first.dialect, f"{first.place} imports {first.module}")


def always_true(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yields the options of argparse to which every text is true, with their places: `--amp`, `train.py:4`."""
    for file in files:
        for node in ast.walk(parsed(file)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr != "add_argument" or not any(_is_bool(keyword) for keyword in node.keywords):
                continue
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value), f"{file.name}:{node.lineno}"


def _is_bool(keyword: ast.keyword) -> bool:
    """Returns whether an argument is `type=bool`."""
    return keyword.arg == "type" and isinstance(keyword.value, ast.Name) and keyword.value.id == "bool"


def options_with(setting: str, words: Sequence[str]) -> Iterator[str]:
    """Yields the options of a command that get a setting without a format: `--amp={amp}`, `--amp {amp}`."""
    placeholder = f"{{{setting}}}"
    for before, word in pairwise(["", *words]):
        if word == placeholder:
            yield before
        elif word.endswith(f"={placeholder}"):
            yield word.partition("=")[0]


def _imports(files: Iterable[Path]) -> Iterator[_Import]:
    """Yields the first import of each dialect in each of some files."""
    for file in files:
        lines: dict[Dialect, _Import] = {}
        for module, line in _modules(parsed(file)):
            dialect = _dialect_of(module)
            if dialect is not None and dialect not in lines:
                lines[dialect] = _Import(dialect, module.partition(".")[0], f"{file.name}:{line}")
        yield from lines.values()


@lru_cache(maxsize=1000)
def _dialect_of(module: str) -> Dialect | None:
    """Returns the dialect that a module belongs to."""
    for dialect, notation in NOTATIONS.items():
        if any(f"{module}.".startswith(f"{name}.") for name in notation.modules):
            return dialect
    return None


def _modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yields the modules that a file imports, and the names that it takes from them, with their lines, in order."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(nodes, key=lambda node: node.lineno):
        for alias in node.names:
            if isinstance(node, ast.Import):
                yield alias.name, node.lineno
            elif not node.level and node.module:
                yield f"{node.module}.{alias.name}", node.lineno
