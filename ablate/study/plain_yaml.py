"""YAML text as plain data (dict, list, str, int, float, bool, None), with the line of every node.

YAML 1.2 through ruamel.yaml: `1e-4` is a number and `off` a word. The tree of nodes is read rather than the constructed
data: construction stops at the first duplicate key, and a few aliases can stand for a billion values.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError

PathKey = tuple[str | int, ...]

# Keys and values of a text, those behind an alias as often as they are used.
MAX_NODES = 20_000
# Of values inside one another, and of the path of a `--set`.
MAX_DEPTH = 40
# Of one study: what comes after them is not looked for.
MAX_PROBLEMS = 100
_TAG = "tag:yaml.org,2002:"
_TAGS = [_TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")]
# Control characters but those that end lines and columns, and halves of surrogate pairs, which no file can hold.
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_IN_SINGLE_QUOTES = "Write a pattern in single quotes, in which a backslash is a backslash"
_OF_INDENTATION = ("mapping values are not allowed", "expected <block end>")
_TOO_MANY = (
    f"must have at most {MAX_NODES:,} keys and values; those of an alias count each time that it is used"
)
_TOO_DEEP = f"must be YAML: is nested too deeply; allowed: {MAX_DEPTH} levels"


@dataclass(frozen=True)
class PlainData:
    """The data of one text, and where they stand in it."""

    data: Any
    # 1-based line of each node: for a mapping's entry, that of its key.
    lines: dict[PathKey, int]


def read_plain(text: str) -> PlainData:
    """Reads a text; raises `StudyError` with its first problems, which have their lines."""
    yaml = YAML(typ="safe", pure=True)
    root = _composed(yaml, text)
    if root is None:
        return PlainData(None, {})
    reader = _Reader(yaml)
    data = reader.read(root, ())
    if reader.problems:
        raise StudyError(reader.problems[:MAX_PROBLEMS])
    return PlainData(data, reader.lines)


def parse_value(text: str) -> Any:
    """Returns a value as a study file would have it; raises `ValueError` with all that is wrong."""
    try:
        return read_plain(text).data
    except StudyError as error:
        problems = [str(replace(problem, line=None)) for problem in error.problems]
        raise ValueError("; ".join(problems).removeprefix("must be YAML: ")) from None


def _composed(yaml: YAML, text: str) -> Node | None:
    """Returns the node tree of a text, in which aliases lead to one node from several places.

    Raises `StudyError`.
    """
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False
    try:
        return yaml.compose(text)
    except MaxDepthExceededError as error:
        raise StudyError([Problem(_TOO_DEEP, line=_line(error, text))]) from None
    except (YAMLError, ValueError) as error:
        parts = [getattr(error, "context", None), getattr(error, "problem", None)]
        said = " ".join(part for part in parts if part)
        fault = said or str(error).partition("\n")[0]
        line = _line(error, text)
        problem = Problem(f"must be YAML: {fault}", hint=_remedy(fault, text, line), line=line)
        raise StudyError([problem]) from None


def _remedy(fault: str, text: str, line: int) -> str:
    """Returns what to do about a fault at a line of a text; empty where the fault says it."""
    if "unknown escape character" in fault:
        return _IN_SINGLE_QUOTES
    if "'\\t' that cannot start" in fault:
        return "Indent by spaces, not by tabs"
    rows = text.splitlines()
    earlier = [number for number in range(1, line) if rows[number - 1].strip()]
    if not earlier or not any(words in fault for words in _OF_INDENTATION):
        return ""
    column = _first_column(rows[line - 1])
    column_before = _first_column(rows[earlier[-1] - 1])
    if column == column_before:
        return ""
    return (
        f"Keys of one block begin in one column: line {line} begins in column {column}, "
        f"line {earlier[-1]} in column {column_before}"
    )


def _first_column(row: str) -> int:
    """Returns the column, from 1 on, in which a line begins."""
    return len(row) - len(row.lstrip()) + 1


def _line(error: Exception, text: str) -> int:
    """Returns the 1-based line of a text at which an error of YAML was found."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark:
        return mark.line + 1
    return text.count("\n", 0, getattr(error, "position", 0)) + 1


class _Reader:
    """The walk over the nodes of one text: the lines that it has passed, and the problems that it has found."""

    def __init__(self, yaml: YAML) -> None:
        self.lines: dict[PathKey, int] = {}
        self.problems: list[Problem] = []
        self._count = 0
        self._construct = yaml.constructor.construct_object

    def read(self, node: Node, path: PathKey) -> Any:
        """Returns the data of a node; None where it cannot be read, which is a problem.

        Raises `StudyError` where there are too many nodes, or too many inside one another.
        """
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count += 1
        self._check_size(path, line)
        try:
            if str(node.tag) not in _TAGS:
                tag = str(node.tag).replace(_TAG, "!!")
                raise Invalid("", "has a YAML tag, which a study cannot use", tag)
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, ScalarNode):
                return self._scalar(node)
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        except Invalid as error:
            self.problems += [replace(problem, path=path, line=line) for problem in error.problems]
            return None

    def _check_size(self, path: PathKey, line: int) -> None:
        # At the entry of the file that is read; the node may be that of an alias, far above.
        entry_line = self.lines.get(path[:1], line)
        if self._count > MAX_NODES:
            raise StudyError([Problem(_TOO_MANY, line=entry_line)])
        if len(path) > MAX_DEPTH:
            raise StudyError([Problem(_TOO_DEEP, line=entry_line)])

    def _mapping(self, node: MappingNode, path: PathKey) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = str(key_node.value)
            inside = (*path, key)
            is_word = isinstance(key_node, ScalarNode) and str(key_node.tag).startswith(_TAG)
            if not is_word or _NO_TEXT.search(key):
                given = key if isinstance(key_node, ScalarNode) else NOT_GIVEN
                self.problems.append(Problem("a key must be a word", path, given, line=line))
            elif key in entries:
                rule = f"duplicate key, first defined on line {self.lines[inside]}"
                self.problems.append(Problem(rule, inside, line=line))
            else:
                self.lines[inside] = line
                entries[key] = self.read(value_node, inside)
        return entries

    def _scalar(self, node: ScalarNode) -> str | int | float | bool | None:
        """Returns the value of a word or number; raises `Invalid`."""
        if _NO_TEXT.search(node.value):
            raise Invalid("", "must not contain a control character", node.value)
        if str(node.tag) == f"{_TAG}timestamp":
            return str(node.value)  # the word itself, which the schema then judges
        try:
            value: str | int | float | bool | None = self._construct(node)
        except (YAMLError, ValueError, LookupError):
            raise Invalid("", "is not a YAML value", node.value) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid("", "must be a finite number", value)
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise Invalid("", "must be a number of at most 64 bits", node.value)
        return value
