"""Runs a script with other constants: a file that is run by itself, and imports no other module of this package.

python -P script.py train.py '{"LEARNING_RATE": 0.1}'
"""

import ast
import dis
import io
import json
import math
import os
import re
import sys
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

# The errors of Python for source that it cannot run.
UNREADABLE = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError)

_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
"""The places where a line ends for Python."""

_OF_MODULE = ("STORE_GLOBAL", "DELETE_GLOBAL")
_AT_TOP_LEVEL = (*_OF_MODULE, "STORE_NAME", "DELETE_NAME")


class NotReplaceable(ValueError):
    """A script in which a value cannot be replaced without changing anything else; the message says why."""


@dataclass(frozen=True)
class Constants:
    """The constants of a script: names that code of the module binds once, alone, at the top level."""

    # Name of the module → the lines that bind it, once for each place.
    lines: Mapping[str, list[int]]
    # Name → its value, where a statement at the top level assigns that name alone.
    values: Mapping[str, ast.expr]
    # The lines of `from … import *`.
    stars: list[int]

    @classmethod
    def of(cls, tree: ast.Module) -> "Constants":
        """Returns the constants of a script. Raises one of `UNREADABLE`."""
        values: dict[str, ast.expr] = {}
        stars: list[int] = []
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target: ast.expr = statement.targets[0]
            elif isinstance(statement, ast.AnnAssign):
                target = statement.target
            else:
                continue
            if isinstance(target, ast.Name) and statement.value is not None:
                values[target.id] = statement.value
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                stars.append(node.lineno)
        return cls(_bindings(tree), values, stars)

    def names(self) -> list[str]:
        """Returns the names whose values can be replaced."""
        return [name for name in self.values if not self.fault(name)]

    def fault(self, name: str) -> str:
        """Returns why the value of a name cannot be replaced without changing anything else; empty if it can."""
        lines = self.lines.get(name, [])
        if not lines:
            return "it is not assigned there"
        if len(lines) > 1:
            shown = ", ".join(map(str, dict.fromkeys(lines)))
            return f"it is assigned, imported, defined or deleted {len(lines)} times, in lines {shown}"
        (line,) = lines
        if name not in self.values:
            return f"line {line} assigns it together with other names, or inside another statement"
        value = self.values[name]
        if any(isinstance(node, ast.NamedExpr) for node in ast.walk(value)):
            return f"its value in line {line} assigns another name"
        later = [star for star in self.stars if star > line]
        if later:
            return f"`import *` in line {later[0]} may replace it"
        return ""

    def has_other_keys(self, name: str, value: object) -> bool:
        """Returns whether a constant has keys that are no texts, while a value for it has texts alone.

        value: a value of JSON, whose keys are texts.
        """
        node = self.values.get(name)
        if not isinstance(value, dict) or not isinstance(node, ast.Dict):
            return False
        return any(isinstance(key, ast.Constant) and not isinstance(key.value, str) for key in node.keys)


def parsed_source(source: bytes) -> ast.Module:
    """Returns the syntax tree of a script. Raises one of `UNREADABLE`."""
    with warnings.catch_warnings():
        # Python warns when the script runs.
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _bindings(tree: ast.Module) -> dict[str, list[int]]:
    """Returns name of the module → the lines that bind or delete it. Raises one of `UNREADABLE`.

    The compiler knows them all: loops, imports, patterns, `global`, and what later versions of Python add.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        top_level = compile(tree, "script", "exec", dont_inherit=True)
    places: dict[str, set[tuple[int, int]]] = {}
    for code in _codes(top_level):
        binding = _AT_TOP_LEVEL if code is top_level else _OF_MODULE
        for instruction in dis.get_instructions(code):
            position = instruction.positions
            # An instruction without a position is Python's own, at the end of `except … as`.
            if instruction.opname not in binding or position is None or position.lineno is None:
                continue
            # As a set, since the compiler repeats the end of a branch.
            places.setdefault(instruction.argval, set()).add((position.lineno, position.col_offset or 0))
    lines: dict[str, list[int]] = {}
    for name, positions in places.items():
        lines[name] = [line for line, _ in sorted(positions)]
    return lines


def _codes(top_level: CodeType) -> Iterator[CodeType]:
    """Yields the code of a module and of all that is defined in it."""
    waiting = [top_level]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def literal(value: object) -> str:
    """Returns a value of JSON as an expression of Python, which no name of a script can change."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and math.isnan(value):
        return "(1e999 - 1e999)"
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"
    return ascii(value)


@dataclass(frozen=True)
class Edit:
    """Another text in place of an expression of a source."""

    node: ast.expr
    text: str


def edited(source: bytes, values: Mapping[str, object]) -> bytes:
    """Returns the source of a script with other values of constants, every other byte as it was.

    Raises `NotReplaceable`, and one of `UNREADABLE` for a script that cannot be run as it is.
    """
    tree = parsed_source(source)
    constants = Constants.of(tree)
    for name in values:
        fault = constants.fault(name)
        if fault:
            raise NotReplaceable(f"{name}: {fault}")
    return applied(
        source, tree, [Edit(constants.values[name], literal(value)) for name, value in values.items()]
    )


def applied(source: bytes, tree: ast.Module, edits: Iterable[Edit]) -> bytes:
    """Returns a source with its edits, every other byte as it was.

    tree: the one of the source, which has the expressions of the edits, and is changed. Raises `NotReplaceable`.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    # The columns of Python count bytes of UTF-8.
    lines = [line.encode() for line in _LINE_ENDS.split(source.decode(encoding))]
    # From the end, so that the places of those before stay as they are.
    edits = sorted(edits, key=lambda edit: (edit.node.lineno, edit.node.col_offset), reverse=True)
    for edit in edits:
        first = edit.node.lineno - 1
        last = (edit.node.end_lineno or edit.node.lineno) - 1
        before = lines[first][: edit.node.col_offset]
        after = lines[last][edit.node.end_col_offset :]
        lines[first : last + 1] = [before + edit.text.encode() + after]
    copy = b"".join(lines).decode().encode(encoding)
    _check_copy(copy, tree, {edit.node: ast.parse(edit.text, "value", "eval").body for edit in edits})
    return copy


def _check_copy(copy: bytes, tree: ast.Module, replaced: Mapping[ast.AST, ast.expr]) -> None:
    """Raises `NotReplaceable` unless an edited copy has a syntax tree with some expressions replaced alone."""
    try:
        expected = _Replacing(replaced).visit(tree)
        is_alike = ast.dump(parsed_source(copy)) == ast.dump(expected)
    except UNREADABLE:
        is_alike = False
    if not is_alike:
        raise NotReplaceable("a copy with other values would differ in more than the values")


class _Replacing(ast.NodeTransformer):
    """A transformer of a syntax tree that puts other expressions in place of some."""

    def __init__(self, replaced: Mapping[ast.AST, ast.expr]) -> None:
        self._replaced = replaced

    def visit(self, node: ast.AST) -> ast.AST:
        """Returns the expression in place of a node, or the node with the expressions in it replaced."""
        return self._replaced.get(node) or self.generic_visit(node)


def explained(error: BaseException) -> str:
    """Returns what one of `UNREADABLE` says, with its line."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    return str(error) or "it is nested too deeply"


def root_of(script: Path) -> Path:
    """Returns the folder to which relative paths from a script may lead.

    The copy of a trial, or the repository, or the folder of the script.
    """
    copy = os.environ.get("ABLATE_COPY")
    if copy and script.is_relative_to(copy):
        return Path(copy)
    for folder in script.parents:
        if (folder / ".git").exists():
            return folder
    return Path.cwd() if script.is_relative_to(Path.cwd()) else script.parent


def copied(script: Path, values: Mapping[str, object], folder: Path) -> Path:
    """Writes a copy of a script with other constants below a folder, and returns it.

    The folders between the root and the script are made anew, and everything beside them is a link, so that relative
    paths lead where they lead from the script. Raises what `edited` raises.
    """
    source = edited(script.read_bytes(), values)
    source_folder = root_of(script)
    copy_folder = folder
    for name in script.relative_to(source_folder).parts:
        for other in source_folder.iterdir():
            # Cached bytecode of the script may hold other values.
            is_bytecode = source_folder == script.parent and other.name == "__pycache__"
            if other.name != name and not is_bytecode:
                (copy_folder / other.name).symlink_to(other)
        if source_folder != script.parent:
            source_folder = source_folder / name
            copy_folder = copy_folder / name
            copy_folder.mkdir()
    copy = copy_folder / script.name
    copy.write_bytes(source)
    return copy


def main(target: str, config: str) -> None:
    """Runs a script with these values of its constants."""
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("ABLATE_DIR")))
    try:
        copy = copied(Path(os.path.abspath(target)), json.loads(config), folder)
    except UNREADABLE as error:
        sys.exit(f"{target} cannot be run with other constants: {explained(error)}")
    os.execv(sys.executable, [sys.executable, str(copy)])


if __name__ == "__main__":
    main(*sys.argv[1:])
