"""Where a run reports: in the folder of its study, or beside it where its options change the report."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.base.text import masked
from ablate.base.wording import joined
from ablate.core import names
from ablate.core.facts import Facts
from ablate.records.folder import StudyFolder
from ablate.route.options import Options
from ablate.study.document import Document, PathKey
from ablate.study.labels import short_label
from ablate.study.sections.seeds import Seeds, SeedsSection

if TYPE_CHECKING:
    from ablate.study.experiment import Experiment

NOWHERE = "name"
"""A key that changes nothing of a report: another name is another study."""


def place(document: Document, options: Options, *, beside: str = "") -> tuple[StudyFolder, list[str]]:
    """The folder in which a run of a study reports, and what its options change of the study as written.

    `beside`: a section that changes nothing of what is reported beside it.
    """
    name = str(document.data.get("name"))
    name = names.confirming(name) if options.confirm else name
    differs = [text for path, text in _changed(document) if path[0] != beside]
    differs += [f"only={name}" for name in sorted(set(options.only))]
    differs += [f"seed={options.seed}"] if options.seed is not None else []
    return StudyFolder(options.results, names.beside(name, differs)), differs


def explained(folder: StudyFolder, differs: Sequence[str]) -> str:
    """Where a run that differs from the study as written reports."""
    return f"This run differs from the study as written, in {joined(differs)}: it reports in {folder.path}/."


def _changed(document: Document) -> list[tuple[PathKey, str]]:
    """`--set` and `--seeds` by path, seeds last, after which the study does not say what its file says."""
    changed = []
    for path, value in sorted(document.given.items(), key=lambda item: (item[0] == ("seeds",), item[0])):
        if path[0] == "seeds":
            same = _seeds(document.written.get("seeds")) == _seeds(document.data.get("seeds"))
        else:
            same = _reached(document.written, path) == _reached(document.data, path)
        if path[-1] != NOWHERE and not same:
            changed.append((path, f"{'.'.join(map(str, path))}={_word(path, value)}"))
    return changed


def _seeds(plain: Any) -> Any:
    """Seeds that are the same, however they are given, as one value."""
    try:
        return SeedsSection() if plain is None else TypeAdapter(Seeds).validate_python(plain)
    except ValidationError:
        return plain


def _reached(data: Any, path: PathKey) -> Any:
    """The value at a path, or where that ends."""
    for key in path:
        if not isinstance(data, Mapping) or key not in data:
            return data
        data = data[key]
    return data


def _word(path: PathKey, value: Any) -> str:
    """A value in words, without passwords and without folders of this machine.

    Several seeds with a plus, which a comma cannot be in the name of a folder.
    """
    if path == ("seeds",) and isinstance(value, list) and len(value) > 1:
        return "+".join(map(str, sorted(value, key=str)))
    value = _shown(value)
    text = json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else short_label(value)
    return masked(text)


def _shown(value: Any) -> Any:
    """A value with the name of a file, and a digest of its path, in place of an absolute path."""
    if isinstance(value, Mapping):
        return {key: _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, str) and Path(value).is_absolute():
        return f"{Path(value).name}-{hashlib.blake2b(value.encode(), digest_size=3).hexdigest()}"
    return int(value) if isinstance(value, float) and value.is_integer() else value


def reported(folder: StudyFolder) -> Facts | None:
    """The facts of the report in a folder; None where there is none that can be read."""
    try:
        return folder.facts() if folder.has_report else None
    except (AblateError, KeyError, TypeError):
        return None


def refuse_another(experiment: Experiment, results: Path) -> None:
    """Raises `StudyError` where the folder of a study reports another study than that of its file.

    A file that was moved, one that says the same, and the study's own file in a folder of its reports are no other.
    A report of a study that was given in Python, or from before the file was kept with it, is taken for that of a file
    with its name, or that says the same, and for that of a study that is given in Python.
    """
    path, name = experiment.path, experiment.study.name
    if _own(path, results, name) is not None:
        return
    for each in dict.fromkeys([names.confirmed(name) or name, name]):
        folder = StudyFolder(results, each)
        facts = reported(folder)
        if facts is None or (
            not facts.source and (path.stem == names.stem(each) or path.name == names.GIVEN)
        ):
            continue
        found = os.path.normpath(folder.path.resolve() / facts.source) if facts.source else folder.study_file
        other = Path(found)
        if other.is_file() and not _same_study(experiment, other):
            shown = other.relative_to(Path.cwd()) if other.is_relative_to(Path.cwd()) else other
            rule = f"is that of another study: {folder.path} reports {shown}"
            hint, line = "Give it another name, or another --results", experiment.document.line(("name",))
            raise StudyError([Problem(rule, ("name",), each, hint=hint, line=line, source=str(path))])


def source_of(path: Path, folder: StudyFolder) -> str:
    """The study file of a report as it is kept with it; for the file in a folder of its reports, that one's."""
    own = _own(path, folder.results, folder.name)
    if path.name == names.GIVEN:
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


def _same_study(experiment: Experiment, other: Path) -> bool:
    """Whether another file is that of a study, or says the same."""
    from ablate.study.load import load

    if experiment.path.samefile(other):
        return True
    try:
        document, study, _ = load(other)
    except StudyError:
        return False
    beside = {"plugins", "folder", "name"}
    return document.data == experiment.document.written or (
        study.model_dump(exclude=beside) == experiment.study.model_dump(exclude=beside)
    )
