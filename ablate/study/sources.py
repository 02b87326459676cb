"""The source that a trial uses, found statically and hashed.

Starting from some functions and classes, the definitions that they name are followed and hashed as syntax trees without
docstrings: a comment or a new part beside an old one changes nothing, an edit of something that a trial uses changes
the hash. They are followed through the modules of `ablate`, the plugins and the packages in which parts and workloads
are registered. Other modules of the user that came with one of these count whole, since nobody can tell what of them is
used; installed packages are known by their version. The contract of workloads is not followed: what its defaults say is
in the ids beside the sources, and it trains nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ablate.base.files import digest_of_file
from ablate.base.plugins import PREFIX, files_of_plugins, imported, is_users
from ablate.core.workload import Workload

# Module and name; the name is empty for a whole module.
Symbol = tuple[str, str]

_NEVER_RUN = ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


class Root(Protocol):
    """A function or class whose source is followed."""

    __module__: str
    __qualname__: str


def source_digest(roots: Iterable[Root]) -> str:
    """Returns a hash of `definitions(roots)`, and of the modules that came with them."""
    symbols = definitions(roots)
    modules = {name: _module(name) for name in {module for module, _ in symbols}}
    texts: list[str] = []
    for module, name in symbols:
        text = modules[module].definition(name).text
        # By name and text alone: neither moving a definition nor importing it by way of another module changes it.
        if text:
            texts.append(f"{name}:{text}\n")
    for module, file in files_of_plugins(modules).items():
        if not module.startswith(PREFIX):
            texts.append(digest_of_file(file))
    return hashlib.blake2b("".join(sorted(texts)).encode(), digest_size=16).hexdigest()


def definitions(roots: Iterable[Root]) -> set[Symbol]:
    """Returns every definition that the functions and classes `roots` use, themselves included.

    Definitions are those of their own packages, of `ablate` and of the user's modules.
    """
    pending: list[Symbol] = [(root.__module__, root.__qualname__.split(".")[0]) for root in roots]
    packages = {"ablate", *[module.split(".")[0] for module, _ in pending]}

    @functools.cache
    def followed(name: str) -> _Module | None:
        file = _file(name)
        is_followed = name.split(".")[0] in packages or (file is not None and is_users(str(file)))
        return _module(name) if is_followed else None

    seen: set[Symbol] = set()
    while pending:
        symbol = pending.pop()
        module_name, name = symbol
        if symbol in seen or module_name == Workload.__module__:
            continue
        module = followed(module_name)
        if module is None:
            continue
        inner = f"{module_name}.{name}"
        if name and module.package == module_name and _file(inner):
            # `from package import module` names a whole module.
            pending.append((inner, ""))
        else:
            seen.add(symbol)
            pending += module.definition(name).uses
    return seen


def _module(name: str) -> _Module:
    """Returns a module as its file is now."""
    file = _file(name)
    if file is None:
        return _parsed(name, None, None)
    status = file.stat()
    return _parsed(name, file, (status.st_mtime_ns, status.st_size))


@functools.lru_cache(maxsize=1000)
def _parsed(name: str, file: Path | None, state: object) -> _Module:
    return _Module(name, file)


@dataclass(frozen=True)
class _Definition:
    """A name of a module: the text that it stands for, and the definitions that the text uses."""

    # Empty for a name that is imported.
    text: str
    uses: set[Symbol]


class _Module:
    """The top-level definitions of one module, and where its imported names come from."""

    def __init__(self, name: str, file: Path | None) -> None:
        self.name = name
        self.package = name if file is None or file.stem == "__init__" else name.rpartition(".")[0]
        self.definition = functools.cache(self._definition)
        self._definitions: dict[str, list[ast.stmt]] = defaultdict(list)
        self._imports: dict[str, list[Symbol]] = defaultdict(list)
        # Statements with an effect belong to everything in the module.
        self._effects: list[ast.stmt] = []
        self._never_run: list[ast.stmt] = []
        if file is not None and file.suffix == ".py":
            self._sort(ast.parse(file.read_bytes()).body)
        if "__getattr__" in self._definitions:
            # A module that resolves names lazily lists them for type checkers.
            for statement in self._never_run:
                if isinstance(statement, ast.ImportFrom):
                    self._import(statement)
        for statements in self._definitions.values():
            self._effects += [statement for statement in statements if self._is_collected(statement)]

    def _sort(self, statements: Sequence[ast.stmt]) -> None:
        """Files statements under what they do: import, define, or have an effect."""
        for statement in statements:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(statement)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._definitions[statement.name].append(statement)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                for name in _assigned(statement):
                    self._definitions[name].append(statement)
            elif isinstance(statement, ast.If) and ast.unparse(statement.test) in _NEVER_RUN:
                self._never_run += statement.body
                self._sort(statement.orelse)
            else:
                self._effects.append(statement)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for name, symbol in imported(statement, self.package):
            self._imports[name].append(symbol)

    def _is_collected(self, statement: ast.stmt) -> bool:
        """Returns whether a decorator of the module may have filed a definition where no name leads."""
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        others = set(self._definitions) - {statement.name}
        return any(not others.isdisjoint(_names(decorator)) for decorator in statement.decorator_list)

    def _statements(self, name: str) -> list[ast.stmt]:
        """Returns the statements that define a name; of an empty or unknown name, all of the module."""
        if name and name in self._definitions:
            return self._definitions[name] + self._effects
        statements: list[ast.stmt] = []
        for group in self._definitions.values():
            statements += group
        return statements + self._effects

    def _definition(self, name: str) -> _Definition:
        if name in self._imports and name not in self._definitions:
            return _Definition("", set(self._imports[name]))
        statements = [_statement(statement, self.package) for statement in self._statements(name)]
        texts = [statement.text for statement in statements]
        names: set[str] = set()
        uses: set[Symbol] = set()
        for statement in statements:
            names |= statement.names
            uses.update(statement.imported)
        names.discard(name)
        uses.update((self.name, used) for used in names & self._definitions.keys())
        # A whole module uses all that it imports.
        imports = names - self._definitions.keys() if name else self._imports.keys()
        for used in sorted(["*", *imports]):
            symbols = self._imports.get(used, [])
            uses.update(symbols)
            texts += _renamed(used, symbols)
        return _Definition("\n".join(text for text in texts if text), uses)


class _Statement:
    """A statement: its text without docstrings, those under fields included, and imports; and what these lead to."""

    def __init__(self, statement: ast.stmt, package: str) -> None:
        self.package = package
        self.names: set[str] = set()
        self.imported: list[Symbol] = []
        self.text = self._text(statement)

    def _text(self, node: object) -> str:
        """Returns the text of a node, a list of nodes or a value; notes the names in it."""
        if isinstance(node, list):
            texts = [self._text(item) for item in node]
            return f"[{','.join(text for text in texts if text)}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import_text(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""
        if isinstance(node, ast.Name):
            self.names.add(node.id)
        fields = [self._text(value) for _, value in ast.iter_fields(node)]
        return f"{type(node).__name__}({','.join(fields)})"

    def _import_text(self, node: ast.Import | ast.ImportFrom) -> str:
        renamed: list[str] = []
        for name, symbol in imported(node, self.package):
            self.imported.append(symbol)
            renamed += _renamed(name, [symbol])
        return f"Import({','.join(renamed)})"


# Once, however many trials use a statement of a module that `_parsed` keeps.
_statement = functools.cache(_Statement)


def _file(module: str) -> Path | None:
    """Returns the file of a module, loaded or not; None where it has none."""
    loaded = sys.modules.get(module)
    if loaded:
        path = getattr(loaded, "__file__", None)
        return Path(path) if path else None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _renamed(name: str, symbols: Iterable[Symbol]) -> list[str]:
    """Returns what another name stands for, as `NAME=ORIGINAL`: the text that uses it does not say so."""
    renamed: list[str] = []
    for module, name_there in symbols:
        original = name_there or module
        if name not in ("*", original):
            renamed.append(f"{name}={original}")
    return renamed


def _assigned(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    """Returns the names that a statement assigns to; one that nothing uses where it has an effect alone."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names: list[str] = []
    for target in targets:
        names += _names(target)
    return names or ["<effect>"]


def _names(tree: ast.AST) -> list[str]:
    """Returns the names in a syntax tree."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
