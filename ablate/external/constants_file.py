"""Files whose constants a study gives other values: Python, TOML, notebooks."""

from __future__ import annotations

import ast
import copy
import tomllib
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, ClassVar

from ablate.base.errors import Invalid, listed
from ablate.external import notebook
from ablate.external.given import settings_of
from ablate.external.places import PLACES, NamedConstants, ParametersCell, Place, TopLevel
from ablate.external.script import UNREADABLE, applied, explained, parsed_source
from ablate.external.toml import has_null, toml_text


class ConstantsFile(NamedConstants):
    """A file with constants."""

    language: ClassVar[str]

    def __init__(self, name: str, source: bytes) -> None:
        """name: its path from the study's folder. Raises one of `UNREADABLE`."""
        self.name = name
        self.source = source

    @property
    def written_as(self) -> str:
        """The path at which its copy with other values is written."""
        return self.name

    @property
    def left_out(self) -> tuple[str, ...]:
        """The lines that the copy lacks."""
        return ()

    @abstractmethod
    def edited(self, values: Mapping[str, object]) -> bytes:
        """Returns the file with other values of constants that have no fault. Raises one of `UNREADABLE`."""

    def replaced_at_start(self, paths: Collection[str]) -> list[str]:
        """Returns the constants that can be replaced when the file is run, without a copy of the user's folder."""
        return []

    def constants(self, settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yields path and value of the settings, as the file has them: a section is a constant, or holds some."""
        for key, value in settings.items():
            path = f"{prefix}{key}"
            if isinstance(value, dict) and value and not self.has(path):
                yield from self.constants(value, f"{path}.")
            else:
                yield path, value


class PythonFile(ConstantsFile):
    """A file of Python: names of its top level, fields of classes, defaults of options."""

    language = "Python"

    def __init__(self, name: str, source: bytes) -> None:
        super().__init__(name, source)
        self._places = self.places(parsed_source(source))

    def places(self, tree: ast.Module) -> list[Place]:
        """Returns the places of constants in a syntax tree."""
        return [kind(tree, PurePath(self.name).name) for kind in PLACES]

    def paths(self) -> list[str]:
        paths: list[str] = []
        for place in self._places:
            paths += place.paths()
        return list(dict.fromkeys(paths))

    def has(self, path: str) -> bool:
        return any(place.has(path) for place in self._places)

    def fault(self, path: str, value: object) -> str:
        return _place_of(path, self._places).fault(path, value)

    def edited(self, values: Mapping[str, object]) -> bytes:
        tree = parsed_source(self.source)
        places = self.places(tree)
        edits = [_place_of(path, places).edit(path, value) for path, value in values.items()]
        return applied(self.source, tree, edits)

    def replaced_at_start(self, paths: Collection[str]) -> list[str]:
        return [path for path in paths if isinstance(_place_of(path, self._places), TopLevel)]


class NotebookFile(PythonFile):
    """A notebook, which runs as a script of its code cells: names of the cell that is tagged `parameters`."""

    language = "a notebook"

    def __init__(self, name: str, source: bytes) -> None:
        script = notebook.script_of(source)
        self._left_out = script.left_out
        self._parameters = script.parameters
        super().__init__(name, script.source)

    @property
    def written_as(self) -> str:
        return f"{self.name}.py"

    @property
    def left_out(self) -> tuple[str, ...]:
        return self._left_out

    def places(self, tree: ast.Module) -> list[Place]:
        return [ParametersCell(tree, PurePath(self.name).name, self._parameters)]

    def replaced_at_start(self, paths: Collection[str]) -> list[str]:
        return []


class TomlFile(ConstantsFile):
    """A file of TOML: its keys, those of tables by their dotted paths."""

    language = "TOML"

    def __init__(self, name: str, source: bytes) -> None:
        super().__init__(name, source)
        self._content = tomllib.loads(source.decode())

    def paths(self) -> list[str]:
        return [path for path, value in settings_of(self._content) if not isinstance(value, dict)]

    def has(self, path: str) -> bool:
        return path in self.paths()

    def fault(self, path: str, value: object) -> str:
        if not self.has(path):
            return f"is no key of {self.name}"
        if has_null(value):
            return f"is null, or has one in it, which {self.name} cannot hold"
        return ""

    def edited(self, values: Mapping[str, object]) -> bytes:
        content = copy.deepcopy(self._content)
        for path, value in values.items():
            *tables, key = path.split(".")
            table = content
            for name in tables:
                table = table[name]
            table[key] = value
        return toml_text(content).encode()


FORMATS: dict[str, type[ConstantsFile]] = {
    ".py": PythonFile,
    notebook.SUFFIX: NotebookFile,
    ".toml": TomlFile,
}
"""Suffix → the kind of a file that has constants."""


@lru_cache(maxsize=16)
def constants_file(name: str, source: bytes) -> ConstantsFile:
    """Returns a file with constants, by its suffix. Raises `Invalid`."""
    suffix = PurePath(name).suffix.lower()
    kind = FORMATS.get(suffix)
    if kind is None:
        hint = "Of JSON and YAML, make a template, and name it under `files:`"
        raise Invalid("", "has no constants that are known by name", name, listed(FORMATS), hint)
    try:
        return kind(name, source)
    except UNREADABLE as error:
        raise Invalid("", f"cannot be read as {kind.language}: {explained(error)}", name) from None


def _place_of(path: str, places: Sequence[Place]) -> Place:
    """Returns the first place that has a constant; without one the first of all, which says so."""
    return next((place for place in places if place.has(path)), places[0])
