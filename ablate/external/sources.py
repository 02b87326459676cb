"""What the result of a user's own code depends on beside its config, as files: sources, lock files, packages.

An edit of one of them changes the ids of trials. A package is known by the file that holds its version.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.base.plugins import PREFIX, imported, named_by

LOCKS = ("*.lock", "requirements*.txt", "conda-lock.yml", "environment.yml", "environment.yaml")
# Words of a command with these ends are part of the program; other files may be its data or its results.
PROGRAM = (".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini")
_SEEDING = re.compile(
    r"(^|\.)(manual_seed(_all)?|seed|set_seed|seed_everything|default_rng|RandomState|PRNGKey)$"
)


def named_in(words: Sequence[str], folder: Path) -> list[Path]:
    """The files of the program that a command names; of `-m package.module` that of the module."""
    modules = (word.replace(".", "/") + ".py" for before, word in pairwise(words) if before == "-m")
    named = [part for word in words for part in word.split("=") if part.endswith(PROGRAM)]
    return [path for name in [*named, *modules] if (path := (folder / name).resolve()).is_file()]


def files_of(entries: Iterable[Path], folder: Path, roots: Sequence[str] = ()) -> dict[str, str]:
    """Name → place: `entries` with the user's modules that they import, files below `roots`, locks and packages.

    Raises `Invalid` for a root that does not exist.
    """
    found = {module: file for entry in entries for module, file in _modules(entry, folder)}
    for index, root in enumerate(roots):
        top = folder / root
        if not top.exists():
            raise Invalid(
                f"workload.sources.{index}", "does not exist", root, f"a file or a folder in {folder}"
            )
        files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if _is_source(path, top))
        found |= {f"source {file.relative_to(folder)}": str(file.resolve()) for file in files}
    locks = sorted(path for pattern in LOCKS for path in folder.glob(pattern) if path.is_file())
    found |= {f"lock {path.name}": str(path) for path in locks}
    return found | _packages(tuple(file for file in found.values() if file.endswith(".py")))


def _modules(entry: Path, folder: Path) -> Iterator[tuple[str, str]]:
    if entry.suffix != ".py":
        yield f"file {entry.name}", str(entry)
        return
    # As imported from beside it, as a script does, and from the folder in which it runs, as `-m` does.
    inside = entry.is_relative_to(folder)
    module = ".".join(entry.relative_to(folder).with_suffix("").parts) if inside else ""
    places = named_by(entry) | (named_by(folder / entry.name, [module]) if "." in module else {})
    for name, file in places.items():
        if Path(file).is_file():
            yield f"module {name.removeprefix(PREFIX)}", file


def _is_source(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts)


def _packages(files: Iterable[str]) -> dict[str, str]:
    """The installed packages that files import: name → the file that says their version."""
    names = {
        module.split(".")[0]
        for file in files
        for node in ast.walk(parsed(Path(file)))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for _, (module, _) in imported(node, "")
    }
    known = _distributions()
    packages = {package for name in names for package in known.get(name, ()) if package != "ablate"}
    found: dict[str, str] = {}
    for package in sorted(packages):
        info = getattr(importlib.metadata.distribution(package), "_path", Path())
        found |= {f"package {package}": str(f) for f in (info / "METADATA", info / "PKG-INFO") if f.is_file()}
    return found


_distributions = functools.cache(importlib.metadata.packages_distributions)


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file; an empty one where it is no Python."""
    try:
        return ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def seeded(file: Path, given: str = "") -> list[str]:
    """Where a file seeds a generator with a constant, as `train.py:3: torch.manual_seed(1337)`.

    `given`: the constant that gets the seed of a trial.
    """
    tree = parsed(file)
    fixed = {name for name, value in constants(tree).items() if isinstance(value, ast.Constant)} - {given}
    return [
        f"{file.name}:{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _SEEDING.search(ast.unparse(node.func)) and node.args
        if isinstance(node.args[0], ast.Constant)
        or (isinstance(node.args[0], ast.Name) and node.args[0].id in fixed)
    ]


def constants(tree: ast.Module) -> Mapping[str, ast.expr]:
    """Name → what is assigned to it at the top level; a name that is assigned several times has no entry."""
    found: dict[str, list[ast.expr]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return {name: of[0] for name, of in found.items() if len(of) == 1}
