"""The source that a trial's result depends on, found statically.

Starting from some functions and classes, the definitions that they name are followed and hashed as syntax trees
without docstrings: a comment or a new part beside an old one changes nothing, an edit of something that a trial
uses changes its id. They are followed through the modules of `ablate`, the plugins, the packages in which parts and
workloads are registered, and those that they declare as `source_packages`; other installed packages are known by
their version alone.
"""

from __future__ import annotations

import ast
import copy
import functools
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.base.plugins import is_of_plugin

Symbol = tuple[str, str]
"""Module and name; the name is empty for a whole module."""

_NEVER_RUN = ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


def source_digest(roots: Iterable[Any], owners: Iterable[type] = ()) -> str:
    """A hash of `definitions(roots, owners)`."""
    found = ((name, _module(module).text(name)) for module, name in definitions(roots, owners))
    # By name and text alone: neither moving a definition nor importing it by way of another module changes it.
    texts = sorted(f"{name}:{text}\n" for name, text in found if text)
    return hashlib.blake2b("".join(texts).encode(), digest_size=16).hexdigest()


def definitions(roots: Iterable[Any], owners: Iterable[type] = ()) -> set[Symbol]:
    """Every definition that the functions and classes `roots` use, themselves included.

    `owners` are the registered classes whose packages are followed beside `ablate` and the plugins. Raises
    `AblateError` when one declares a package that does not exist.
    """
    packages = {"ablate"}
    for owner in owners:
        packages |= {owner.__module__.split(".")[0], *_declared(owner)}
    todo: list[Symbol] = [(root.__module__, root.__qualname__.split(".")[0]) for root in roots]
    seen: set[Symbol] = set()
    while todo:
        symbol = todo.pop()
        if symbol not in seen:
            seen.add(symbol)
            for module, name in _module(symbol[0]).references(symbol[1]):
                if is_of_plugin(module) or any(f"{module}.".startswith(f"{p}.") for p in packages):
                    # `from package import module` names a whole module.
                    inner = f"{module}.{name}"
                    todo.append((inner, "") if name and _file(inner) else (module, name))
    return seen


def _declared(owner: type) -> Sequence[str]:
    names = getattr(owner, "source_packages", ())
    for name in names:
        if name not in sys.modules and not _spec(name):
            where = f"{owner.__module__}.{owner.__qualname__}.source_packages"
            raise AblateError(f"{where}: there is no module {name!r}; name one that can be imported")
    return names


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
        self.lazy: list[tuple[str, Symbol]] = []
        self.effects: list[ast.stmt] = []
        self.package = name if file and file.stem == "__init__" else name.rpartition(".")[0]
        tree = ast.parse(file.read_bytes()) if file and file.suffix == ".py" else ast.Module([], [])
        for statement in tree.body:
            self._file(statement)
        if "__getattr__" in self.definitions:
            # A module that resolves names lazily lists them for type checkers.
            self._import(self.lazy)
        for group in self.definitions.values():
            self.effects += filter(self._is_collected, group)

    def _import(self, found: Iterable[tuple[str, Symbol]]) -> None:
        for name, symbol in found:
            self.imports.setdefault(name, []).append(symbol)

    def _file(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self._import(_imported(statement, self.package))
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.definitions.setdefault(statement.name, []).append(statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for name in _assigned(statement):
                self.definitions.setdefault(name, []).append(statement)
        elif isinstance(statement, ast.If) and ast.unparse(statement.test) in _NEVER_RUN:
            for other in statement.orelse:
                self._file(other)
            for other in (s for s in statement.body if isinstance(s, ast.ImportFrom)):
                self.lazy += _imported(other, self.package)
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
        return "\n".join(filter(None, map(_dumped, self.statements(name))))

    def references(self, name: str) -> Iterator[Symbol]:
        """The definitions and modules that `name` uses, wherever they come from."""
        if name in self.imports and name not in self.definitions:
            yield from self.imports[name]
            return
        yield from self.imports.get("*", [])
        if not name:
            for imported in self.imports.values():
                yield from imported
        for statement in self.statements(name):
            for node in ast.walk(statement):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    yield from (symbol for _, symbol in _imported(node, self.package))
                elif isinstance(node, ast.Name) and node.id != name:
                    if node.id in self.definitions:
                        yield self.name, node.id
                    else:
                        yield from self.imports.get(node.id, [])


@functools.lru_cache(maxsize=20_000)
def _dumped(statement: ast.stmt) -> str:
    """As text; one that `_parsed` keeps is dumped once, however many trials use it."""
    kept = _Kept().visit(copy.deepcopy(statement))
    return ast.dump(kept) if kept else ""


class _Kept(ast.NodeTransformer):
    """Removes docstrings, those under fields included, and imports: the definitions that these lead to are followed."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Import(self, node: ast.stmt) -> ast.Pass:
        return ast.Pass()

    visit_ImportFrom = visit_Import


def _file(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    path = getattr(_spec(module), "origin", None) if loaded is None else getattr(loaded, "__file__", None)
    return Path(path) if path else None


def _spec(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, Symbol]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname or alias.name.split(".")[0]), (alias.name, "")
        return
    base = node.module or ""
    if node.level:
        base = importlib.util.resolve_name("." * node.level + base, package)
    for alias in node.names:
        yield (alias.asname or alias.name), (base, "" if alias.name == "*" else alias.name)


def _assigned(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return names or ["<effect>"]
