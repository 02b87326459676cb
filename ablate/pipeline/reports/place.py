"""The folder in which a run reports, and the study whose report is there already."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from ablate.base.errors import AblateError, Problem, StudyError
from ablate.base.text import at_results, masked, typed
from ablate.base.wording import joined
from ablate.core import names
from ablate.pipeline.reports.limits import limits_of
from ablate.records.folder import StudyFolder
from ablate.study.document import Document, read_document
from ablate.study.patch import short_label
from ablate.study.plain_yaml import PathKey
from ablate.study.sections import Seeds

if TYPE_CHECKING:
    from ablate.session.options import Options
    from ablate.study.study import Study


def report_place(document: Document, options: Options) -> tuple[StudyFolder, list[str]]:
    """Returns the folder in which a run reports, and its overrides of the study as written.

    document: as the options have changed it.
    """
    overrides = [*overrides_in(document), *options.overrides()]
    # The `name:` in a study file beside a report ends in the limits of its run, maybe cut: they are not added again.
    known = limits_of(document.path)
    new = [override for override in overrides if override not in known]
    name = names.beside(str(document.data.get("name")), new)
    return StudyFolder(options.results_folder, name), overrides


def explained(folder: StudyFolder, overrides: Sequence[str]) -> str:
    """Says where a run that differs from the study as written reports."""
    return (
        f"This run differs from the study as written, in {joined(overrides)}: it reports in {folder.path}/."
    )


def overrides_in(document: Document) -> list[str]:
    """Returns the changes of `--set` and `--seeds` to the study file, as `PATH=VALUE`, seeds last."""
    overrides: list[str] = []
    for path, value in sorted(document.given.items(), key=lambda item: (item[0] == ("seeds",), item[0])):
        # Another name is another study.
        if path == ("name",):
            continue
        if path[0] == "seeds":
            is_changed = seeds_of(document.written) != seeds_of(document.data)
        else:
            is_changed = _value_at(document.written, path) != _value_at(document.data, path)
        if is_changed:
            overrides.append(f"{'.'.join(map(str, path))}={_in_words(path, value)}")
    return overrides


def seeds_of(data: Mapping[str, object]) -> object:
    """Returns the seeds of a study: equal values for the same seeds, however they are given."""
    try:
        return TypeAdapter(Seeds).validate_python(data.get("seeds", {}))
    except ValidationError:
        return data["seeds"]


def _value_at(data: Mapping[str, object], path: PathKey) -> object:
    """Returns the value at a path, or the last one above it that is no mapping."""
    value: object = data
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
    return value


def _in_words(path: PathKey, value: object) -> str:
    """Returns a value in words, without passwords.

    Seeds have a plus between them, as a comma separates overrides.
    """
    if path == ("seeds",) and isinstance(value, list) and len(value) > 1:
        return "+".join(map(str, sorted(value, key=str)))
    if isinstance(value, Mapping):
        return masked(json.dumps(value, sort_keys=True))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return masked(short_label(value))


def refuse_another(study: Study, results: Path) -> None:
    """Raises `StudyError` where a folder of a study reports another study than that of its file.

    A study is the same where it says the same, where its file is the one in a folder of its reports, and where the file
    that was reported is gone, as it was moved.
    """
    name = study.config.name
    own = StudyFolder(results, names.confirmed(name) or name)
    for folder in own.of_study():
        facts = folder.reported_facts()
        if facts is None or not facts.plan.source:
            continue
        reported = _file_of(facts.plan.source, folder)
        if _is_same(study, folder, reported):
            continue
        document = study.document
        raise StudyError(
            [
                Problem(
                    f"is the name of another study: {folder.path} reports {reported}",
                    ("name",),
                    own.name,
                    hint="Give it another name, or another --results",
                    line=document.line(("name",)),
                    source=str(study.path),
                )
            ]
        )


def _is_same(study: Study, folder: StudyFolder, reported: Path) -> bool:
    """Returns whether a study is the one that a folder reports, from a file that may be gone."""
    if _is_resolved(study.path, folder):
        return True
    if not reported.is_file():
        return reported.name == study.path.name or _says_the_same(study, folder)
    document = study.document
    if reported.samefile(study.path):
        return True
    return read_document(reported).data == (document.written or document.data)


def _says_the_same(study: Study, folder: StudyFolder) -> bool:
    """Returns whether a study is the one that a folder reports, as far as its resolved file tells."""
    from ablate.pipeline.reports.reported import (
        changed_sections,  # Which a report that is up to date must not wait for.
    )

    try:
        return not changed_sections(study, folder)
    except AblateError:
        return False


def refuse_without_search(document: Document, folder: StudyFolder, options: Options) -> None:
    """Raises `StudyError` for a run without the search of its study that would write over the report of that search.

    So it is, too, where the study has nothing but its search.
    """
    data = document.data
    if options.sweep or options.confirm or not data.get("search"):
        return
    rule = "is what the study runs, and only `ablate sweep` searches"
    if any(data.get(key) for key in ("factors", "variants", "design", "tune")):
        facts = folder.reported_facts()
        if facts is None or facts.plan.searched != "sweep":
            return
        rule = f"was run, and {folder.path} is its report, which a run without it would write over"
    hint = f"Run `{typed('sweep', document.path, *at_results(options.results_folder))}`"
    raise StudyError(
        [Problem(rule, ("search",), hint=hint, line=document.line(("search",)), source=str(document.path))]
    )


def source_of(path: Path, folder: StudyFolder) -> str:
    """Returns the study file of a report, relative to its folder.

    A resolved file in a folder of its reports has the study file of that report. A copy of the study file takes over no
    report of the file that is still there: else it could be edited, and report in its place.
    """
    if path.name == names.GIVEN:
        return ""
    if _is_resolved(path, folder):
        facts = StudyFolder.at(path.parent).reported_facts()
        return facts.plan.source if facts is not None else ""
    reported = folder.reported_facts()
    source = reported.plan.source if reported is not None else ""
    if source and _file_of(source, folder).is_file():
        return source
    return Path(os.path.relpath(path.resolve(), folder.path.resolve())).as_posix()


def _file_of(source: str, folder: StudyFolder) -> Path:
    """Returns the study file of a report, which may be gone."""
    return Path(os.path.normpath(folder.path.resolve() / source))


def _is_resolved(path: Path, folder: StudyFolder) -> bool:
    """Returns whether a file is the resolved study of this report, or of another one of the study."""
    report = path.resolve().parent
    is_beside = report.parent == folder.results.resolve()
    return is_beside and names.stem(report.name) == names.stem(folder.name)
