"""The source that a trial's result depends on, found statically.

Starting from some functions and classes, the definitions that they name are followed through the modules of
`ablate` and the plugins, and hashed as syntax trees without docstrings: a comment or a new part beside an old
one changes nothing, an edit of something that a trial uses changes its id.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ablate.base.plugins import is_of_plugin

Symbol = tuple[str, str]
"""Module and name; the name is empty for a whole module."""

_NEVER_RUN = ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def source_digest(roots: Iterable[Any]) -> str:
    """A hash of everything that the functions and classes `roots` are made of."""
    todo: list[Symbol] = [(root.__module__, root.__qualname__.split(".")[0]) for root in roots]
    seen: set[Symbol] = set()
    while todo:
        symbol = todo.pop()
        if symbol not in seen:
            seen.add(symbol)
            todo += _module(symbol[0]).references(symbol[1])
    # By name and text alone: where a definition stands changes nothing of what it does.
    texts = sorted(f"{name}:{_module(module).text(name)}\n" for module, name in seen)
    return hashlib.blake2b("".join(texts).encode(), digest_size=16).hexdigest()


def _module(name: str) -> _Module:
    file = _file(name)
    state = file.stat() if file else None
    return _parsed(name, file, state and (state.st_mtime_ns, state.st_size))


@functools.lru_cache(maxsize=1000)
def _parsed(name: str, file: Path | None, state: object) -> _Module:
    return _Module(name, file)


class _Module:
    """The top-level definitions of one module, and where its imported names come from."""

    def __init__(self, name: str, file: Path | None) -> None:
        self.name = name
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, list[Symbol]] = {}
        self.effects: list[ast.stmt] = []
        tree = ast.parse(file.read_bytes()) if file else ast.Module([], [])
        for statement in _Stripped().visit(tree).body:
            self._file(statement)
        for group in list(self.definitions.values()):
            self.effects += [s for s in group if self._is_collected(s)]

    def _file(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, symbol in _imported(statement, self.name):
                self.imports.setdefault(name, []).append(symbol)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.definitions.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for name in _assigned(statement):
                self.definitions.setdefault(name, []).append(statement)
        elif isinstance(statement, ast.If) and ast.unparse(statement.test) in _NEVER_RUN:
            for other in statement.orelse:
                self._file(other)
        else:
            # A statement with an effect belongs to everything in the module.
            self.effects.append(statement)

    def _is_collected(self, statement: ast.stmt) -> bool:
        """Whether a decorator of the module itself may have put a definition where no name leads to it."""
        decorators = getattr(statement, "decorator_list", [])
        roots = {node.id for d in decorators for node in ast.walk(d) if isinstance(node, ast.Name)}
        return bool(roots & (set(self.definitions) - {getattr(statement, "name", "")}))

    def statements(self, name: str) -> list[ast.stmt]:
        if not name or name not in self.definitions:
            return [s for group in self.definitions.values() for s in group] + self.effects
        return self.definitions[name] + self.effects

    def text(self, name: str) -> str:
        if name in self.imports and name not in self.definitions:
            return ""
        return "\n".join(map(_dumped, self.statements(name)))

    def references(self, name: str) -> Iterator[Symbol]:
        """The definitions of this project that `name` uses."""
        if name in self.imports and name not in self.definitions:
            yield from self._named(name)
            return
        yield from self._named("*")
        if not name:
            for imported in self.imports:
                yield from self._named(imported)
        for statement in self.statements(name):
            for node in ast.walk(statement):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    for _, symbol in _imported(node, self.name):
                        yield from _followed(symbol)
                elif isinstance(node, ast.Name) and node.id != name:
                    if node.id in self.definitions:
                        yield self.name, node.id
                    else:
                        yield from self._named(node.id)

    def _named(self, name: str) -> Iterator[Symbol]:
        for symbol in self.imports.get(name, []):
            yield from _followed(symbol)


@functools.lru_cache(maxsize=20_000)
def _dumped(statement: ast.stmt) -> str:
    """As text; one that `_parsed` keeps is dumped once, however many trials use it."""
    return ast.dump(_WithoutImports().visit(copy.deepcopy(statement)))


class _Stripped(ast.NodeTransformer):
    """Takes docstrings out, those under fields included."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


class _WithoutImports(ast.NodeTransformer):
    """Takes imports out: what they lead to is followed, and where it stands does not matter."""

    def visit_Import(self, node: ast.Import) -> ast.Pass:
        return ast.Pass()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.Pass:
        return ast.Pass()


def _followed(symbol: Symbol) -> Iterator[Symbol]:
    module, name = symbol
    if not _is_ours(module):
        return
    if name and _file(f"{module}.{name}") is not None:
        yield f"{module}.{name}", ""
    else:
        yield module, name


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "ablate" or is_of_plugin(module)


def _file(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    if loaded is not None:
        path = getattr(loaded, "__file__", None)
        return Path(path) if path else None
    if not _is_ours(module):
        return None
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _imported(node: ast.Import | ast.ImportFrom, module: str) -> Iterator[tuple[str, Symbol]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname or alias.name.split(".")[0]), (alias.name, "")
        return
    base = node.module or ""
    if node.level:
        base = importlib.util.resolve_name("." * node.level + base, module.rpartition(".")[0])
    for alias in node.names:
        yield (alias.asname or alias.name), (base, "" if alias.name == "*" else alias.name)


def _assigned(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return names or ["<effect>"]
