"""A study file as plain data, with the line of every node, what options change of it, and all problems found."""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from ablate.base.errors import NOT_GIVEN, Invalid, Problem, StudyError, nearest
from ablate.base.files import unreadable
from ablate.base.text import masked, masked_inside
from ablate.core import names
from ablate.study.patch import document_keys, is_empty, set_in_document
from ablate.study.plain_yaml import MAX_DEPTH, MAX_PROBLEMS, PathKey, parse_value, read_plain
from ablate.study.sections import Asked, asked_for
from ablate.study.stage_config import StageConfig

# Of a study file.
MAX_BYTES = 250_000
# Characters of a `--set` that its problems show.
MAX_SHOWN = 200


class Overrides(Protocol):
    """The options of the command line that change what a study file says."""

    @property
    def sets(self) -> Collection[str]:
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
        """Returns the line of the node at `path`, or of its nearest ancestor that the file holds."""
        for length in range(len(path), -1, -1):
            ancestor = path[:length]
            if ancestor in self.lines:
                return self.lines[ancestor]
        return None

    def report(self, problem: Problem) -> None:
        """Notes a problem, with its line or the option that caused it.

        Passwords in what was given are masked here, before an error cuts it.
        """
        masked_problem = replace(problem, given=masked_inside(problem.given))
        option = self._option_for(problem.path)
        if option is not None:
            self.note(replace(masked_problem, source=option))
        else:
            self.note(replace(masked_problem, line=self.line(problem.path), source=self.source))

    def _option_for(self, path: PathKey) -> str | None:
        """Returns the first option that set the node at `path`, or one around or inside it."""
        if not path:
            return None
        for node, option in self.origins.items():
            shared = min(len(node), len(path))
            if node[:shared] == path[:shared]:
                return option
        return None

    def note(self, problem: Problem) -> None:
        """Notes a problem that has its place; raises `StudyError` when there are too many."""
        self.problems.append(problem)
        if len(self.problems) > MAX_PROBLEMS:
            rule = f"has more problems than these first {MAX_PROBLEMS}"
            raise StudyError([*self.problems[:-1], Problem(rule, source=self.source)])

    def refuse(
        self, path: PathKey, rule: str, given: Any = NOT_GIVEN, allowed: str = "", hint: str = ""
    ) -> None:
        """Notes that the node at `path` breaks a rule; the arguments are those of `Problem`."""
        self.report(Problem(rule, path, given, allowed, hint))

    def report_all(self, problems: Iterable[Problem], path: PathKey = (), **changes: Any) -> None:
        """Notes problems whose paths are relative to `path`, with `changes` to their fields."""
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

    def apply(self, sets: Iterable[str], configs: Sequence[type[StageConfig]] = ()) -> None:
        """Changes the data as `--set` asks; notes what is wrong with the changes."""
        keyed_by_path: list[str] = []
        for config in configs:
            keyed_by_path += config.keyed_by_path
        for text in sets:
            option = masked(f"--set {text}")
            if len(option) > MAX_SHOWN:
                option = f"{option[:MAX_SHOWN]}…"
            try:
                path, value = parse_set(text)
            except ValueError as error:
                self.note(Problem(str(error), source=option))
            else:
                self.set(document_keys(path, keyed_by_path), value, option)

    def _set_seeds(self, seeds: int | Sequence[int]) -> None:
        """Changes the seeds; a number keeps the first seed that the file gives."""
        given = self.data.get("seeds")
        asked: object = seeds
        if not isinstance(seeds, int):
            asked = list(seeds)
        elif isinstance(given, dict):
            asked = {"from": given.get("from", 0), "count": seeds}
        self.set(("seeds",), asked, f"--seeds {asked_for(seeds)}")

    def rename(self, keys: Mapping[PathKey, str | None]) -> None:
        """Gives the entries at some places other keys, or removes them for None and where the key is taken."""
        data = copy.deepcopy(self.data)
        for path, name in keys.items():
            outer: Any = data
            for step in path[:-1]:
                outer = outer[step]
            value = outer.pop(path[-1])
            if name is None or name in outer:
                continue
            outer[name] = value
            for place, line in list(self.lines.items()):
                if place[: len(path)] == path:
                    self.lines[*path[:-1], name, *place[len(path) :]] = line
        self.data = data

    def set(self, keys: tuple[str, ...], value: Any, option: str) -> None:
        """Changes the value at some keys, as `option` of the command line asks."""
        if not self.written:
            self.written = copy.deepcopy(self.data)
        set_in_document(self.data, keys, value)
        self.given[keys] = value
        self.origins[keys] = option


def base_of(path: Path, folder: object) -> Path:
    """Returns the folder to which paths in the study at `path` are relative, without links.

    `folder` is what the study says under that key; what is no text counts as not given.
    """
    base = path.parent
    if isinstance(folder, str):
        base = base / folder
    return base.resolve()


def read_document(path: Path) -> Document:
    """Reads a study file.

    Raises `StudyError` when it is no mapping of plain data, or larger than any study.
    """
    source = str(path)
    try:
        plain = read_plain(_text(path))
        _check_mapping(plain.data)
    except StudyError as error:
        raise StudyError(
            replace(problem, source=source, given=masked_inside(problem.given)) for problem in error.problems
        ) from None
    return Document(source, plain.data, plain.lines)


def _check_mapping(data: object) -> None:
    """Raises `StudyError` for the data of a file that is no mapping."""
    if isinstance(data, dict):
        return
    rule = "must be a mapping, not a single value"
    if data is None:
        rule = "must be a mapping, but the file is empty"
    elif isinstance(data, list):
        rule = "must be a mapping, not a list"
    raise StudyError([Problem(rule, line=1)])


def parse_set(text: str) -> tuple[str, Any]:
    """Returns path and value of a `--set`; raises `ValueError` with what is wrong."""
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


def _text(path: Path) -> str:
    """Returns the text of a file; raises `StudyError` for a file that cannot be read, or is no text."""
    rule = unreadable(path, MAX_BYTES)
    if rule:
        neighbours: list[str] = []
        if rule == "does not exist":
            neighbours = sorted(neighbour.name for neighbour in path.parent.glob("*.yaml"))
        raise StudyError([Problem(f"{rule}; name a study file", hint=nearest(path.name, neighbours))])
    if path.suffix == ".py":
        hint = "`ablate new NAME` writes a study; `ablate guide scripts` shows how it runs a script"
        raise StudyError([Problem("is Python, and a study is YAML", hint=hint)])
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = f"byte {error.object[error.start]:#04x}"
        raise StudyError([Problem("must be UTF-8 text", given=byte, line=line)]) from None
