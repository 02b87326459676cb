"""Checks of `speed:` against the study that it is in."""

from __future__ import annotations

from dataclasses import replace

from ablate.base.errors import Problem, listed
from ablate.core.feature import features
from ablate.core.workload import Workload
from ablate.features.speed.section import SpeedSection
from ablate.study.checks import Draft, attempt, refuse_own
from ablate.study.designs.design import Config
from ablate.study.document import PathKey
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches, has_path, value_at
from ablate.study.schema import StudyBase


def check_speed(draft: Draft) -> None:
    """Refuses to time what cannot be timed, and sizes that some variant cannot have; the baseline is valid."""
    section: SpeedSection | None = draft.study.section("speed")
    if section is None:
        return
    if rule := lacks_operations(draft.workload, draft.study):
        hint = "Take `speed` out, or override `operations` of the workload"
        draft.document.refuse(("speed",), rule, hint=hint)
    for path in section.over:
        if _check_path(path, draft):
            rule = (
                f"is what `speed` times every variant over, so that no variant can have a {path} of its own"
            )
            refuse_own(path, rule, f"Take it out, or compare {path} without `speed`", draft)
            _check_sizes(path, draft)


def lacks_operations(workload: Workload, study: StudyBase) -> str:
    """Why nothing of a workload can be timed; empty where it can."""
    if type(workload).operations is not Workload.operations:
        return ""
    return f"needs a workload that says what can be timed, in `operations`, which {study.workload} does not"


def _check_path(path: str, draft: Draft) -> bool:
    """Whether every variant has a number at a path that is part of what is timed, and nothing else in the study sets
    it; else it is refused.
    """
    workload, design, document = draft.workload, draft.design, draft.document
    at: PathKey = ("speed", "over", path)
    before = len(document.problems)
    if path in (workload.steps_path, workload.rate_path):
        rule = "changes nothing about the time of a step"
        document.refuse(at, rule, allowed="the path of a size, such as task.seq_len or model.d_model")
    with document.reporting(*at):
        for config in design.variants[0].configs:
            value = value_at(config, path)
            if isinstance(value, bool) or not isinstance(value, int | float):
                document.refuse(at, "is no number", value, "the path of a number, such as task.seq_len")
    if len(document.problems) > before:
        return False
    lacking = [v.name for v in design.variants if not all(has_path(config, path) for config in v.configs)]
    if lacking:
        rule = f"is no path of {listed(lacking, 4)}"
        document.refuse(at, rule, allowed="a path that every variant has, such as task.seq_len")
    study = draft.study
    setters = {section: [*of] for feature in features() for section, of in feature.varies(study).items()}
    setters |= {"match": [study.match.by]} if study.match is not None else {}
    for section, paths in setters.items():
        if any(f"{path}.".startswith(f"{p}.") or f"{p}.".startswith(f"{path}.") for p in paths):
            rule = f"is what `{section}` sets for each variant, so that they have no size in common"
            document.refuse(at, rule, hint="Name another path")
    return len(document.problems) == before


def _check_sizes(path: str, draft: Draft) -> None:
    """Refuses the sizes that some variant cannot have, each at its own line."""
    design, document = draft.design, draft.document

    def check(config: Config) -> None:
        draft.workload.check(draft.resolve(config))

    # As the document lists them: the section has them in rising order.
    for index, size in enumerate(document.data["speed"]["over"][path]):
        found: dict[str, tuple[Problem, dict[str, None]]] = {}
        configs = ((v.name, config) for v in design.variants if not v.placebo for config in v.configs)
        for name, config in configs:
            for problem in attempt(check, apply_patches(config, {path: size}))[1]:
                found.setdefault(str(problem), (problem, {}))[1][name] = None
        problems = [replace(p, rule=f"{p.rule} (in {listed(names, 4)})") for p, names in found.values()]
        report_at(problems, {path: size}, ("speed", "over", path, index), document)
