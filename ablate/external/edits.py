"""Edits of a Python source that change some expressions, and nothing else."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ablate.external.script import UNREADABLE, NotReplaceable, parsed_source

_LINES = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
"""Where a line ends for Python."""


@dataclass(frozen=True)
class Edit:
    """Another text in place of an expression of a source."""

    node: ast.expr
    text: str


def applied(source: bytes, tree: ast.Module, edits: Iterable[Edit]) -> bytes:
    """Returns a source with its edits, every other byte as it was.

    tree: the one of the source, which has the expressions of the edits, and is changed. Raises `NotReplaceable`.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    # The columns of Python count bytes of UTF-8.
    lines = [line.encode() for line in _LINES.split(source.decode(encoding))]
    # From the end, so that the places of those before stay as they are.
    edits = sorted(edits, key=lambda edit: (edit.node.lineno, edit.node.col_offset), reverse=True)
    for edit in edits:
        first = edit.node.lineno - 1
        last = (edit.node.end_lineno or edit.node.lineno) - 1
        before = lines[first][: edit.node.col_offset]
        rest = lines[last][edit.node.end_col_offset :]
        lines[first : last + 1] = [before + edit.text.encode() + rest]
    copy = b"".join(lines).decode().encode(encoding)
    _check(copy, tree, {edit.node: ast.parse(edit.text, "value", "eval").body for edit in edits})
    return copy


def _check(copy: bytes, tree: ast.Module, replaced: Mapping[ast.AST, ast.expr]) -> None:
    """Raises `NotReplaceable` unless a copy has a syntax tree with some expressions replaced alone."""
    expected = _Replacing(replaced).visit(tree)
    try:
        is_alike = ast.dump(parsed_source(copy)) == ast.dump(expected)
    except UNREADABLE:
        is_alike = False
    if not is_alike:
        raise NotReplaceable("a copy with other values would differ in more than the values")


class _Replacing(ast.NodeTransformer):
    """Replaces expressions of a syntax tree."""

    def __init__(self, replaced: Mapping[ast.AST, ast.expr]) -> None:
        self._replaced = replaced

    def visit(self, node: ast.AST) -> ast.AST:
        return self._replaced.get(node) or self.generic_visit(node)
