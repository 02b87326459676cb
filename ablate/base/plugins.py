"""Users' own files of parts, tasks and workloads, with the modules beside them.

A file that has changed is loaded again, and its former parts are forgotten: the registry always agrees with the
file, also in a notebook that runs a study twice.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError, Problem, described
from ablate.base.files import digest_of, unreadable
from ablate.base.registry import CATALOGUE

PREFIX = "ablate_plugin_"
FAILS = "fails when it is loaded"
MAX_BYTES = 10_000_000  # Of a plugin, and of each module beside it.


@dataclass(frozen=True)
class Plugin:
    """A plugin file as it was loaded."""

    path: str
    digest: str  # Of the file and of the modules beside it that it imports.


@dataclass(frozen=True)
class Fault:
    """An error of a plugin."""

    error: str
    file: Path  # The plugin, or a module beside it.
    line: int | None = None

    def __str__(self) -> str:
        """`ValueError: no (own.py:3)`: with no folder outside of the current one."""
        here = self.file.is_relative_to(Path.cwd())
        file = self.file.relative_to(Path.cwd()) if here else self.file.name
        return f"{self.error} ({file}:{self.line})" if self.line else f"{self.error} ({file})"


# Module name → what was loaded, and the names of the modules beside it.
_loaded: dict[str, tuple[Plugin, set[str]]] = {}


def load_plugin(path: Path, expected: str | None = None) -> Plugin:
    """Runs the file, unless it has run already and not changed since.

    Raises `AblateError` when its digest is not `expected`, and whatever the file raises.
    """
    path = path.resolve()
    name = f"{PREFIX}{path.stem}"
    beside = dict(_beside(path))
    files = ((file.name, file.read_bytes()) for file in sorted({path, *beside.values()}))
    contents = (f"{file} {len(content)}\n".encode() + content for file, content in files)
    plugin = Plugin(str(path), digest_of(*contents))
    if expected is not None and plugin.digest != expected:
        raise AblateError(f"{path} changed while the study ran; run the study again")
    # Another plugin may have a module of the same name beside it.
    found = {
        module: getattr(sys.modules[module], "__file__", None) for module in beside if module in sys.modules
    }
    in_place = all(file == str(beside[module]) for module, file in found.items())
    if name in _loaded and _loaded[name][0] == plugin and in_place:
        return plugin
    _forget(name, set(beside))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AblateError(f"{path}: a plugin must be a Python file; allowed: a path that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if beside:
        sys.path.insert(0, str(path.parent))
    # Bytecode stands for a time and a size: after an edit in the same second it would be that of the old text.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _forget(name, set(beside))
        raise
    finally:
        sys.dont_write_bytecode = writes
        if beside:
            sys.path.remove(str(path.parent))
    _loaded[name] = (plugin, set(beside))
    return plugin


def plugin_fault(path: Path) -> Fault | None:
    """Loads a plugin; None, or the error that it raises. Folder, streams and threads of the process are put back."""
    file, here, streams = path.resolve(), Path.cwd(), (sys.stdout, sys.stderr)
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 0
    try:
        load_plugin(file)
    except (Exception, SystemExit) as error:
        text, where, line = described(error, str(file), *map(str, dict(_beside(file)).values()))
        return Fault(text, Path(where or file), line)
    finally:
        os.chdir(here)
        sys.stdout, sys.stderr = streams
        if torch and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
    return None


def raised_by_plugin(error: BaseException) -> Fault | None:
    """The fault of the loaded plugin through whose code an error came; None where it came through none."""
    text, where, line = described(error, *map(str, plugin_files()))
    return Fault(text, Path(where), line) if where else None


def trace(error: BaseException) -> str:
    """The traceback of an error; of one that came through a plugin from there on."""
    files, inner = set(map(str, plugin_files())), error.__traceback__
    while inner is not None and inner.tb_frame.f_code.co_filename not in files:
        inner = inner.tb_next
    return "".join(traceback.format_exception(type(error), error, inner or error.__traceback__))


def load_plugins(paths: Iterable[Path]) -> None:
    """Registers the parts of plugins; raises `AblateError` with the line at which the first faulty one fails."""
    # Built-in parts first, so that a plugin that takes the name of one is what is refused.
    CATALOGUE.load_builtin()
    for path in paths:
        if rule := unreadable(path, MAX_BYTES):
            raise AblateError(str(Problem(rule, hint="Name a Python file", source=str(path))))
        if fault := plugin_fault(path):
            raise AblateError(str(Problem(f"{FAILS}: {fault}", hint="Correct the plugin", source=str(path))))


def is_of_plugin(module: str) -> bool:
    """Whether a module is a plugin, or is beside one and imported by it."""
    return module.startswith(PREFIX) or any(module in beside for _, beside in _loaded.values())


def plugin_files() -> list[Path]:
    """Every file that the loaded plugins consist of."""
    paths = [Path(plugin.path) for plugin, _ in _loaded.values()]
    return sorted({file for path in paths for file in (path, *dict(_beside(path)).values())})


def _forget(name: str, beside: set[str]) -> None:
    known = _loaded.pop(name, None)
    modules = {name} | beside | (known[1] if known else set())
    CATALOGUE.forget(modules)
    for module in modules:
        sys.modules.pop(module, None)


def _beside(path: Path, seen: set[Path] | None = None) -> Iterator[tuple[str, Path]]:
    """The modules in the plugin's folder that it imports, one from another."""
    seen = {path} if seen is None else seen
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            file = path.parent / f"{name.split('.')[0]}.py"
            if file not in seen and not unreadable(file, MAX_BYTES):
                seen.add(file)
                yield file.stem, file
                yield from _beside(file, seen)
