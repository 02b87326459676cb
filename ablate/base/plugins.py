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
from importlib.machinery import ModuleSpec, PathFinder
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
        """Returns `ValueError: no (own.py:3)`, without the folder where that is not the current one or below it."""
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
    files = known_as.files if known_as else named_by(path)
    former = _loaded.get(name)
    if former and _is_current(former, path, files):
        return former

    _forget({name, *files, *(former.files if former else ())})
    modules_before = {*sys.modules}
    try:
        _run(name, path, files)
    except BaseException:
        _forget({name, *files})
        raise
    _loaded[name] = _with_digest(path, {**files, **users_modules(modules_before)})
    return _loaded[name]


def _is_current(plugin: Plugin, path: Path, files: Mapping[str, str]) -> bool:
    """Returns whether a plugin was loaded from this path, and its files and modules are still the same."""
    came_with = plugin.files if plugin.path == str(path) else {}
    if plugin != _with_digest(path, {**came_with, **files}):
        return False
    # Another plugin may have brought a module of the same name.
    for module, file in plugin.files.items():
        loaded_from = getattr(sys.modules.get(module), "__file__", file)
        if os.path.realpath(loaded_from) != os.path.realpath(file):
            return False
    return True


def _run(name: str, path: Path, files: Mapping[str, str]) -> None:
    """Runs a plugin as the module `name`; `files` are the modules that it names. Raises whatever it does."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.parent)
    modules = [file for own_name, file in files.items() if own_name != name]
    has_modules_beside = any(file.startswith(f"{folder}{os.sep}") for file in modules)
    if has_modules_beside:
        sys.path.insert(0, folder)
    # Bytecode stands for a time and a size: after an edit in the same second it would be that of the old text.
    without_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = without_bytecode
        if has_modules_beside:
            sys.path.remove(folder)


def add_loaded_modules(names: Iterable[str], before: Collection[str]) -> None:
    """Adds what the checks of a study have loaded, as by `importlib`, to the plugins of these names.

    before: the modules that were loaded before the checks.
    """
    for name in names:
        module = f"{PREFIX}{Path(name).stem}"
        plugin = _loaded[module]
        _loaded[module] = _with_digest(Path(plugin.path), {**plugin.files, **users_modules(before)})


def why_no_plugin(path: Path) -> str | None:
    """Returns why a path cannot be a plugin, in words that follow its name; None where it may be one.

    Only the name, the kind and the size are looked at: it must exist, be a plain file of at most `MAX_BYTES`, and end
    in `.py`. The file is not opened: whether it can be read and run is found by `plugin_fault`.
    """
    rule = unreadable(path, MAX_BYTES)
    if rule is None and path.suffix != ".py":
        rule = "is no Python file, whose name ends in .py"
    return rule


def plugin_fault(path: Path) -> Fault | None:
    """Loads a plugin, and returns the error that it raises, or None.

    Folder, streams and threads of the process are put back.
    """
    file = path.resolve()
    folder = Path.cwd()
    output = sys.stdout
    errors = sys.stderr
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 0
    try:
        load_plugin(file)
    except (Exception, SystemExit) as error:
        text, where, line = described(error, *named_by(file).values())
        return Fault(text, Path(where or file), line)
    finally:
        os.chdir(folder)
        sys.stdout = output
        sys.stderr = errors
        if torch and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
    return None


def raised_by_plugin(error: BaseException) -> Fault | None:
    """Returns the fault of the loaded plugin through whose code an error came; None where it came through none."""
    text, where, line = described(error, *files_of_plugins().values())
    return Fault(text, Path(where), line) if where else None


def trace(error: BaseException) -> str:
    """Returns the traceback of an error; of one that came through a plugin from there on."""
    files = {*files_of_plugins().values()}
    step = error.__traceback__
    while step is not None and step.tb_frame.f_code.co_filename not in files:
        step = step.tb_next
    lines = traceback.format_exception(type(error), error, step or error.__traceback__)
    return "".join(lines)


def load_plugins(paths: Iterable[Path]) -> None:
    """Registers the parts of plugins. Raises `AblateError` with the line at which the first faulty one fails."""
    # Built-in parts first, so that a plugin that takes the name of one is what is refused.
    CATALOGUE.load_builtin()
    for path in paths:
        rule = why_no_plugin(path)
        if rule:
            hint = "Name a Python file; `ablate plan` checks a study"
            raise AblateError(str(Problem(rule, hint=hint, source=str(path))))
        fault = plugin_fault(path)
        if fault:
            raise AblateError(str(Problem(f"{FAILS}: {fault}", hint="Correct the plugin", source=str(path))))


def users_modules(before: Collection[str] = ()) -> dict[str, str]:
    """Returns module → file of all that are loaded and a user's, or of a package that has parts.

    before: modules that are left out.
    """
    packages_with_parts: set[str] = set()
    for slot in CATALOGUE.slots():
        parts = [CATALOGUE.get(slot, name) for name in CATALOGUE.names(slot)]
        packages_with_parts.update(part.__module__.split(".")[0] for part in parts)
    packages_with_parts.discard("ablate")

    files = {}
    for name, module in sys.modules.copy().items():
        file = getattr(module, "__file__", None)
        if name in before or not file:
            continue
        if is_users(file) or name.split(".")[0] in packages_with_parts:
            files[name] = file
    return files


def files_of_plugins(modules: Collection[str] = ()) -> dict[str, str]:
    """Returns module → file of each loaded plugin and of the user's modules that were imported with it.

    modules: leaves out the plugins that have none of these; all plugins without any.
    """
    having = (of.files for of in _loaded.values() if not modules or not of.files.keys().isdisjoint(modules))
    return {module: file for files in having for module, file in files.items()}


def named_by(path: Path, also: Sequence[str] = ()) -> dict[str, str]:
    """Returns module → file of a plugin, and of a user's modules that it names, and that these name in turn.

    They may be imported later or never. What lies beside the plugin comes first, as when it is loaded.

    also: modules that are looked up as well, as those of an earlier load; then only modules beside the plugin are read
    for their own imports, and without it every module of the user's, up to `FOLLOWED`.
    """
    importlib.invalidate_caches()
    beside = f"{path.parent}{os.sep}"
    files = {f"{PREFIX}{path.stem}": str(path)}
    # Module → the folders in which the modules below it are looked for; "": those of the outermost.
    places = {"": [str(path.parent), *_PATH]}
    pending = [*also, *_named(_content(str(path)), "")]
    for name in pending:  # It grows while it is gone through.
        package = ""
        for module in accumulate(name.split("."), "{}.{}".format):
            if module not in places:
                spec = PathFinder.find_spec(module.rpartition(".")[2], places[package])
                file, places[module] = _file_and_places(spec)
                if file:
                    files[module] = file
                    if file.startswith(beside) or (not also and len(files) < FOLLOWED):
                        is_package = bool(places[module])
                        pending += _named(_content(file), module if is_package else package)
            package = module
    return files


def _file_and_places(spec: ModuleSpec | None) -> tuple[str, list[str]]:
    """Returns the file of a module, empty where it is no user's, and the folders of the modules below it.

    A library has no such folders: its modules are not followed.
    """
    if spec is None:
        return "", []
    file = str(spec.origin) if spec.has_location else ""
    if file and not is_users(file):
        return "", []
    return file, [*(spec.submodule_search_locations or ())]


def imported(node: ast.Import | ast.ImportFrom, package: str) -> list[tuple[str, tuple[str, str]]]:
    """Returns each name that an import defines, with the module and the name in it, empty for the module itself.

    package: that of the module in which the import stands.
    """
    if isinstance(node, ast.Import):
        return [(alias.asname or alias.name.split(".")[0], (alias.name, "")) for alias in node.names]
    base = node.module or ""
    # What is relative outside of any package cannot be imported.
    with suppress(ImportError):
        base = importlib.util.resolve_name("." * node.level + base, package)
    return [(alias.asname or alias.name, (base, alias.name.removeprefix("*"))) for alias in node.names]


@functools.lru_cache(maxsize=1000)
def _named(source: bytes, package: str) -> list[str]:
    """Returns the dotted names that the imports of a source may mean, those in its functions too."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for _, (module, name) in imported(node, package):
                names.append(".".join(filter(None, (module, name))))
    return names


def is_users(file: str) -> bool:
    """Returns whether a module's file is a user's own, without a version; that of a library's may not exist."""
    if file.startswith(_VERSIONED) or not _INSTALLED.isdisjoint(file.split(os.sep)):
        return False
    return os.path.isfile(file)


def _with_digest(path: Path, files: Mapping[str, str]) -> Plugin:
    """Returns the plugin with the digest of its files as they are now."""
    lines = [f"{module} {digest_of(_content(file))}\n" for module, file in sorted(files.items())]
    return Plugin(str(path), files, digest_of("".join(lines).encode()))


def _content(file: str) -> bytes:
    """Returns the content of a file; nothing where it cannot be read."""
    return Path(file).read_bytes() if os.path.isfile(file) and os.access(file, os.R_OK) else b""


def _forget(modules: Collection[str]) -> None:
    """Unloads modules, with the parts that they have registered."""
    CATALOGUE.forget(modules)
    for module in modules:
        _loaded.pop(module, None)
        sys.modules.pop(module, None)
