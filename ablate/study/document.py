"""A study file as plain data, with the line of every node, what options change of it, and all problems found."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml.nodes import MappingNode, SequenceNode

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, nearest
from ablate.base.files import unreadable
from ablate.base.text import masked, masked_inside
from ablate.study.nodes import FAULT, MAX_DEPTH, NotYAML, Reader, composed
from ablate.study.nodes import PathKey as PathKey
from ablate.study.patch import document_keys, is_empty, set_in_document
from ablate.study.sections.seeds import Asked, asked_for

MAX_BYTES = 1_000_000
"""Of a study file."""
EMPTY = "changes nothing: an empty mapping is laid over what is there"
MAX_SHOWN = 200
"""Characters of a `--set` that its problems show."""
MAX_PROBLEMS = 100
"""Of one study: what comes after them is not looked for."""


@dataclass
class Document:
    """Plain data (dict, list, str, int, float, bool, None), the line of each node, and all problems found."""

    source: str
    data: dict[str, Any] = field(default_factory=dict)
    lines: dict[PathKey, int] = field(default_factory=dict)
    "1-based line of each node: for a mapping's entry, that of its key."
    written: dict[str, Any] = field(default_factory=dict)
    "The data as the file has them, before options change them."
    given: dict[PathKey, Any] = field(default_factory=dict)
    "Path → the value that an option gives."
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

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.source)

    def apply(self, sets: Sequence[str] = (), seeds: Asked = None) -> None:
        """Changes the data as `--set` and `--seeds` ask; notes what is wrong with these."""
        for text in sets:
            self._apply(text)
        if seeds is not None:
            given = self.data.get("seeds")
            plain: Any = seeds if isinstance(seeds, int) else [*seeds]
            if isinstance(given, dict) and isinstance(seeds, int):
                plain = {"from": given.get("from", 0), "count": seeds}
            self.set("seeds", plain, f"--seeds {asked_for(seeds)}")

    def _apply(self, text: str) -> None:
        path, equals, value = text.partition("=")
        path = path.strip()
        option = masked(f"--set {text}")
        option = option if len(option) <= MAX_SHOWN else f"{option[:MAX_SHOWN]}…"
        if not equals or not all(path.split(".")):
            self.note(Problem("must be PATH=VALUE, for instance training.lr=1e-3", source=option))
        elif path.count(".") >= MAX_DEPTH:
            self.note(Problem(f"has a path of more than {MAX_DEPTH} steps", source=option))
        else:
            try:
                parsed = parse_value(value)
            except ValueError as error:
                self.note(Problem(f"has a value that is not YAML: {error}", source=option))
                return
            if is_empty(parsed):
                hint = f"Give the values to change under {path}"
                self.note(Problem(EMPTY, source=option, hint=hint))
            else:
                self.set(path, parsed, option)

    def set(self, path: str, value: Any, option: str) -> None:
        """Changes the value at a dotted path, as `option` of the command line asks."""
        keys = document_keys(path)
        self.written = self.written or copy.deepcopy(self.data)
        set_in_document(self.data, keys, value)
        self.given[keys], self.origins[keys] = value, option


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
        data = _reader(document).read(root, ())
        if data is FAULT:
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
        value = None if root is None else _reader(document).read(root, ())
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


def _reader(document: Document) -> Reader:
    return Reader(document.lines, document.unread, document.report)
