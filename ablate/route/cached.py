"""Whether a report is up to date, told without importing torch."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.files import digest_of
from ablate.base.plugins import plugin_files
from ablate.core import names
from ablate.records.environment import here
from ablate.records.folder import StudyFolder
from ablate.records.roster import digest_with_files
from ablate.records.store import Store
from ablate.route.options import Options
from ablate.route.place import reported
from ablate.study.document import Document

if TYPE_CHECKING:
    from ablate.route.running import Run

_PACKAGES = (
    *("torch", "numpy", "pandas", "scipy", "statsmodels", "matplotlib", "scikit-learn", "mlflow", "optuna"),
    "seaborn",
)


def up_to_date(folder: StudyFolder, document: Document, options: Options) -> bool:
    """Whether running a study, which reports in `folder`, would train nothing and report the same."""
    if options.partial or options.fresh or options.tracking_uri or document.problems:
        return False
    return re.fullmatch(names.NAME, folder.name) is not None and _is_current(folder, document.path, options)


def _is_current(folder: StudyFolder, path: Path, options: Options) -> bool:
    """Whether the report in a folder was made from this study with these options, and nothing has changed since."""
    try:
        report = folder.roster.report()
        trials, files = report["trials"], report["files"]
        return bool(report["digest"] == _digest(path, options, folder, trials, files))
    except (AblateError, OSError, ValueError, KeyError, TypeError):
        return False


def remember(run: Run, trials: Sequence[str], data: Iterable[str]) -> None:
    """Notes what the report of a run was made from, for `up_to_date`; `data` are the files that it rests on.

    A warning where that cannot be noted.
    """
    named, path = [*map(str, plugin_files()), *sorted(set(data))], run.experiment.path
    try:
        # Relative to the study: a copy of the folder has files of its own.
        files = [os.path.relpath(file, path.parent) for file in named]
        run.folder.roster.note_report(_digest(path, run.options, run.folder, trials, files), trials, files)
    except (AblateError, OSError, ValueError) as error:
        run.warn(
            f"the report is whole, but the next run writes it again, since this one cannot be noted: {error}"
        )


@contextmanager
def staying_current(folder: StudyFolder, path: Path, options: Options) -> Iterator[None]:
    """A report that is up to date with `path`, or the file that it was made from, is so after what is added inside."""
    facts = reported(folder)
    source = folder.path / facts.source if facts is not None and facts.source else path
    current = next((each for each in (path, source) if _is_current(folder, each, options)), None)
    yield
    if current is not None:
        trials, files = (folder.roster.report()[name] for name in ("trials", "files"))
        folder.roster.note_report(_digest(current, options, folder, trials, files), trials, files)


def _digest(
    path: Path, options: Options, folder: StudyFolder, trials: Sequence[str], files: Sequence[str]
) -> str:
    """Of the study, the options, the package, plugins and data (`files`), the records and the files of the report.

    Raises `ValueError` or `OSError` when one is missing.
    """
    records = Store(folder.results / "store").stamp(trials)
    if not records:
        raise ValueError("a record is missing")
    # What is confirmed depends on the report of the study.
    reports = dict.fromkeys([folder.name, names.confirmed(folder.name) or folder.name])
    stamps = [StudyFolder(folder.results, name).stamps() for name in reports]
    return digest_with_files(
        [options.of_report, here(), _package(), records, stamps],
        [str(path), *(str(path.parent / file) for file in files)],
    )


@functools.cache
def _package() -> str:
    """Changes with any file of the package, and with the versions of the libraries that make the numbers."""
    root = Path(__file__).resolve().parents[1]
    files = sorted(path for path in root.rglob("*") if path.suffix in (".py", ".j2"))
    versions = [f"{package} {importlib.metadata.version(package)}\n".encode() for package in _PACKAGES]
    return digest_of(
        *(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() for path in files), *versions
    )
