"""A YAML file, or the value of a `--set`, as plain data, with the line of every node and all faults at once.

The node tree is read rather than the constructed data, because construction stops at the first duplicate key, and
follows aliases without end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, nearest
from ablate.base.passwords import masked_inside
from ablate.base.reading import unreadable
from ablate.study.nodes import MAX_DEPTH, MAX_NODES, NotYAML, composed, new_yaml, too_deep, too_many
from ablate.study.patch import document_keys, set_in_document

PathKey = tuple[str | int, ...]

MAX_BYTES = 1_000_000
"""Of a study file."""
MAX_PROBLEMS = 100
"""Of one study: what comes after them is not looked for."""
_TAG = "tag:yaml.org,2002:"
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters but those that end lines and columns, and halves of surrogate pairs, which no file can hold."""


@dataclass
class Document:
    """Plain data (dict, list, str, int, float, bool, None), the line of each node, and all problems found."""

    source: str
    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[PathKey, int] = field(default_factory=dict)
    "1-based line of each node: for a mapping's entry, that of its key."
    origins: dict[PathKey, str] = field(default_factory=dict)
    "Nodes that came from elsewhere: the option of the command line that set them."
    problems: list[Problem] = field(default_factory=list)
    unread: set[PathKey] = field(default_factory=set)
    "Nodes whose value could not be read, and is left out."

    def line(self, path: PathKey) -> int | None:
        """The line of the node at `path`, or of its nearest ancestor that the file holds."""
        ancestors = (path[:length] for length in range(len(path), -1, -1))
        return next((self.lines[node] for node in ancestors if node in self.lines), None)

    def report(self, problem: Problem) -> None:
        """Notes a problem, with its line or the option that caused it.

        Passwords in what was given are masked here, before an error cuts it.
        """
        path = problem.path
        option = next((text for node, text in self.origins.items() if path and _overlap(node, path)), None)
        place = (
            {"source": option}
            if option
            else {"line": problem.line or self.line(path), "source": problem.source or self.source}
        )
        self.note(replace(problem, given=masked_inside(problem.given), **place))

    def note(self, problem: Problem) -> None:
        """Notes a problem that has its place; raises `StudyError` when there are too many."""
        if len(self.problems) == MAX_PROBLEMS:
            rule = f"has more problems; these are the first {MAX_PROBLEMS} that were found"
            raise StudyError([*self.problems, Problem(rule, source=self.source)])
        self.problems.append(problem)

    def refuse(
        self, path: PathKey, rule: str, given: Any = NOT_GIVEN, allowed: str = "", hint: str = ""
    ) -> None:
        """Notes that the node at `path` breaks a rule; the arguments are those of `Problem`."""
        self.report(Problem(rule, path, given, allowed, hint))

    def report_all(self, problems: Iterable[Problem], path: PathKey = (), **changes: Any) -> None:
        """Notes problems whose paths are relative to `path`, with some of their fields changed."""
        for problem in problems:
            self.report(replace(problem, path=(*path, *problem.path), **changes))

    @contextmanager
    def reporting(self, *path: str | int, **changes: Any) -> Iterator[None]:
        """Reports an `Invalid` raised inside, as `report_all` does, and goes on after the block."""
        try:
            yield
        except Invalid as error:
            self.report_all(error.problems, path, **changes)

    def raise_problems(self) -> None:
        """Raises `StudyError` with all problems, if there are any."""
        if self.problems:
            raise StudyError(self.problems)

    def set(self, path: str, value: Any, option: str) -> None:
        """Changes the value at a dotted path, as `option` of the command line asks."""
        keys = document_keys(path)
        set_in_document(self.data, keys, value)
        self.origins[keys] = option


def _overlap(a: PathKey, b: PathKey) -> bool:
    """Whether one of two nodes is the other, or contains it."""
    length = min(len(a), len(b))
    return a[:length] == b[:length]


def read_document(path: Path) -> Document:
    """Reads a study file; raises `StudyError` when it is no YAML mapping at all, or larger than any study.

    Faults that leave the rest readable (a duplicate key, a number that is not finite) are noted in the
    document's `problems`.
    """
    source = str(path)
    text = _text(path, source)
    try:
        root = composed(text)
        if root is None:
            raise NotYAML("must be a mapping, but the file is empty", 1)
        if not isinstance(root, MappingNode):
            kind = "a list" if isinstance(root, SequenceNode) else "a single value"
            raise NotYAML(f"must be a mapping, not {kind}", root.start_mark.line + 1)
        document = Document(source, lines={(): 1})
        data = _Reader(document).read(root, ())
        if data is _FAULT:
            raise StudyError(document.problems)
        document.data = data
    except NotYAML as error:
        raise StudyError([Problem(error.rule, line=error.line, source=source)]) from None
    return document


def parse_value(text: str) -> Any:
    """A value as a study file would have it; raises `ValueError` with all that is wrong."""
    document = Document("")
    try:
        root = composed(text)
        value = None if root is None else _Reader(document).read(root, ())
    except NotYAML as error:
        raise ValueError(error.rule.removeprefix("must be YAML: ")) from None
    if document.problems:
        raise ValueError("; ".join(str(replace(p, line=None)) for p in document.problems))
    return value


def _text(path: Path, source: str) -> str:
    if rule := unreadable(path, MAX_BYTES):
        names = sorted(p.name for p in path.parent.glob("*.yaml")) if rule == "does not exist" else []
        rule = f"{rule}; name a study file"
        raise StudyError([Problem(rule, hint=nearest(path.name, names), source=source)])
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = f"byte {error.object[error.start]:#04x}"
        raise StudyError([Problem("must be UTF-8 text", given=byte, line=line, source=source)]) from None
    except OSError as error:
        raise StudyError([Problem(f"cannot be read: {error.strerror}", source=source)]) from None


_FAULT: Any = object()
"""A value that could not be read; its key is left out."""


class _Reader:
    """Turns nodes into data; one per document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.construct = new_yaml().constructor.construct_object
        self.open: list[Node] = []
        self.count = 0

    def read(self, node: Node, path: PathKey) -> Any:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(path, line)
        self.count += 1
        if any(node is outer for outer in self.open):
            return self.fault("must not contain itself", path, line)
        # Both at the entry of the file that is read; the node may be that of an alias, far above.
        if self.count > MAX_NODES:
            raise too_many(self.document.lines.get(path[:1], line))
        if len(self.open) > MAX_DEPTH:
            raise too_deep(self.document.lines.get(path[:1], line))
        if isinstance(node, ScalarNode):
            return self.scalar(node, path, line)
        if str(node.tag) not in (f"{_TAG}map", f"{_TAG}seq"):
            return self.unknown(node, path, line)
        self.open.append(node)
        if isinstance(node, SequenceNode):
            items = [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
            value: Any = [None if item is _FAULT else item for item in items]
        else:
            assert isinstance(node, MappingNode)
            value = self.mapping(node, path)
        self.open.pop()
        return value

    def mapping(self, node: MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line, key = key_node.start_mark.line + 1, str(key_node.value)
            if not isinstance(key_node, ScalarNode):
                self.note("a key must be a word", path, line)
            elif not str(key_node.tag).startswith(_TAG):
                self.unknown(key_node, (*path, key), line)
            elif _NO_TEXT.search(key):
                self.note("a key must not have a control character", path, line, key)
            elif key in result:
                first = self.document.lines[(*path, key)]
                self.note(f"duplicate key, first defined on line {first}", (*path, key), line)
            else:
                self.document.lines[(*path, key)] = line
                value = self.read(value_node, (*path, key))
                if value is not _FAULT:
                    result[key] = value
        return result

    def scalar(self, node: ScalarNode, path: PathKey, line: int) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        if _NO_TEXT.search(node.value):
            return self.fault("must not have a control character", path, line, node.value)
        if kind == "timestamp":
            # A date: the word itself, which the schema then judges.
            return str(node.value)
        if kind not in ("str", "int", "float", "bool", "null"):
            return self.unknown(node, path, line)
        try:
            value = self.construct(node)
        except (YAMLError, ValueError, LookupError):
            return self.fault("is not a value that YAML knows", path, line, node.value)
        if isinstance(value, float) and not math.isfinite(value):
            return self.fault("must be a finite number", path, line, value)
        if type(value) is int and not -(2**63) <= value < 2**63:
            return self.fault("must be a number of at most 64 bits", path, line, node.value)
        return value

    def unknown(self, node: Node, path: PathKey, line: int) -> Any:
        tag = str(node.tag)
        tag = f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
        return self.fault("has a tag that means nothing in a study", path, line, tag)

    def fault(self, rule: str, path: PathKey, line: int, given: Any = NOT_GIVEN) -> Any:
        self.note(rule, path, line, given)
        self.document.unread.add(path)
        return _FAULT

    def note(self, rule: str, path: PathKey, line: int, given: Any = NOT_GIVEN) -> None:
        self.document.report(Problem(rule, path, given, line=line))
