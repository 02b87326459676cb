"""A study file as plain data, with the line of every node, what options change of it, and all problems found.

YAML 1.2 through ruamel.yaml: `1e-4` is a number and `off` a word. The tree of nodes is read rather than the constructed
data: construction stops at the first duplicate key, and a few aliases can stand for a billion values.
"""

import copy
import math
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, nearest
from ablate.base.files import unreadable
from ablate.base.text import masked, masked_inside
from ablate.core import names
from ablate.study.patch import document_keys, is_empty, set_in_document
from ablate.study.sections import Asked, asked_for
from ablate.study.stage_config import StageConfig

PathKey = tuple[str | int, ...]

# Of a study file.
MAX_BYTES = 250_000
# Keys and values of a study, those behind an alias as often as they are used.
MAX_NODES = 20_000
# Of values inside one another, and of the path of a `--set`.
MAX_DEPTH = 40
# Characters of a `--set` that its problems show.
MAX_SHOWN = 200
# Of one study: what comes after them is not looked for.
MAX_PROBLEMS = 100
_TAG = "tag:yaml.org,2002:"
_TAGS = [_TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp")]
# Control characters but those that end lines and columns, and halves of surrogate pairs, which no file can hold.
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_TOO_MANY = (
    f"must have at most {MAX_NODES:,} keys and values, those behind an alias counted wherever it is used"
)
_TOO_DEEP = f"must be YAML: is nested too deeply; allowed: {MAX_DEPTH} levels"


class Overrides(Protocol):
    """The options of the command line that change what a study file says."""

    @property
    def sets(self) -> Sequence[str]:
        """Changes as `PATH=VALUE`, of `--set`."""

    @property
    def seeds(self) -> Asked:
        """The number of seeds, or each of them, of `--seeds`."""

    @property
    def confirm(self) -> bool:
        """Whether the study is the confirmation of the one in the file, by `--confirm`."""


@dataclass
class Document:
    """Plain data (dict, list, str, int, float, bool, None), the line of each node, and all problems found."""

    source: str
    data: dict[str, Any] = field(default_factory=dict)
    # 1-based line of each node: for a mapping's entry, that of its key.
    lines: dict[PathKey, int] = field(default_factory=dict)
    # The data as the file has them, before options change them.
    written: dict[str, Any] = field(default_factory=dict)
    # Path → the value that an option gives.
    given: dict[PathKey, Any] = field(default_factory=dict)
    # Nodes that came from elsewhere: the option of the command line that set them.
    origins: dict[PathKey, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.source)

    def line(self, path: PathKey) -> int | None:
        """The line of the node at `path`, or of its nearest ancestor that the file holds."""
        ancestors = (path[:length] for length in range(len(path), -1, -1))
        return next((self.lines[node] for node in ancestors if node in self.lines), None)

    def report(self, problem: Problem) -> None:
        """Notes a problem, with its line or the option that caused it.

        Passwords in what was given are masked here, before an error cuts it.
        """
        path = problem.path
        # Of two nodes, one is the other or contains it.
        above = [text for node, text in self.origins.items() if path and all(map(operator.eq, node, path))]
        place = {"source": above[0]} if above else {"line": self.line(path), "source": self.source}
        self.note(replace(problem, given=masked_inside(problem.given), **place))

    def note(self, problem: Problem) -> None:
        """Notes a problem that has its place; raises `StudyError` when there are too many."""
        self.problems.append(problem)
        if len(self.problems) > MAX_PROBLEMS:
            rule = f"has more problems; these are the first {MAX_PROBLEMS} that were found"
            raise StudyError([*self.problems[:-1], Problem(rule, source=self.source)])

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
    def reporting(self, *path: str | int) -> Iterator[None]:
        """Reports an `Invalid` raised inside, as `report_all` does, and goes on after the block."""
        try:
            yield
        except Invalid as error:
            self.report_all(error.problems, path)

    def raise_problems(self) -> None:
        """Raises `StudyError` with all problems, if there are any."""
        if self.problems:
            raise StudyError(self.problems)

    def override(self, options: Overrides, configs: Sequence[type[StageConfig]]) -> Self:
        """Changes the data as `--set`, `--seeds` and `--confirm` ask, and returns itself; notes what is wrong."""
        self.apply(options.sets, configs)
        if options.seeds is not None:
            self._set_seeds(options.seeds)
        if options.confirm:
            self.set(("name",), names.confirming(str(self.data.get("name", ""))), "--confirm")
        return self

    def apply(self, sets: Sequence[str], configs: Sequence[type[StageConfig]] = ()) -> None:
        """Changes the data as `--set` asks; notes what is wrong with the changes."""
        keyed_by_path = [place for config in configs for place in config.keyed_by_path]
        for text in sets:
            option = masked(f"--set {text}")
            option = option if len(option) <= MAX_SHOWN else f"{option[:MAX_SHOWN]}…"
            try:
                path, value = parse_set(text)
            except ValueError as error:
                self.note(Problem(str(error), source=option))
            else:
                self.set(document_keys(path, keyed_by_path), value, option)

    def _set_seeds(self, seeds: int | Sequence[int]) -> None:
        given = self.data.get("seeds")
        plain: Any = seeds if isinstance(seeds, int) else [*seeds]
        if isinstance(given, dict) and isinstance(seeds, int):
            plain = {"from": given.get("from", 0), "count": seeds}
        self.set(("seeds",), plain, f"--seeds {asked_for(seeds)}")

    def set(self, keys: tuple[str, ...], value: Any, option: str) -> None:
        """Changes the value at some keys, as `option` of the command line asks."""
        self.written = self.written or copy.deepcopy(self.data)
        set_in_document(self.data, keys, value)
        self.given[keys], self.origins[keys] = value, option


def base_of(path: Path, folder: object) -> Path:
    """The folder to which paths are relative in a study at `path` whose `folder` is this, without links."""
    return (path.parent / folder if isinstance(folder, str) else path.parent).resolve()


def read_document(path: Path) -> Document:
    """Reads a study file; raises `StudyError` when it is no mapping of plain data, or larger than any study."""
    source = str(path)
    try:
        read = _Reader(_text(path))
        if not isinstance(read.data, dict):
            kinds = {
                list: "must be a mapping, not a list",
                type(None): "must be a mapping, but the file is empty",
            }
            rule = kinds.get(type(read.data), "must be a mapping, not a single value")
            raise StudyError([Problem(rule, line=1)])
    except StudyError as error:
        found = (replace(p, source=source, given=masked_inside(p.given)) for p in error.problems)
        raise StudyError(found) from None
    return Document(source, read.data, read.lines)


def parse_set(text: str) -> tuple[str, Any]:
    """Path and value of a `--set`; raises `ValueError` with what is wrong."""
    path, equals, value = text.partition("=")
    path = path.strip()
    if not equals or not all(path.split(".")):
        raise ValueError("must be PATH=VALUE, for instance training.lr=1e-3")
    if path.count(".") >= MAX_DEPTH:
        raise ValueError(f"has a path of more than {MAX_DEPTH} steps")
    try:
        parsed = parse_value(value)
    except ValueError as error:
        raise ValueError(f"has a value that is not YAML: {error}") from None
    if is_empty(parsed):
        raise ValueError("changes nothing: give the values to change, not an empty mapping")
    return path, parsed


def parse_value(text: str) -> Any:
    """A value as a study file would have it; raises `ValueError` with all that is wrong."""
    try:
        return _Reader(text).data
    except StudyError as error:
        found = (str(replace(problem, line=None)) for problem in error.problems)
        raise ValueError("; ".join(found).removeprefix("must be YAML: ")) from None


def _text(path: Path) -> str:
    if rule := unreadable(path, MAX_BYTES):
        names = sorted(p.name for p in path.parent.glob("*.yaml")) if rule == "does not exist" else []
        raise StudyError([Problem(f"{rule}; name a study file", hint=nearest(path.name, names))])
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = f"byte {error.object[error.start]:#04x}"
        raise StudyError([Problem("must be UTF-8 text", given=byte, line=line)]) from None


def _composed(yaml: YAML, text: str) -> Node | None:
    """The node tree of a text, in which aliases lead to one node from several places; raises `StudyError`."""
    yaml.max_depth = MAX_DEPTH
    yaml.composer.warn_double_anchors = False
    try:
        return yaml.compose(text)
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))
        said = " ".join(filter(None, (getattr(error, name, None) for name in ("context", "problem"))))
        what = said or str(error).partition("\n")[0]
        rule = _TOO_DEEP if isinstance(error, MaxDepthExceededError) else f"must be YAML: {what}"
        raise StudyError([Problem(rule, line=line + 1)]) from None


class _Reader:
    """The data of one text and the line of each node; raises `StudyError` with the first problems."""

    def __init__(self, text: str) -> None:
        self.lines: dict[PathKey, int] = {}
        self.problems: list[Problem] = []
        self._count = 0
        yaml = YAML(typ="safe", pure=True)
        self._construct = yaml.constructor.construct_object
        root = _composed(yaml, text)
        self.data = None if root is None else self._read(root, ())
        if self.problems:
            raise StudyError(self.problems[:MAX_PROBLEMS])

    def _read(self, node: Node, path: PathKey) -> Any:
        """The data of a node; None where it cannot be read, which is a problem."""
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self._count += 1
        if self._count > MAX_NODES or len(path) > MAX_DEPTH:
            # At the entry of the file that is read; the node may be that of an alias, far above.
            rule = _TOO_MANY if self._count > MAX_NODES else _TOO_DEEP
            raise StudyError([Problem(rule, line=self.lines.get(path[:1], line))])
        try:
            if str(node.tag) not in _TAGS:
                tag = str(node.tag).replace(_TAG, "!!")
                raise Invalid("", "has a tag that means nothing in a study", tag)
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, ScalarNode):
                return self._scalar(node)
            return [self._read(item, (*path, index)) for index, item in enumerate(node.value)]
        except Invalid as error:
            self.problems += [replace(problem, path=path, line=line) for problem in error.problems]
            return None

    def _mapping(self, node: MappingNode, path: PathKey) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line, key = key_node.start_mark.line + 1, str(key_node.value)
            inside = (*path, key)
            plain = isinstance(key_node, ScalarNode) and str(key_node.tag).startswith(_TAG)
            if not plain or _NO_TEXT.search(key):
                given = key if isinstance(key_node, ScalarNode) else NOT_GIVEN
                self.problems.append(Problem("a key must be a word", path, given, line=line))
            elif key in result:
                rule = f"duplicate key, first defined on line {self.lines[inside]}"
                self.problems.append(Problem(rule, inside, line=line))
            else:
                self.lines[inside] = line
                result[key] = self._read(value_node, inside)
        return result

    def _scalar(self, node: ScalarNode) -> Any:
        """The value of a word or number; raises `Invalid`."""
        if _NO_TEXT.search(node.value):
            raise Invalid("", "must not have a control character", node.value)
        if str(node.tag) == f"{_TAG}timestamp":
            return str(node.value)  # the word itself, which the schema then judges
        try:
            value = self._construct(node)
        except (YAMLError, ValueError, LookupError):
            raise Invalid("", "is not a value that YAML knows", node.value) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise Invalid("", "must be a finite number", value)
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise Invalid("", "must be a number of at most 64 bits", node.value)
        return value
