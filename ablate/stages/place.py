"""Where a run reports: in the folder of its study, or beside a finished report that it would replace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.base.locks import exclusive, interruptible
from ablate.base.wording import joined
from ablate.core import names
from ablate.core.facts import Facts
from ablate.records.folder import StudyFolder
from ablate.study import given

COMMANDS = ("run", "sweep")


def place(
    results: Path, name: str, differences: Sequence[str], *, sweep: bool
) -> tuple[StudyFolder, list[str]]:
    """The folder in which a run of the study `name` reports, and what it differs in from the study as written.

    Where `results/<name>/` holds the report of the study as written, it is a folder of its own for a run that differs,
    be it that it sweeps and the report does not, or the reverse.
    """
    main, differs = StudyFolder(results, name), list(differences)
    facts = reported(main) if main.has_trials else None
    if facts is None or not as_written(main, facts):
        return main, differs
    if sweep != (facts.searched == "sweep"):
        differs.insert(0, COMMANDS[sweep])
    return StudyFolder(results, names.beside(name, differs)), differs


@contextmanager
def held_place(
    path: Path,
    results: Path,
    name: str,
    line: int | None,
    differences: Sequence[str],
    say: Callable[[str], None],
    *,
    sweep: bool,
) -> Iterator[tuple[StudyFolder, list[str]]]:
    """As `place`, for a run of the file `path`, under the lock of the folder; says why there. Raises `StudyError`.

    Another driver may finish while this one waits for the lock: what it reports stays.
    """
    folder, _ = place(results, name, differences, sweep=sweep)
    while True:
        with exclusive(results / "store", folder.name, say), interruptible():
            refuse_another(path, results, name, line)
            now, differing = place(results, name, differences, sweep=sweep)
            if now.name == folder.name:
                if note := explained(name, folder, differing):
                    say(note)
                yield folder, differing
                return
        folder = now


def reported(folder: StudyFolder) -> Facts | None:
    """The facts of the report in a folder; None where there is none that can be read."""
    try:
        return folder.facts() if folder.has_report else None
    except (AblateError, KeyError, TypeError):
        return None


def as_written(folder: StudyFolder, facts: Facts) -> bool:
    """Whether the report in a folder is of what its name says."""
    return folder.written is not None or not facts.differs


def explained(main: str, folder: StudyFolder, differs: Sequence[str]) -> str:
    """Where a run of the study `main` reports, and why there; empty for one that does not differ."""
    path = folder.results / main
    command, options = COMMANDS["sweep" in differs], [text for text in differs if text not in COMMANDS]
    this = f"this {command}, with {joined(options)}," if options else f"this {command}"
    if folder.name == main:
        later = "a run of the study as written will replace it"
        return f"T{this[1:]} reports in {path}/; {later}." if options else ""
    of = f", as `ablate {COMMANDS['run' in differs]}` made it" if len(options) < len(differs) else ""
    return f"{path}/ holds the report of the study as written{of}; {this} reports in {folder.path}/."


def refuse_another(path: Path, results: Path, name: str, line: int | None = None) -> None:
    """Raises `StudyError` where the folder of the study `name` reports another study than that of the file `path`.

    A file that was moved, one that says the same, and the study's own file in a folder of its reports are no other.
    A report of a study that was given in Python, or from before the file was kept with it, is taken for that of a file
    with its name, or that says the same, and for that of a study that is given in Python.
    """
    if _own(path, results, name) is not None:
        return
    for each in dict.fromkeys([names.confirmed(name) or name, name]):
        folder = StudyFolder(results, each)
        facts = reported(folder)
        if facts is None or (not facts.source and (path.stem == names.stem(each) or path.name == given.FILE)):
            continue
        found = os.path.normpath(folder.path.resolve() / facts.source) if facts.source else folder.study_file
        other = Path(found)
        if other.is_file() and not _same_study(path, other):
            shown = other.relative_to(Path.cwd()) if other.is_relative_to(Path.cwd()) else other
            rule = f"is that of another study: {folder.path} reports {shown}"
            hint = "Give it another name, or another --results"
            raise StudyError([Problem(rule, ("name",), each, hint=hint, line=line, source=str(path))])


def source_of(path: Path, folder: StudyFolder) -> str:
    """The study file of a report as it is kept with it; for the file in a folder of its reports, that one's."""
    own = _own(path, folder.results, folder.name)
    if path.name == given.FILE:
        return ""
    if own is None:
        return Path(os.path.relpath(path.resolve(), folder.path.resolve())).as_posix()
    facts = reported(own)
    return facts.source if facts is not None else ""


def _own(path: Path, results: Path, name: str) -> StudyFolder | None:
    """The folder, of the reports that `name` is made from, whose resolved study `path` is."""
    related = dict.fromkeys([name, names.written(name), names.confirmed(name), names.stem(name)])
    folders = [StudyFolder(results, each) for each in related if each is not None]
    return next((f for f in folders if f.study_file.is_file() and path.samefile(f.study_file)), None)


def _same_study(path: Path, other: Path) -> bool:
    """Whether two files are one, or say the same."""
    from ablate.study.document import read_document
    from ablate.study.load import load

    if path.samefile(other):
        return True
    try:
        if read_document(path).data == read_document(other).data:
            return True
        first, second = (load(each)[1].model_dump(exclude={"plugins", "folder"}) for each in (path, other))
    except StudyError:
        return False
    return first == second
