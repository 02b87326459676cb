"""Signs in the source of the user's code that a seed or a setting has no effect: constant seeds, unnamed settings."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ablate.external.script import UNREADABLE, Constants
from ablate.external.sources import parsed

_SEEDING = re.compile(
    r"(^|\.)(manual_seed(_all)?|seed|set_seed|seed_everything|default_rng|RandomState|PRNGKey)$"
)


def seeded(files: Iterable[str], given: str | None = None) -> Iterator[str]:
    """Yields the places where a generator gets a constant seed, as `train.py:3: torch.manual_seed(1337)`.

    `given`: the constant that gets the seed of a trial.
    """
    for file in map(Path, files):
        tree = parsed(file)
        fixed = _fixed(tree) - {given}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _SEEDING.search(ast.unparse(node.func)):
                first = node.args[0]
                if isinstance(first, ast.Constant) or getattr(first, "id", None) in fixed:
                    yield f"{file.name}:{node.lineno}: {ast.unparse(node)}"


def _fixed(tree: ast.Module) -> set[str | None]:
    """Returns the names of a module whose value is always one literal."""
    try:
        constants = Constants.of(tree)
    except UNREADABLE:
        return set()
    return {name for name in constants.names() if isinstance(constants.values[name], ast.Constant)}


def assigning(file: Path) -> Iterator[str]:
    """Yields the places where a script may assign names that its source does not show, as `train.py:9: exec(text)`."""
    for node in ast.walk(parsed(file)):
        match node:
            case ast.Call(func=ast.Name("exec")):
                pass
            case ast.Subscript(ast.Call(ast.Name("globals")), ctx=ast.Store()):
                pass
            case ast.Attribute(ast.Call(ast.Name("globals")), "update"):
                pass
            case _:
                continue
        yield f"{file.name}:{node.lineno}: {ast.unparse(node)}"


def named(files: Iterable[str]) -> set[object]:
    """Returns the names and literals in files, except assigned names: among them the settings that the code reads."""
    names: set[object] = set()
    for file in files:
        for node in ast.walk(parsed(Path(file))):
            if isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            names.add(
                getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
            )
    return names
