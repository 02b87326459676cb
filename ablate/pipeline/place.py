"""Whose report a folder holds: of this study file, or of another of the same name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import Problem, StudyError
from ablate.core import names
from ablate.records.folder import StudyFolder
from ablate.study.document import read_document

if TYPE_CHECKING:
    from ablate.study.study import Study


def refuse_another(study: Study, results: Path) -> None:
    """Raises `StudyError` where the folder of a study reports another study than that of its file.

    A file that was moved, one that says the same, and the study's own file in a folder of its reports are no other.
    """
    path, name = study.path, study.config.name
    folder = StudyFolder(results, names.confirmed(name) or name)
    facts = folder.reported_facts()
    if facts is None or not facts.source or _is_resolved(path, folder):
        return
    other, document = Path(os.path.normpath(folder.path.resolve() / facts.source)), study.document
    if not other.is_file() or other.samefile(path):
        return
    if read_document(other).data != (document.written or document.data):
        rule = f"is that of another study: {folder.path} reports {other}"
        hint, line = "Give it another name, or another --results", document.line(("name",))
        raise StudyError([Problem(rule, ("name",), folder.name, hint=hint, line=line, source=str(path))])


def source_of(path: Path, folder: StudyFolder) -> str:
    """The study file of a report as it is kept with it; for the file in a folder of its reports, that one's."""
    if path.name == names.GIVEN:
        return ""
    if _is_resolved(path, folder):
        facts = StudyFolder.at(path.parent).reported_facts()
        return facts.source if facts is not None else ""
    return Path(os.path.relpath(path.resolve(), folder.path.resolve())).as_posix()


def _is_resolved(path: Path, folder: StudyFolder) -> bool:
    """Whether a file is the resolved study in this folder, or in that of another report of the same study."""
    at = path.resolve().parent
    return at.parent == folder.results.resolve() and names.stem(at.name) == names.stem(folder.name)
