"""The conditions of a study: patches of one trial's configuration, in each of which every variant is trained.

A task of several under `tasks:` is a condition that patches `task`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.errors import NOT_GIVEN, Invalid, Problem
from ablate.core.trial import identified
from ablate.core.workload import Workload
from ablate.study.designs import Config, Resolve
from ablate.study.document import Document
from ablate.study.expand import patch_around
from ablate.study.patch import apply_patches, key_of, level_labels, overlap
from ablate.study.plain_yaml import PathKey
from ablate.study.schema import StudyConfig

KEY = "conditions"
TASK = "task"
METRICS = "metrics"


@dataclass(frozen=True)
class Condition:
    """A condition of a study, with the config that the baseline has in it."""

    # The column `task` of tables has it; empty where a study has no conditions and its workload no tasks.
    name: str
    config: Config
    # Path → value that it changes in the study as written.
    patches: Mapping[str, Any] = field(default_factory=dict)
    # Where the study file asks for it.
    at: PathKey = ()

    def patch_of(self, problem: Problem) -> str:
        """Returns the path of the patch that causes a problem of the config; empty where none does."""
        return patch_around(problem, self.patches)

    def located(self, problem: Problem) -> Problem:
        """Returns a problem of the config with the place in the study file that it comes from."""
        path = self.patch_of(problem)
        is_named = self.at[:1] == (KEY,)
        if path:
            place = (*self.at, path) if is_named else self.at
            return replace(problem, path=(*place, *problem.path[path.count(".") + 1 :]))
        if not is_named:
            return problem
        if isinstance(problem.given, str) and problem.given in self.patches:  # a path that does not exist
            return replace(problem, path=(*self.at, problem.given), given=NOT_GIVEN)
        where = ".".join(map(str, problem.path))
        return replace(problem, rule=f"{where} {problem.rule}".strip(), path=self.at)


def read_conditions(
    config: StudyConfig, workload: Workload, resolve: Resolve, document: Document
) -> list[Condition]:
    """Returns the conditions of a study, at least one; what is wrong with them is reported to its document."""
    sections = list(workload.schema())
    data = config.model_dump()
    written = {name: data[name] for name in sections if name != TASK}
    if not config.conditions:
        return _of_tasks(data, written, has_tasks=TASK in sections, document=document)
    if TASK in sections:
        written = {TASK: data[TASK], **written}
    conditions = _named(config, written, resolve, document)
    _refuse_without_change(conditions, written, workload, document)
    return conditions or [Condition("", written)]


def _of_tasks(
    data: Mapping[str, Any], written: Config, *, has_tasks: bool, document: Document
) -> list[Condition]:
    """Returns the conditions of a study without `conditions:`, one a task; refuses a task that is named twice."""
    if not has_tasks:
        return [Condition("", written)]
    tasks = data["tasks"] or [data[TASK]]
    label_of = level_labels(tasks)
    conditions: list[Condition] = []
    for index, task in enumerate(tasks):
        name = label_of[key_of(task)]
        at: PathKey = ("tasks", index) if len(tasks) > 1 else ()
        patches = {TASK: task} if len(tasks) > 1 else {}
        conditions.append(Condition(name, {TASK: task, **written}, patches, at))
    names = [condition.name for condition in conditions]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            document.refuse(("tasks",), "names the same task twice", name)
    return conditions


def _named(config: StudyConfig, written: Config, resolve: Resolve, document: Document) -> list[Condition]:
    """Returns the conditions under `conditions:`; one whose config is not valid is reported, and left out."""
    conditions: list[Condition] = []
    for name, patches in config.conditions.items():
        condition = Condition(name, written, patches, (KEY, name))
        try:
            patched = resolve(apply_patches(written, patches))
        except Invalid as error:
            for problem in error.problems:
                document.report(condition.located(problem))
            continue
        conditions.append(replace(condition, config=patched))
    return conditions


def _refuse_without_change(
    conditions: Sequence[Condition], written: Config, workload: Workload, document: Document
) -> None:
    """Refuses conditions whose trials are those of the study as written, or of an earlier condition."""
    irrelevant = workload.irrelevant()
    key_as_written = key_of(identified(written, irrelevant, {}))
    first_with: dict[str, str] = {}
    for condition in conditions:
        key = key_of(identified(condition.config, irrelevant, {}))
        first = first_with.setdefault(key, condition.name)
        if first != condition.name:
            rule = f"is the same condition as {first}"
            document.refuse(condition.at, rule, hint="Remove one of them")
        elif condition.patches and key == key_as_written:
            rule = "changes nothing: its trials are those of the study as written"
            hint = f"Write `{condition.name}: {{}}` if that is meant"
            document.refuse(condition.at, rule, hint=hint)


def check_conditions(
    config: StudyConfig, varied_paths: Mapping[str, Sequence[str]], document: Document
) -> None:
    """Refuses conditions that patch a path which the study compares or chooses, or what it judges.

    varied_paths: key of the study file → the paths whose values are chosen there for each variant.
    """
    refuse_in_conditions("factors", config.factors, config, document)
    for name, patches in config.variants.items():
        refuse_in_conditions(f"variants.{name}", patches, config, document)
    refuse_in_conditions("design.stack", getattr(config.design, "stack", ()), config, document)
    for key, paths in varied_paths.items():
        refuse_in_conditions(key, paths, config, document)
    for name, patches in config.conditions.items():
        for path in patches:
            if overlap(path, METRICS):
                document.refuse((KEY, name, path), "cannot differ between conditions, which are judged alike")


def refuse_in_conditions(key: str, paths: Iterable[str], config: StudyConfig, document: Document) -> None:
    """Refuses conditions that patch one of the paths that are set under a key of the study file."""
    for path in paths:
        for name, patches in config.conditions.items():
            for patched in patches:
                if overlap(path, patched):
                    rule = f"is also set under `{key}`; a condition says what all variants share in it"
                    document.refuse((KEY, name, patched), rule, hint="Remove it here or there")
