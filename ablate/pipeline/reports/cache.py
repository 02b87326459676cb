"""The test that a report is up to date, which needs no torch."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base import locks
from ablate.base.errors import AblateError, listed
from ablate.base.files import digest_of_data, digest_of_file
from ablate.base.plugins import files_of_plugins, named_by, users_modules
from ablate.base.text import saying
from ablate.core import names
from ablate.external.beside import paths_beside
from ablate.external.command import split
from ablate.external.given import read_templates
from ablate.external.interpreter import own_interpreter, python_of, python_of_code, state_of
from ablate.external.snapshot import Scope, read_snapshot
from ablate.external.trace import digest_of_variable
from ablate.pipeline.next_steps import print_results
from ablate.pipeline.reports.place import explained, overrides_in, seeds_of
from ablate.records.environment import here, versions
from ablate.records.facts_file import facts_from, plain_facts
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import ReportSources
from ablate.session.options import Options
from ablate.study.document import Document, base_of

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.session.session import Session


def current_report(folder: StudyFolder, document: Document, options: Options) -> ReportSources | None:
    """Returns the note of the report in `folder`, where a run would train nothing and report the same; else None."""
    trains_anew = options.fresh or options.retrain
    if options.partial or trains_anew or options.tracking_uri or document.problems:
        return None
    try:
        report = folder.trial_list.report()
        if report is None:
            return None
        digest = _digest(document, options, folder, report.trials, report.files)
        is_same = report.digest == digest and _have_same_values(report.variables)
    except (AblateError, OSError, ValueError, KeyError, TypeError):
        return None
    return report if is_same else None


def _have_same_values(variables: Mapping[str, str]) -> bool:
    """Returns whether variables of the environment have the values of which these are the digests."""
    return all(digest_of_variable(name) == digest for name, digest in variables.items())


def print_current(
    folder: StudyFolder,
    document: Document,
    report: ReportSources,
    overrides: Sequence[str],
    console: Console,
) -> None:
    """Prints a report that is up to date, with the facts in its note: to read those of the folder takes a library."""
    say = saying(console)
    if overrides:
        say(explained(folder, overrides))
    say(f"Nothing to train: {folder.path} is up to date with the study, the sources and the records.")
    unwatched = _unwatched(document)
    if unwatched:
        say(unwatched)
    print_results(folder, facts_from(report.facts), console)


def go_on_tracking(folder: StudyFolder, console: Console) -> None:
    """Has MLflow brought further up to date with a report, which earlier runs had no time to complete."""
    from ablate.tracking.tracker import Tracker

    say = saying(console)
    with closing(Tracker(folder, None, saying(console, "warning"))) as tracker:
        if tracker.is_off:
            return
        say("Bringing MLflow up to date …")
        if not tracker.finish():
            return
    say("MLflow is up to date.")
    # The driver that has the lock notes its own report.
    with suppress(AblateError, OSError), locks.if_free(folder.results / "store", folder.name) as is_free:
        report = folder.trial_list.report()
        if is_free and report is not None:
            folder.trial_list.note_report(replace(report, lacks_tracking=False))


def remember(
    document: Document,
    session: Session,
    trials: Sequence[str],
    data: Iterable[str],
    variables: Mapping[str, str],
    *,
    lacks_tracking: bool,
) -> None:
    """Notes what the report of a run was made from, for `current_report`.

    A warning says where that cannot be noted. data: the files of data on which the report depends; variables: those of
    the environment, each with the digest of its value. lacks_tracking: whether MLflow is not up to date.
    """
    module_of: dict[str, str] = {}
    for module, file in {**files_of_plugins(), **users_modules()}.items():
        module_of[file] = module
    try:
        # Relative to the study: a copy of the folder has files of its own.
        start = document.path.parent
        files: dict[str, str] = {}
        for file in sorted({*module_of, *data}):
            files[os.path.relpath(file, start)] = module_of.get(file, "")
        digest = _digest(document, session.options, session.folder, trials, files)
        facts = plain_facts(session.folder.facts())
        session.folder.trial_list.note_report(
            ReportSources(
                digest,
                trials=sorted(set(trials)),
                files=files,
                facts=facts,
                variables=dict(variables),
                lacks_tracking=lacks_tracking,
                overhead=session.overhead(),
            )
        )
    except (AblateError, OSError, ValueError) as error:
        session.warn(
            f"the report is complete, but the next run will write it again, because this one cannot be noted: {error}"
        )


def _digest(
    document: Document, options: Options, folder: StudyFolder, trials: Sequence[str], files: Mapping[str, str]
) -> str:
    """Returns a digest of a report and of all that it is made from.

    That is the study, options, modules, data and records, and this package.

    files: those of modules and of data, relative to the study, each with its module; "" for data. Raises `AblateError`
    or `OSError` when one is missing.
    """
    data = _data_of(document)
    modules = [module for module in files.values() if module]
    contents = [digest_of_file(str(document.path.parent / file)) for file in files]
    # The report of a confirmation depends on that of its study.
    reports = dict.fromkeys([folder.name, names.confirmed(folder.name) or folder.name])
    return digest_of_data(
        [
            # With its keys in the order of the file, in which the report has them.
            json.dumps({**data, "name": folder.name, "seeds": str(seeds_of(data))}),
            _files_of_modules(document, modules),
            _own_code(document, folder.results),
            contents,
            options.report_options,
            here(),
            _package(),
            Store(folder.results / "store").stamp(trials),
            [StudyFolder(folder.results, name).stamps() for name in reports],
            _reports_beside(folder, trials),
        ]
    )


def _reports_beside(folder: StudyFolder, trials: Sequence[str]) -> list[str]:
    """Returns the reports that a report names: of its study, and of others that share a trial with it.

    A list of trials that cannot be read shares none, as in the report.
    """
    beside = {other.name for other in folder.of_study() if other.has_report}
    own = {*trials}
    for other in StudyFolder.listed(folder.results):
        if other.name == folder.name or not other.has_report:
            continue
        with suppress(AblateError):
            if not own.isdisjoint(other.trial_list.ids()):
                beside.add(other.name)
    return sorted(beside - {folder.name})


def _own_code(document: Document, results: Path) -> object:
    """Returns the identity of a user's own code and data; None where the study has none.

    Raises `AblateError`, and `ValueError` for a command that cannot be split, of which no run was made.
    """
    own = _own_options(document)
    if own is None:
        return None
    options, base = own
    command = options.get("command")
    words = split(command) if command else ()
    place = python_of(words, base) if words else python_of_code()
    # What shows that another has changed is its state.
    interpreter = own_interpreter() if place == sys.executable else None
    code = read_snapshot(base, results.absolute(), Scope.written(options)).identity(interpreter)
    # A notebook is no code by its name, and git may ignore a file of constants.
    files = [base / options[key] for key in ("script", "constants") if isinstance(options.get(key), str)]
    digests = [digest_of_file(str(file)) for file in files if file.is_file()]
    given = options.get("files", {})
    templates = read_templates({"files": given}, base) if isinstance(given, dict) else {}
    return [code, templates, digests, state_of(place) if place else []]


def _unwatched(document: Document) -> str:
    """Returns what of a user's own code is not watched; empty where the study has none."""
    own = _own_options(document)
    if own is None:
        return ""
    options, base = own
    paths = paths_beside(options.get("command") or (), base, options.get("data", ()))
    named = f", such as {listed(paths, 3)} of the command" if paths else ""
    return (
        f"Not watched: files outside of your folder that are not under `data:`{named}, and variables of the "
        "environment that no Python code or shell script asks for by name."
    )


def _own_options(document: Document) -> tuple[Mapping[str, Any], Path] | None:
    """Returns the options of a user's own code, and its folder; None where the study has none."""
    data = _data_of(document)
    options = data.get("workload")
    return (options, base_of(document.path, data.get("folder"))) if isinstance(options, dict) else None


def _data_of(document: Document) -> Mapping[str, Any]:
    """Returns the study as options change it; where they change nothing, as it is written."""
    if overrides_in(document):
        return document.data
    return document.written or document.data


def _files_of_modules(document: Document, modules: Sequence[str]) -> list[dict[str, str]]:
    """Returns, for each plugin, module → file as an import would find it now.

    Another file may have come before one that was loaded.
    """
    data = _data_of(document)
    base = base_of(document.path, data.get("folder"))
    files: list[dict[str, str]] = []
    for plugin in data.get("plugins", ()):
        found = named_by(base / plugin, modules)
        files.append({module: os.path.relpath(file, document.path.parent) for module, file in found.items()})
    return files


@functools.cache
def _package() -> list[object]:
    """Returns the state of this package, and the versions of the libraries that make the numbers.

    A file is known by its size and the time of its last change: to read all files takes longer than all else.
    """
    root = Path(__file__).resolve().parents[2]
    files: list[str] = []
    for folder, _, file_names in os.walk(root):
        files += [os.path.join(folder, name) for name in file_names if name.endswith((".py", ".j2"))]
    drawing = [importlib.metadata.version(name) for name in ("matplotlib", "seaborn")]
    package: list[object] = [versions(), drawing]
    for file in sorted(files):
        state = os.stat(file)
        package.append((file, state.st_size, state.st_mtime_ns))
    return package
