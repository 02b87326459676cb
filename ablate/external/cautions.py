"""Signs in the source of the user's code that a seed or a setting has no effect: constant seeds, unnamed settings.

A constant counts only where nothing in the source may change it, since it is read and never run.
"""

import ast
import itertools
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
    trees = {Path(file): parsed(Path(file)) for file in files}
    nodes = [*itertools.chain.from_iterable(ast.walk(tree) for tree in trees.values())]
    is_shown = not any(_assigns_unseen(node) for node in nodes)
    assigned = {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    for file, tree in trees.items():
        fixed = _fixed(tree) - assigned - {given} if is_shown else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _SEEDING.search(ast.unparse(node.func)):
                first = node.args[0]
                is_fixed = isinstance(first, ast.Name) and first.id in fixed
                if is_fixed or (isinstance(first, ast.Constant) and first.value is not None):
                    yield f"{file.name}:{node.lineno}: {ast.unparse(node)}"


def _fixed(tree: ast.Module) -> set[str]:
    """Returns the names of a module whose value is always one literal, and that no function gives another meaning."""
    try:
        constants = Constants.of(tree)
    except UNREADABLE:
        return set()
    literals = {name for name in constants.names() if isinstance(constants.values[name], ast.Constant)}
    return literals - _local_names(tree)


def _local_names(tree: ast.Module) -> set[str]:
    """Returns the names that mean something else in some function or class: parameters, and what is assigned there."""
    names: set[str] = set()
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    for scope in ast.walk(tree):
        if not isinstance(scope, scopes):
            continue
        for node in ast.walk(scope):
            if isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def _assigns_unseen(node: ast.AST) -> bool:
    """Returns whether a node may assign names that the source does not show: `exec`, `globals()`, `setattr`."""
    match node:
        case ast.Call(func=ast.Name("exec" | "eval" | "globals" | "vars" | "locals" | "setattr")):
            return True
        case ast.Attribute(attr="__dict__" | "modules"):
            return True
    return False


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
