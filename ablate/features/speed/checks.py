"""Checks of `speed:` against the study that it is in."""

from __future__ import annotations

from ablate.core.feature import features
from ablate.core.workload import Workload
from ablate.features.speed.section import SpeedSection
from ablate.study.checks import Draft, in_variants, refuse_own
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
        before = len(draft.document.problems)
        _check_path(path, draft)
        if len(draft.document.problems) == before:
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


def _check_path(path: str, draft: Draft) -> None:
    """Every variant has a number at a path that is part of what is timed, and nothing else in the study sets it."""
    workload, study, document = draft.workload, draft.study, draft.document
    at: PathKey = ("speed", "over", path)
    allowed = "the path of a size that every variant has, such as task.seq_len or model.d_model"
    if path in (workload.steps_path, workload.rate_path):
        document.refuse(at, "changes nothing about the time of a step", allowed=allowed)
    with document.reporting(*at):
        for config in draft.design.variants[0].configs:
            value = value_at(config, path)
            if isinstance(value, bool) or not isinstance(value, int | float):
                document.refuse(at, "is no number", value, allowed)
    base, *others = [[has_path(config, path) for config in v.configs] for v in draft.design.variants]
    if all(base) and not all(map(all, others)):
        lacking = next(
            v.name for v, has in zip(draft.design.variants[1:], others, strict=True) if not all(has)
        )
        document.refuse(at, f"is no path of {lacking}", allowed=allowed)
    setters = {section: [*of] for feature in features() for section, of in feature.varies(study).items()}
    setters |= {"match": [study.match.by]} if study.match is not None else {}
    for section, paths in setters.items():
        if any(f"{path}.".startswith(f"{p}.") or f"{p}.".startswith(f"{path}.") for p in paths):
            rule = f"is what `{section}` sets for each variant, so that they have no size in common"
            document.refuse(at, rule, hint="Name another path")


def _check_sizes(path: str, draft: Draft) -> None:
    """Refuses the sizes that some variant cannot have, each at its own line."""
    variants = [(v.name, config) for v in draft.design.variants if not v.placebo for config in v.configs]
    # As the document lists them: the section has them in rising order.
    for index, size in enumerate(draft.document.data["speed"]["over"][path]):
        resized = [(name, apply_patches(config, {path: size})) for name, config in variants]
        problems = in_variants(lambda config: draft.workload.check(draft.resolve(config)), resized)
        report_at(problems, {path: size}, ("speed", "over", path, index), draft.document)
