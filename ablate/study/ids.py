"""The id of a trial: a hash of all that its result depends on, the source that it uses included.

That source is found statically. Starting from some functions and classes, the definitions that they name are followed
and hashed as syntax trees without docstrings: a comment or a new part beside an old one changes nothing, an edit of
something that a trial uses changes its id. They are followed through the modules of `ablate`, the plugins and the
packages in which parts and workloads are registered. Other modules of the user that came with one of these count whole,
since nobody can tell what of them is used; installed packages are known by their version.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.files import digest_of_file
from ablate.base.plugins import PREFIX, files_of_plugins, imported, is_users
from ablate.base.registry import PartConfig
from ablate.core.trial import identified
from ablate.core.workload import Workload
from ablate.study.designs import Config
from ablate.study.patch import key_of
from ablate.study.schema import config_model

# Module and name; the name is empty for a whole module.
Symbol = tuple[str, str]

_NEVER_RUN = ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'")


@dataclass(frozen=True)
class Identity:
    """What the id of a config's trials stands for beside seed and stream."""

    # The config; versions, device type and dtype, as the workload gives them; the digest of the source that trains the
    # config; and of the files that its parts declare, which it does not name, name and digest.
    content: bytes
    # The files of data that it reads: place → digest of the content.
    files: Mapping[str, str]

    def __call__(self, seed: int, stream: str) -> str:
        """The id of the trial under a seed: 16 hexadecimal digits."""
        return hashlib.blake2b(self.content + f"{seed} {stream}".encode(), digest_size=8).hexdigest()


class TrialIds:
    """The id of each trial; `ignored` are paths of the config that are left out of it, beside those of the workload."""

    def __init__(self, workload: Workload, ignored: Sequence[str] = ()) -> None:
        self.workload = workload
        self.irrelevant = (*workload.irrelevant(), *ignored)
        self.model = config_model(workload)
        self.known: dict[str, Identity] = {}
        self.digest = functools.cache(source_digest)

    def identity(self, config: Config) -> Identity:
        """Of a resolved config. Raises `AblateError` when a file of data cannot be read."""
        key = key_of(config)
        if key not in self.known:
            parsed = self.model.model_validate(config)
            values = [*values_in(parsed)]
            parts = [type(value).part for value in values if isinstance(value, PartConfig)]
            owners = dict.fromkeys((type(self.workload), *parts))
            declared = {**dict(declared_files(owners)), **self.workload.files(config)}
            named = [str(value) for value in values if isinstance(value, DataFile)]
            files = {place: digest_of_file(place) for place in dict.fromkeys([*named, *declared.values()])}
            content = {
                "config": identified(config, self.irrelevant, files),
                "identity": dict(self.workload.identity(config)),
                "sources": self.digest((*self.workload.sources(parsed), *parts)),
                "files": [(name, files[place]) for name, place in declared.items()],
            }
            self.known[key] = Identity(key_of(content).encode(), files)
        return self.known[key]


def values_in(config: Any) -> Iterator[Any]:
    """A validated config and everything inside it: sections, parts, files, numbers."""
    yield config
    inside: Iterable[Any] = config if isinstance(config, (list, tuple)) else ()
    if isinstance(config, BaseModel):
        inside = (getattr(config, name) for name in type(config).model_fields)
    elif isinstance(config, Mapping):
        inside = config.values()
    for value in inside:
        yield from values_in(value)


def declared_files(owners: Iterable[type]) -> Iterator[tuple[str, str]]:
    """Name and place of the files in the attribute `data_files` of parts and workloads.

    The attribute has paths relative to the file of the class. Raises `AblateError` for a file that is not there.
    """
    for owner in owners:
        for name in getattr(owner, "data_files", ()):
            path = Path(inspect.getfile(owner)).resolve().parent / name
            where = f"{owner.__module__}.{owner.__qualname__}.data_files"
            if not path.is_file():
                raise AblateError(f"{where}: there is no file {path}; restore it, or correct the path")
            # Of a file elsewhere the place is no part of an id, as it is none of a `DataFile`.
            yield f"{owner.__qualname__} {path.name if Path(name).is_absolute() else name}", str(path)


def source_digest(roots: Iterable[Any]) -> str:
    """A hash of `definitions(roots)`, and of the modules that came with them."""
    found = definitions(roots)
    modules = {module: _module(module) for module in {module for module, _ in found}}
    # By name and text alone: neither moving a definition nor importing it by way of another module changes it.
    texts = [f"{name}:{text}\n" for module, name in found if (text := modules[module].defined(name)[0])]
    texts += (
        digest_of_file(f) for module, f in files_of_plugins(modules).items() if not module.startswith(PREFIX)
    )
    return hashlib.blake2b("".join(sorted(texts)).encode(), digest_size=16).hexdigest()


def definitions(roots: Iterable[Any]) -> set[Symbol]:
    """Every definition that the functions and classes `roots` use, themselves included: of their own packages, of
    `ablate` and of the user's modules.
    """
    todo: list[Symbol] = [(root.__module__, root.__qualname__.split(".")[0]) for root in roots]
    packages = {"ablate", *(module.split(".")[0] for module, _ in todo)}

    @functools.cache
    def followed(module: str) -> _Module | None:
        ours, file = module.split(".")[0] in packages, _file(module)
        return _module(module) if ours or (file and is_users(str(file))) else None

    seen: set[Symbol] = set()
    while todo:
        symbol = name, own = todo.pop()
        if symbol in seen or (module := followed(name)) is None:
            continue
        if own and module.package == name and _file(inner := f"{name}.{own}"):
            # `from package import module` names a whole module.
            todo.append((inner, ""))
        else:
            seen.add(symbol)
            todo += module.defined(own)[1]
    return seen


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
        self.package = name if file is None or file.stem == "__init__" else name.rpartition(".")[0]
        self.definitions: dict[str, list[ast.stmt]] = defaultdict(list)
        self.imports: dict[str, list[Symbol]] = defaultdict(list)
        self.effects: list[ast.stmt] = []
        # The text of what a name stands for, none of one that is imported; and the definitions that this uses.
        self.defined = functools.cache(self._definition)
        lazy: list[ast.stmt] = []
        todo = ast.parse(file.read_bytes()).body if file and file.suffix == ".py" else []
        while todo:
            statement = todo.pop(0)
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._import(statement)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.definitions[statement.name].append(statement)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                for assigned in _assigned(statement):
                    self.definitions[assigned].append(statement)
            elif isinstance(statement, ast.If) and ast.unparse(statement.test) in _NEVER_RUN:
                todo[:0] = statement.orelse
                lazy += statement.body
            else:
                # A statement with an effect belongs to everything in the module.
                self.effects.append(statement)
        # A module that resolves names lazily lists them for type checkers.
        for statement in lazy if "__getattr__" in self.definitions else ():
            if isinstance(statement, ast.ImportFrom):
                self._import(statement)
        for group in self.definitions.values():
            self.effects += filter(self._is_collected, group)

    def _import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for name, symbol in imported(statement, self.package):
            self.imports[name].append(symbol)

    def _is_collected(self, statement: ast.stmt) -> bool:
        """Whether a decorator of the module itself may have put a definition where no name leads to it."""
        decorators = getattr(statement, "decorator_list", [])
        roots = {node.id for d in decorators for node in ast.walk(d) if isinstance(node, ast.Name)}
        return bool(roots & (set(self.definitions) - {getattr(statement, "name", "")}))

    def statements(self, name: str) -> list[ast.stmt]:
        if not name or name not in self.definitions:
            return [s for group in self.definitions.values() for s in group] + self.effects
        return self.definitions[name] + self.effects

    def _definition(self, name: str) -> tuple[str, set[Symbol]]:
        if name in self.imports and name not in self.definitions:
            return "", {*self.imports[name]}
        read = [_read(statement, self.package) for statement in self.statements(name)]
        names = {used for each in read for used in each.names} - {name}
        found = {(self.name, used) for used in names & self.definitions.keys()}
        renamed: list[str] = []
        for used in sorted(["*", *(names - self.definitions.keys() if name else self.imports)]):
            found.update(self.imports.get(used, []))
            renamed += _renamed(used, self.imports.get(used, []))
        found.update(symbol for each in read for symbol in each.imported)
        return "\n".join(filter(None, [*(each.text for each in read), *renamed])), found


class _Statement:
    """A statement: its text without docstrings, those under fields included, and imports; and what these lead to."""

    def __init__(self, statement: ast.stmt, package: str) -> None:
        self.package = package
        self.names: set[str] = set()
        self.imported: list[Symbol] = []
        self.text = self._text(statement)

    def _text(self, node: Any) -> str:
        if isinstance(node, list):
            return f"[{','.join(filter(None, map(self._text, node)))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found = imported(node, self.package)
            self.imported += (symbol for _, symbol in found)
            return f"Import({','.join(text for name, symbol in found for text in _renamed(name, [symbol]))})"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""
        if isinstance(node, ast.Name):
            self.names.add(node.id)
        return (
            f"{type(node).__name__}({','.join([self._text(getattr(node, name)) for name in node._fields])})"
        )


# Once, however many trials use a statement of a module that `_parsed` keeps.
_read = functools.cache(_Statement)


def _file(module: str) -> Path | None:
    try:
        found = sys.modules.get(module) or importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    path = found.origin if isinstance(found, ModuleSpec) else getattr(found, "__file__", None)
    return Path(path) if path else None


def _renamed(name: str, symbols: Iterable[Symbol]) -> list[str]:
    """What another name stands for: the text that uses it does not say so."""
    return [f"{name}={own or module}" for module, own in symbols if name not in ("*", own or module)]


def _assigned(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    return names or ["<effect>"]
