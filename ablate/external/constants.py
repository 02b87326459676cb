"""What a Python file says without running: its constants, those that seed a generator, and a copy with others."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SEEDING = re.compile(
    r"(^|\.)(manual_seed(_all)?|seed|set_seed|seed_everything|default_rng|RandomState|PRNGKey)$"
)


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


def unread(tree: ast.Module, name: str) -> bool:
    """Whether nothing in a module reads a name, not even by looking through all of them."""
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return names.isdisjoint({name, "globals", "locals", "vars", "exec", "eval"})


def changed(file: Path, values: Mapping[str, Any], place: Path) -> Path:
    """A copy of a script in a folder of its own in `place`, with constants at its top level replaced.

    All that lies beside the script lies beside the copy, as links, so that it imports and opens the same.
    """
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    known = constants(parsed(file))
    for node, value in sorted(
        ((known[name], values[name]) for name in values), key=lambda one: (-one[0].lineno, -one[0].col_offset)
    ):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        source = source[:begin] + repr(value).encode() + source[end:]
    copy = place / "copy" / file.name
    copy.parent.mkdir()
    for other in file.parent.iterdir():
        if other != file:
            (copy.parent / other.name).symlink_to(other)
    copy.write_bytes(source)
    return copy
