"""What the result of a user's own code depends on beside its config: files, and versions of the packages it imports."""

import ast
import functools
import importlib.metadata
import os
import re
from collections.abc import Iterable, Sequence
from glob import glob
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.base.plugins import imported, named_by

LOCKS = (
    *("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "Pipfile.lock", "pylock*.toml", "requirements*.txt"),
    *("conda-lock.yml", "environment.yml", "environment.yaml"),
)
# Words of a command with these ends are part of the program; other files may be its data or its results.
PROGRAM = (".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".ini")


def files_of(words: Sequence[str], folder: Path, roots: Sequence[str] = ()) -> dict[str, str]:
    """Name → place: the files of the program that a command names, the user's modules that they import, and locks.

    So are files below `roots`. Raises `Invalid` for a root that does not exist.
    """
    found: dict[str, str] = {}
    parts = [part for word in words for part in re.split("[=:]", word)]
    named = [
        *(part for part in parts if part.endswith(PROGRAM)),
        *(p.replace(".", "/") + ".py" for p in parts),
    ]
    for entry in (folder / name for name in named if os.path.isfile(folder / name)):
        # What it imports lies beside it, or is found from where it runs.
        module = os.path.relpath(entry, folder).removesuffix(".py").replace(os.sep, ".")
        for name, file in (named_by(folder / entry.name, [module]) | named_by(entry)).items():
            found |= {f"{entry.name} {name}": file} if os.path.isfile(file) else {}
    for index, root in enumerate([*roots, *LOCKS]):
        places = glob(root, root_dir=folder)
        if not places and root not in LOCKS:
            allowed = f"a file or a folder in {folder}"
            raise Invalid(f"workload.sources.{index}", "does not exist", root, allowed)
        for path in [*places, *glob(f"{root}/**", root_dir=folder, recursive=True)]:
            if os.path.isfile(folder / path) and "__pycache__" not in path:
                found[path] = str(folder / path)
    return found


def versions(files: Iterable[str]) -> dict[str, str]:
    """The versions of the installed packages that files import."""
    nodes = (node for file in files for node in ast.walk(parsed(Path(file))))
    imports = (node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    names = {module.split(".")[0] for node in imports for _, (module, _) in imported(node, "")}
    packages = {package for name in names for package in _distributions().get(name, ())}
    return {package: importlib.metadata.version(package) for package in sorted(packages)}


_distributions = functools.cache(importlib.metadata.packages_distributions)


def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file; an empty one where it cannot be read as Python."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
