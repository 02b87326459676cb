"""The folder of a report as a user names it: by its study file, the name of its study, or its own path."""

from __future__ import annotations

from pathlib import Path

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.records.folder import StudyFolder


def report_folder(path: Path, results: Path) -> StudyFolder:
    """Returns the folder of a report, from a study file, the name of a study, or the folder itself.

    Raises `AblateError` where there is none, and `StudyError` for an invalid file.
    """
    name = path.name
    if path.is_file():
        from ablate.study.document import read_document  # which a name does not need

        name = str(read_document(path).data.get("name", path.stem))
    by_name = StudyFolder(results, name)
    by_path = StudyFolder.at(path)
    # A name alone means that of a study, even where a folder of that name lies here.
    is_name = path == Path(name)
    if by_path.has_report and not (is_name and by_name.has_report):
        return by_path
    # A path names one place: the study of the same name elsewhere is another.
    if path.is_file() or (is_name and (by_name.has_report or by_name.path.is_dir())):
        return by_name
    if path.is_dir():
        return by_path
    raise AblateError(str(_unknown_study(path, results)))


def _unknown_study(path: Path, results: Path) -> Problem:
    """Returns the problem of a path that is neither a study file nor the name of a study."""
    studies = [study.name for study in StudyFolder.all(results)]
    runs = [name for name in studies if name.startswith(f"{path.name}@")]
    if runs:
        hint = f"Did you mean {runs[0]!r}?"
    else:
        files = sorted(file.name for file in path.parent.glob("*.yaml"))
        hint = nearest(path.name, [*studies, *files]) or "Run the study first"
    return Problem(
        f"is neither a study file nor the name of a study under {results}",
        allowed=listed(studies),
        hint=hint,
        source=str(path),
    )
