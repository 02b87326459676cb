"""A study file, validated: every mistake against the schema is named at once."""

import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.base.datafile import FOLDER
from ablate.base.errors import StudyError, listed, nearest
from ablate.base.plugins import FAILS, plugin_fault, why_no_plugin
from ablate.base.registry import CATALOGUE
from ablate.core import names
from ablate.core.workload import Workload
from ablate.study.document import Document, base_of
from ablate.study.plain_yaml import PathKey
from ablate.study.schema import MetricSection, StudyConfig, study_model
from ablate.study.schema_errors import NAME_ALLOWED, keys_meant, translated
from ablate.study.stage_config import StageConfig

# Keys that the resolved studies of older reports have, and that mean nothing where they are empty.
GONE = (("metric", "also"), ("metric", "aggregate"))
DEFAULT_WORKLOAD: str = StudyConfig.model_fields["workload"].default


def load(
    document: Document, configs: Sequence[type[StageConfig]], *, skip_unknown_keys: bool = False
) -> tuple[StudyConfig, Workload]:
    """Validates a study against the schema, with the keys of stages, and returns it with its workload.

    `document` may have been changed by options. Raises `StudyError` with all mistakes against the schema; where plugins
    or the workload, which make it, are at fault, with those alone.

    skip_unknown_keys: where unknown keys are all that is wrong, only notes them in the document, and goes on with the
    keys that are meant, so that the caller can look for mistakes of meaning, too.
    """
    _drop_gone_keys(document.data)
    _check_name(document)
    if document.data.get("workload", DEFAULT_WORKLOAD) == DEFAULT_WORKLOAD:
        # First, so that a plugin that takes the name of a built-in part is the one that is refused.
        CATALOGUE.load_builtin()
    folder = base_of(document.path, document.data.get("folder"))
    _load_plugins(document, folder)
    workload = _workload(document)
    workload.folder = folder
    model = study_model(workload, configs)
    return _validated(document, model, folder, skip_unknown_keys=skip_unknown_keys), workload


def _drop_gone_keys(data: dict[str, Any]) -> None:
    for section_name, key in GONE:
        section = data.get(section_name)
        if isinstance(section, dict) and key in section and not section[key]:
            del section[key]


def _check_name(document: Document) -> None:
    """Reports a name that only `ablate run` writes, but in the folder of that report."""
    name = str(document.data.get("name", ""))
    if names.written(name) and document.path.resolve().parent.name != name:
        rule = "is a name that `ablate run` gives to a changed run of a study"
        document.refuse(("name",), rule, name, NAME_ALLOWED, "Give it a name of its own")


def _load_plugins(document: Document, folder: Path) -> None:
    """Loads the plugins of a study; raises `StudyError` where one of them cannot be loaded."""
    plugins = document.data.get("plugins", [])
    if not isinstance(plugins, list):
        return
    problems_before = len(document.problems)
    stems: dict[str, str] = {}
    for index, name in enumerate(plugins):
        if isinstance(name, str):
            _load_plugin(document, folder, name, index, stems)
    if len(document.problems) > problems_before:
        document.raise_problems()


def _load_plugin(document: Document, folder: Path, name: str, index: int, stems: dict[str, str]) -> None:
    """Loads one plugin, or reports why not; adds its stem to `stems`, those before it."""
    at: PathKey = ("plugins", index)
    file = folder / name
    rule = why_no_plugin(file)
    if rule:
        document.refuse(at, rule, name, "a Python file, relative to the study")
        return
    if stems.setdefault(file.stem, name) != name:
        document.refuse(at, "has the same name as another plugin", name, hint="Rename one of the files")
        return
    fault = plugin_fault(file)
    if fault:
        document.refuse(at, f"{FAILS}: {fault}", hint="Correct the plugin")


def _workload(document: Document) -> Workload:
    """Returns the workload of a study, whose parts have been loaded; raises `StudyError` where there is none."""
    CATALOGUE.load_package("external")
    name = _workload_name(document.data.get("workload", DEFAULT_WORKLOAD))
    if name not in CATALOGUE.names("workload"):
        CATALOGUE.load_builtin()
    known = CATALOGUE.names("workload")
    if name not in known:
        document.refuse(("workload",), "unknown workload", name, listed(known), nearest(name, known))
        raise StudyError(document.problems)
    part = CATALOGUE.get("workload", name)
    if not issubclass(part, Workload) or inspect.isabstract(part):
        rule = "must be a subclass of ablate.core.workload.Workload that defines `schema` and `train`"
        document.refuse(("workload",), rule, name, hint="Correct the plugin")
        raise StudyError(document.problems)
    workload = part()
    workload.load_parts()
    return workload


def _workload_name(given: object) -> object:
    """Returns the name of a workload: that of a mapping of options is the key that names one."""
    if isinstance(given, dict):
        for key in given:
            if key in CATALOGUE.names("workload"):
                return key
    return given


def _validated(
    document: Document, model: type[StudyConfig], folder: Path, *, skip_unknown_keys: bool
) -> StudyConfig:
    """Returns the study, with files relative to `folder`; raises `StudyError`."""
    if "task" in model.model_fields:
        _check_tasks(document)
    if "metrics" in model.model_fields:
        _rename_metric(document)
    try:
        study = model.model_validate(document.data, context={FOLDER: folder})
    except ValidationError as error:
        is_known = not document.problems
        document.report_all(translated(error, model, document.data))
        if is_known and skip_unknown_keys:
            meant = keys_meant(error, model, document.data)
            document.rename(meant)
            with suppress(ValidationError):
                return model.model_validate(document.data, context={FOLDER: folder})
    document.raise_problems()
    return study


def _check_tasks(document: Document) -> None:
    """Reports a study without a task, and one that gives its tasks in two ways."""
    data = document.data
    has_task = bool(data.get("task"))
    has_tasks = bool(data.get("tasks"))
    conditions = data.get("conditions")
    if conditions and has_tasks:
        hint = "Write each task as a condition: NAME: {task: …}"
        document.refuse(("conditions",), "cannot be given beside `tasks`, their short form", hint=hint)
        return
    if _all_have_tasks(conditions):
        return
    if conditions and not has_task:
        hint = "Or give each condition a task of its own: NAME: {task: …}"
        document.refuse(("task",), "is required where a condition does not give its own", hint=hint)
    elif has_task == has_tasks:
        document.refuse(("task",), "give either `task`, or `tasks` with several")


def _all_have_tasks(conditions: object) -> bool:
    """Returns whether there are conditions, each of which gives a task of its own."""
    if not isinstance(conditions, dict) or not conditions:
        return False
    return all(isinstance(patches, dict) and patches.get("task") for patches in conditions.values())


def _rename_metric(document: Document) -> None:
    """Reports metrics of a user's own code under the key that chooses the judged one, and reads them as meant."""
    given = document.data.get("metric")
    if (
        "metrics" in document.data
        or not isinstance(given, dict)
        or given.keys() <= {*MetricSection.model_fields}
    ):
        return
    document.refuse(("metric",), "names the judged metric; with a workload, write `metrics:`", [*given])
    document.rename({("metric",): "metrics"})
