"""A YAML file as plain data, with the line of every node and all of its faults at once.

YAML 1.2 through ruamel.yaml: `1e-4` is a number and `off` a word. The node tree is read rather than the
constructed data, because construction stops at the first duplicate key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, nearest
from ablate.study.patch import document_keys, set_in_document

PathKey = tuple[str | int, ...]
_SCALARS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}


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
    faulty: list[PathKey] = field(default_factory=list)
    "Where a problem was found, so that what follows from it is not reported as well."

    def line(self, path: PathKey) -> int | None:
        """The line of the node at `path`, or of its nearest ancestor that the file holds."""
        ancestors = (path[:length] for length in range(len(path), -1, -1))
        return next((self.lines[node] for node in ancestors if node in self.lines), None)

    def report(self, problem: Problem) -> None:
        """Notes a problem, with its line or the option that caused it."""
        path = problem.path
        self.faulty.append(path)
        option = next((text for node, text in self.origins.items() if path and _overlap(node, path)), None)
        place = (
            {"source": option}
            if option
            else {"line": problem.line or self.line(path), "source": problem.source or self.source}
        )
        self.problems.append(replace(problem, **place))

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

    def is_faulty(self, path: PathKey) -> bool:
        """Whether a problem is known at `path`, above it or below it."""
        return any(_overlap(path, known) for known in self.faulty)

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
    """Reads a study file; raises `StudyError` when it is no YAML mapping at all.

    Faults that leave the rest readable (a duplicate key, a number that is not finite) are noted in the
    document's `problems`.
    """
    source = str(path)
    text = _text(path, source)
    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refusal(
            source,
            f"must be YAML: {' '.join(filter(None, (error.context, error.problem)))}",
            line=mark.line + 1 if mark else None,
        ) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refusal(source, "must be YAML: has a control character", line=line) from None
    except (YAMLError, ValueError) as error:
        raise _refusal(source, f"must be YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise _refusal(source, "must be YAML: is nested too deeply") from None
    if root is None:
        raise _refusal(source, "must be a mapping, but the file is empty", line=1)
    if not isinstance(root, MappingNode):
        kind = "a list" if isinstance(root, SequenceNode) else "a single value"
        raise _refusal(source, f"must be a mapping, not {kind}", line=root.start_mark.line + 1)
    document = Document(source, lines={(): 1})
    document.data = _Reader(document, yaml).read(root, ())
    return document


def _text(path: Path, source: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _refusal(source, "must be UTF-8 text", f"byte {error.object[error.start]:#04x}", line) from None
    except FileNotFoundError:
        raise _refusal(
            source,
            "does not exist; name a study file",
            hint=nearest(path.name, sorted(p.name for p in path.parent.glob("*.yaml"))),
        ) from None
    except IsADirectoryError:
        raise _refusal(source, "must be a study file, not a folder") from None
    except OSError as error:
        raise _refusal(source, f"cannot be read: {error.strerror}") from None


def _refusal(
    source: str, rule: str, given: Any = NOT_GIVEN, line: int | None = None, hint: str = ""
) -> StudyError:
    return StudyError([Problem(rule, given=given, hint=hint, line=line, source=source)])


_FAULT: Any = object()
"""A value that could not be read; its key is left out."""


class _Reader:
    """Turns nodes into data; one per document."""

    def __init__(self, document: Document, yaml: YAML) -> None:
        self.document = document
        self.construct = yaml.constructor.construct_object
        self.open: list[Node] = []

    def read(self, node: Node, path: PathKey) -> Any:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(path, line)
        if any(node is outer for outer in self.open):
            return self.fault("must not contain itself", path, line)
        if isinstance(node, ScalarNode):
            return self.scalar(node, path, line)
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
        if node.tag not in _SCALARS:
            # A date, or a tag of the user's: the word itself, which the schema then judges.
            return str(node.value)
        try:
            value = self.construct(node)
        except (YAMLError, ValueError):
            return self.fault("is not a value that YAML knows", path, line, node.value)
        if isinstance(value, float) and not math.isfinite(value):
            return self.fault("must be a finite number", path, line, value)
        return value

    def note(self, rule: str, path: PathKey, line: int) -> None:
        """Notes a problem of the text without marking the node as faulty, so that its value is checked too."""
        self.document.problems.append(Problem(rule, path, line=line, source=self.document.source))

    def fault(self, rule: str, path: PathKey, line: int, given: Any = NOT_GIVEN) -> Any:
        self.document.report(Problem(rule, path, given, line=line))
        return _FAULT
