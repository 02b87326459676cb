"""Users' own files of parts, tasks and workloads, with the modules that come with them.

A module is a user's where it is neither installed nor of the standard library; what is installed as `editable` lies
elsewhere. A file that has changed is loaded again, and its former parts are forgotten: the registry always agrees with
the files, also in a notebook that runs a study twice.
"""

import ast
import functools
import importlib.util
import os
import sys
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder
from itertools import accumulate
from pathlib import Path

from ablate.base.errors import AblateError, Problem, described
from ablate.base.files import digest_of, unreadable
from ablate.base.registry import CATALOGUE

PREFIX = "ablate_plugin_"
FAILS = "fails when it is loaded"
MAX_BYTES = 10_000_000  # Of a plugin.
# Modules that are read for what they name, where they do not lie beside the plugin; of more, what is loaded counts.
FOLLOWED = 200
# Where modules are looked for, as this process began: a plugin may add to it, and is not run where all is up to date.
_PATH = (*sys.path,)
# Where modules lie that have a version, or are known by what of them a trial uses.
_VERSIONED = (os.path.dirname(os.__file__), str(Path(__file__).parents[1]))
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Plugin:
    """A plugin file as it was loaded."""

    path: str
    files: Mapping[str, str]  # Module → file: its own, and those of the user's modules that came with it.
    digest: str  # Of these files.


@dataclass(frozen=True)
class Fault:
    """An error of a plugin."""

    error: str
    file: Path  # The plugin, or a module that came with it.
    line: int | None = None

    def __str__(self) -> str:
        """`ValueError: no (own.py:3)`: with no folder outside of the current one."""
        here = self.file.is_relative_to(Path.cwd())
        file = self.file.relative_to(Path.cwd()) if here else self.file.name
        return f"{self.error} ({file}:{self.line})" if self.line else f"{self.error} ({file})"


# Module name → what was loaded.
_loaded: dict[str, Plugin] = {}


def load_plugin(path: Path, known_as: Plugin | None = None) -> Plugin:
    """Runs the file, unless it has run already and not changed since; raises whatever it does.

    `known_as`: as the driver has loaded it, whose trials tell whether its modules are still the same.
    """
    path = path.resolve()
    name = f"{PREFIX}{path.stem}"
    known, files = _loaded.get(name), known_as.files if known_as else named_by(path)
    came = known.files if known and known.path == str(path) else {}
    plugin = _with_digest(path, {**came, **files})
    # Another plugin may have brought a module of the same name.
    loaded = ((getattr(sys.modules.get(own), "__file__", file), file) for own, file in plugin.files.items())
    if known == plugin and all(os.path.realpath(one) == os.path.realpath(other) for one, other in loaded):
        return plugin
    _forget({name, *files, *(known.files if known else ())})
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AblateError(f"{path}: a plugin must be a Python file; allowed: a path that ends in .py")
    before, module = {*sys.modules}, importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    beside = any(file.startswith(f"{path.parent}{os.sep}") for own, file in files.items() if own != name)
    if beside:
        sys.path.insert(0, str(path.parent))
    # Bytecode stands for a time and a size: after an edit in the same second it would be that of the old text.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _forget({name, *files})
        raise
    finally:
        sys.dont_write_bytecode = writes
        if beside:
            sys.path.remove(str(path.parent))
    _loaded[name] = _with_digest(path, {**files, **users_modules(before)})
    return _loaded[name]


def settle(names: Iterable[str], before: Collection[str]) -> None:
    """After the checks of a study: what they have loaded, as by `importlib`, came with the plugins of these names."""
    for name in (f"{PREFIX}{Path(name).stem}" for name in names):
        files = {**_loaded[name].files, **users_modules(before)}
        _loaded[name] = _with_digest(Path(_loaded[name].path), files)


def plugin_fault(path: Path) -> Fault | None:
    """Loads a plugin; None, or the error that it raises. Folder, streams and threads of the process are put back."""
    file, here, streams = path.resolve(), Path.cwd(), (sys.stdout, sys.stderr)
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 0
    try:
        load_plugin(file)
    except (Exception, SystemExit) as error:
        text, where, line = described(error, *named_by(file).values())
        return Fault(text, Path(where or file), line)
    finally:
        os.chdir(here)
        sys.stdout, sys.stderr = streams
        if torch and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
    return None


def raised_by_plugin(error: BaseException) -> Fault | None:
    """The fault of the loaded plugin through whose code an error came; None where it came through none."""
    text, where, line = described(error, *files_of_plugins().values())
    return Fault(text, Path(where), line) if where else None


def trace(error: BaseException) -> str:
    """The traceback of an error; of one that came through a plugin from there on."""
    files, inner = {*files_of_plugins().values()}, error.__traceback__
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


def users_modules(before: Collection[str] = ()) -> dict[str, str]:
    """Module → file of all that are loaded and a user's, or of a package that has parts, but for those `before`."""
    parts = (CATALOGUE.get(slot, name) for slot in CATALOGUE.slots() for name in CATALOGUE.names(slot))
    owners = {part.__module__.split(".")[0] for part in parts} - {"ablate"}
    files = {
        name: getattr(module, "__file__", None)
        for name, module in sys.modules.copy().items()
        if name not in before
    }
    return {
        name: file
        for name, file in files.items()
        if file and (is_users(file) or name.split(".")[0] in owners)
    }


def files_of_plugins(modules: Collection[str] = ()) -> dict[str, str]:
    """Module → file of the loaded plugins with what came with them; of those alone that have one of these `modules`."""
    having = (of.files for of in _loaded.values() if not modules or not of.files.keys().isdisjoint(modules))
    return {module: file for files in having for module, file in files.items()}


def named_by(path: Path, also: Sequence[str] = ()) -> dict[str, str]:
    """Module → file of a plugin, and of a user's modules that it names, and that these name, imported later or never.

    What lies beside the plugin comes first, as when it is loaded. With `also`, modules that are known, those alone are
    followed that lie beside it.
    """
    importlib.invalidate_caches()
    files, places = {f"{PREFIX}{path.stem}": str(path)}, {"": [str(path.parent), *_PATH]}
    pending = [*also, *_named(_content(str(path)), "")]
    for name in pending:
        steps = [*accumulate(name.split("."), "{}.{}".format)]
        for outer, module in zip(["", *steps], steps, strict=False):
            if module not in places:
                spec = PathFinder.find_spec(module.rpartition(".")[2], places[outer])
                file = str(spec.origin) if spec and spec.has_location else ""
                inside = spec.submodule_search_locations if spec and (not file or is_users(file)) else None
                places[module] = [*(inside or ())]
                if file and is_users(file):
                    files[module] = file
                    if file.startswith(f"{path.parent}{os.sep}") or (not also and len(files) < FOLLOWED):
                        pending += _named(_content(file), module if inside else outer)
    return files


def imported(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, tuple[str, str]]]:
    """Each name that an import in a module of `package` defines, with the module and the name there, or none."""
    if isinstance(node, ast.Import):
        return [(alias.asname or alias.name.split(".")[0], (alias.name, "")) for alias in node.names]
    base = node.module or ""
    # What is relative outside of any package cannot be imported.
    with suppress(ImportError):
        base = importlib.util.resolve_name("." * node.level + base, package)
    return [(alias.asname or alias.name, (base, alias.name.removeprefix("*"))) for alias in node.names]


@functools.lru_cache(maxsize=1000)
def _named(source: bytes, package: str) -> list[str]:
    """What the imports of a source may mean, those in its functions too: dotted names."""
    with suppress(SyntaxError, ValueError):
        nodes = (
            node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))
        )
        return [".".join(filter(None, symbol)) for node in nodes for _, symbol in imported(node, package)]
    return []


def is_users(file: str) -> bool:
    """Whether a module is a user's own, without a version, in a file: that of a library's may be none."""
    return (
        not file.startswith(_VERSIONED) and _INSTALLED.isdisjoint(file.split(os.sep)) and os.path.isfile(file)
    )


def _with_digest(path: Path, files: Mapping[str, str]) -> Plugin:
    """The plugin with the digest of its files as they are now."""
    of_each = (f"{module} {digest_of(_content(file))}\n".encode() for module, file in sorted(files.items()))
    return Plugin(str(path), files, digest_of(*of_each))


def _content(file: str) -> bytes:
    """Nothing where it cannot be read."""
    return Path(file).read_bytes() if os.access(file, os.R_OK) else b""


def _forget(modules: Collection[str]) -> None:
    CATALOGUE.forget(modules)
    for module in modules:
        _loaded.pop(module, None)
        sys.modules.pop(module, None)
