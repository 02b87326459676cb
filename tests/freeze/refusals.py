"""Recordings of refusals: studies and calls, each beside the lines with which the package refuses it.

A file in `refused/` lists groups of studies: the lines with which their files begin, and the cases that go on from
there. Of a refusal the recording keeps the file, line, path and rule; what was given, what is allowed and hints may
change.
"""

import io
import re
import shlex
import shutil
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from harness import ablate_here
from ruamel.yaml import YAML

from . import today
from .folders import ROOT, temporary, toy_folder, write_files
from .recording import Recording

SLOW = ("calls", "match", "model", "search", "task", "variants")
"""The files that take longest."""
SECTIONS = sorted((Path(__file__).parent / "refused").glob("*.yaml"))
LONG = "n" * 300
REPETITION = re.compile(r"<(\d+)\.\.(\d+): ([^>]*)>")
"""A piece that is repeated once a number: `<1..3: x#, >` is `x1, x2, x3, `."""


class Case(TypedDict, total=False):
    """A study, with the lines with which it is refused."""

    study: str
    """The end of `study.yaml`, after the lines with which the studies of the group begin."""
    files: dict[str, str]
    """Other files of the case."""
    sets: list[str]
    """Its options `--set`."""
    refused: list[str]


class Group(TypedDict):
    """Cases whose studies begin alike."""

    begins: NotRequired[str]
    files: NotRequired[dict[str, str]]
    """Files of every case."""
    cases: list[Case]


class Call(TypedDict):
    """A call of the command line, with its exit code, its refusals and the files that it made."""

    call: str
    answer: list[str]


class Scene(TypedDict):
    """Calls in one folder, one after the other."""

    about: str
    toy: NotRequired[bool]
    """Whether the folder has the toy study and its results."""
    files: NotRequired[dict[str, str]]
    calls: list[Call]


class Refusals(Recording):
    """Cases in a file of YAML, each beside its answer."""

    key: str
    """The key of the answer in a case."""

    def __init__(self, path: Path) -> None:
        self.file = path
        self.name = f"refused-{path.stem}"
        self.slow = path.stem in SLOW

    @property
    def path(self) -> Path:
        """The file."""
        return self.file

    @abstractmethod
    def answers(self, document: list[Any]) -> Iterator[tuple[Any, list[str]]]:
        """Yields each case of the file with the lines that the package answers now."""

    def changes(self) -> list[str]:
        """Returns each case whose answer changed, with the lines that went and that came."""
        lines: list[str] = []
        for case, answer in self.answers(_yaml().load(self.path)):
            recorded = case.get(self.key, [])
            if recorded == answer:
                continue
            lines += _shown({key: value for key, value in case.items() if key != self.key})
            lines += [f"- {line}" for line in recorded if line not in answer]
            lines += [f"+ {line}" for line in answer if line not in recorded]
        return lines

    def record(self) -> None:
        """Writes the answers of now beside their cases; everything else in the file stays."""
        document = _yaml().load(self.path)
        for case, answer in self.answers(document):
            case[self.key] = answer
        _yaml().dump(document, self.path)


class RefusedStudies(Refusals):
    """Groups of studies, each beside its refusals."""

    key = "refused"

    def answers(self, document: list[Group]) -> Iterator[tuple[Case, list[str]]]:
        """Yields each case with its refusals."""
        root = temporary()
        for group in document:
            for case in group["cases"]:
                folder = root / str(len(list(root.iterdir())))
                study = {"study.yaml": group.get("begins", "") + case.get("study", "")}
                write_files(folder, _expanded(group.get("files", {}) | case.get("files", {}) | study))
                sets = [expanded(option) for option in case.get("sets", [])]
                refusals = today.refusals(folder / "study.yaml", sets)
                yield case, sorted(normal_form(refusal, folder) for refusal in refusals)


class RefusedCalls(Refusals):
    """Scenes of calls, each beside its exit code, its refusals and the files that it made."""

    key = "answer"

    def answers(self, document: list[Scene]) -> Iterator[tuple[Call, list[str]]]:
        """Yields each call with its answer."""
        for scene in document:
            folder = temporary()
            if scene.get("toy"):
                shutil.copytree(toy_folder(), folder, dirs_exist_ok=True)
            write_files(folder, _expanded(scene.get("files", {})))
            for call in scene["calls"]:
                before = set(folder.rglob("*"))
                done = ablate_here(*shlex.split(expanded(call["call"])), cwd=folder)
                answer = [f"exit code {done.returncode}"]
                if done.returncode:
                    answer += [normal_form(line, folder) for line in _messages(done.stderr)]
                if not scene.get("toy"):
                    made = set(folder.rglob("*")) - before
                    answer += sorted(f"made {path.relative_to(folder)}" for path in made)
                yield call, answer


def _messages(printed: str) -> list[str]:
    """Returns the lines of standard error but those that say how a command is used."""
    return [
        line for line in printed.splitlines() if line.strip() and not line.startswith(("Usage: ", "Try '"))
    ]


def normal_form(refusal: str, folder: Path) -> str:
    """Returns the file, line, path and rule of a refusal in one line, without folders of this machine."""
    rule = re.split("; given |; allowed: ", " ".join(refusal.split()))[0]
    for piece, name in ((f"{folder}/", ""), (str(folder), "FOLDER"), (str(ROOT), "ROOT"), (LONG, "{LONG}")):
        rule = rule.replace(piece, name)
    return rule.encode("utf-8", "backslashreplace").decode()


def expanded(content: str) -> str:
    """Returns a text of a case as the package gets it: repetitions, the folder of tests and a long name filled in."""
    content = content.replace("{TESTS}", str(ROOT / "tests")).replace("{LONG}", LONG)
    return REPETITION.sub(_repeated, content)


def _repeated(match: re.Match[str]) -> str:
    first, last, piece = match.groups()
    return "".join(piece.replace("#", str(number)) for number in range(int(first), int(last) + 1))


def _expanded(files: dict[str, str]) -> dict[str, str]:
    return {name: expanded(content) for name, content in files.items()}


def _yaml() -> YAML:
    """Returns a reader and writer of YAML that keeps comments, quotes and blocks, and breaks no line."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    return yaml


def _shown(case: dict[str, object]) -> list[str]:
    file = io.StringIO()
    _yaml().dump(case, file)
    return file.getvalue().splitlines()


REFUSALS = [RefusedCalls(path) if path.stem == "calls" else RefusedStudies(path) for path in SECTIONS]
