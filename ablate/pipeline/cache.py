"""Where a run reports, and whether the report there is up to date, told without torch."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data, digest_of_file
from ablate.base.plugins import files_of_plugins, named_by, users_modules
from ablate.base.text import masked, saying
from ablate.base.wording import joined
from ablate.core import names
from ablate.pipeline.publish import print_results
from ablate.records.environment import here, versions
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.session.options import Options
from ablate.study.document import Document, base_of
from ablate.study.patch import short_label
from ablate.study.plain_yaml import PathKey
from ablate.study.sections import Seeds

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.session.session import Session


def report_place(document: Document, options: Options) -> tuple[StudyFolder, list[str]]:
    """Returns the folder in which a run reports, and what its options change of the study as written.

    `document` has been changed by the options already.
    """
    overrides = [*_changed(document), *options.differs()]
    name = names.beside(str(document.data.get("name")), overrides)
    return StudyFolder(options.results, name), overrides


def explained(folder: StudyFolder, overrides: Sequence[str]) -> str:
    """Says where a run that differs from the study as written reports."""
    return (
        f"This run differs from the study as written, in {joined(overrides)}: it reports in {folder.path}/."
    )


def print_current(folder: StudyFolder, overrides: Sequence[str], console: Console) -> None:
    """Prints a report that is up to date."""
    say = saying(console)
    if overrides:
        say(explained(folder, overrides))
    say(f"Nothing to train: {folder.path} is up to date with the study, the sources and the records.")
    print_results(folder, console)


def _changed(document: Document) -> list[str]:
    """What `--set` and `--seeds` change of what the file says, seeds last."""
    changed = []
    for path, value in sorted(document.given.items(), key=lambda item: (item[0] == ("seeds",), item[0])):
        read = _seeds if path[0] == "seeds" else lambda data, path=path: _reached(data, path)
        # Another name is another study.
        if path != ("name",) and read(document.written) != read(document.data):
            changed.append(f"{'.'.join(map(str, path))}={_word(path, value)}")
    return changed


def _seeds(data: Mapping[str, Any]) -> Any:
    """Seeds that are the same, however they are given, as one value."""
    try:
        return TypeAdapter(Seeds).validate_python(data.get("seeds", {}))
    except ValidationError:
        return data["seeds"]


def _reached(data: Any, path: PathKey) -> Any:
    """The value at a path, or above it where that ends."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else data
    return data


def _word(path: PathKey, value: Any) -> str:
    """A value in words, without passwords; several seeds with a plus, as a comma separates differences."""
    if path == ("seeds",) and isinstance(value, list) and len(value) > 1:
        return "+".join(map(str, sorted(value, key=str)))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return masked(json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else short_label(value))


def is_current(folder: StudyFolder, document: Document, options: Options) -> bool:
    """Whether running a study, which reports in `folder`, would train nothing and report the same; without torch."""
    if options.partial or options.fresh or options.tracking_uri or document.problems:
        return False
    try:
        report = folder.trial_list.report()
        if report["digest"] != _digest(document, options, folder, report["trials"], dict(report["files"])):
            return False
        # What is printed is made of them, and the file that has them too takes a library to read.
        folder.known = report["facts"]
    except (AblateError, OSError, ValueError, KeyError, TypeError):
        return False
    return True


def remember(document: Document, session: Session, trials: Sequence[str], data: Iterable[str]) -> None:
    """Notes what the report of a run was made from, for `is_current`; `data` are the files that it rests on.

    A warning where that cannot be noted.
    """
    found = {**files_of_plugins(), **users_modules()}
    modules = {file: module for module, file in found.items()}
    try:
        # Relative to the study: a copy of the folder has files of its own.
        at = document.path.parent
        files = {os.path.relpath(file, at): modules.get(file, "") for file in sorted({*modules, *data})}
        digest = _digest(document, session.options, session.folder, trials, files)
        session.folder.trial_list.note_report(digest, trials, files, asdict(session.folder.facts()))
    except (AblateError, OSError, ValueError) as error:
        session.warn(
            f"the report is whole, but the next run writes it again, since this one cannot be noted: {error}"
        )


def _digest(
    document: Document, options: Options, folder: StudyFolder, trials: Sequence[str], files: Mapping[str, str]
) -> str:
    """Of the study, the options, the package, the user's modules and data (`files`), the records and the report.

    Raises `AblateError` or `OSError` when one is missing.
    """
    at, records = document.path.parent, Store(folder.results / "store").stamp(trials)
    # What is confirmed depends on the report of the study.
    reports = dict.fromkeys([folder.name, names.confirmed(folder.name) or folder.name])
    stamps = [StudyFolder(folder.results, name).stamps() for name in reports]
    data = document.data if _changed(document) else document.written or document.data
    # In the order in which it is written, which is that of the report; seeds are the same however they are given.
    study = json.dumps({**data, "name": folder.name, "seeds": str(_seeds(data))})
    content = [digest_of_file(str(at / file)) for file in files]
    # Where modules are now: another may have come before one that was loaded.
    base, modules = base_of(document.path, data.get("folder")), [*filter(None, files.values())]
    places = [named_by(base / name, modules) for name in data.get("plugins", ())]
    named = [{module: os.path.relpath(file, at) for module, file in of.items()} for of in places]
    return digest_of_data([study, named, content, options.of_report, here(), _package(), records, stamps])


@functools.cache
def _package() -> list[Any]:
    """Changes with any file of the package, and with the versions of the libraries that make the numbers.

    A file is known by its size and the time of its last change: to read all of them takes longer than all else.
    """
    root = Path(__file__).resolve().parents[1]
    files = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    states = ((file, os.stat(file)) for file in sorted(files) if file.endswith((".py", ".j2")))
    drawing = [importlib.metadata.version(name) for name in ("matplotlib", "seaborn")]
    return [versions(), drawing, *((file, state.st_size, state.st_mtime_ns) for file, state in states)]
