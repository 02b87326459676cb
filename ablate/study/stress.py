"""Checks of `stress:` against the study that it is in."""

from __future__ import annotations

from ablate.base.errors import NOT_GIVEN, Invalid, nearest
from ablate.core.metric import HELD_OUT
from ablate.core.workload import Workload
from ablate.study.designs.design import Design, Resolve
from ablate.study.document import Document, PathKey
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches, has_path, value_at
from ablate.study.schema import StudyBase


def check_stress(
    workload: Workload, study: StudyBase, design: Design, resolve: Resolve, document: Document
) -> None:
    """Refuses a grid that the workload cannot be trained over, or over what is compared; the baseline is valid."""
    for path, levels in study.stress.items():
        at: PathKey = ("stress", path)
        allowed = workload.rate_path or ""
        if path != workload.rate_path:
            rule = "cannot be stressed: only the learning rate can"
            if workload.rate_path is None:
                rule = f"needs a workload that names the path of its learning rate, which {study.workload} does not"
            document.refuse(at, rule, NOT_GIVEN, allowed, nearest(path, [allowed] if allowed else []))
            continue
        baseline = design.variants[0].configs
        if any(HELD_OUT not in workload.describe(config).stability for config in baseline):
            rule = (
                f"needs a workload whose records have `{HELD_OUT}`, which {study.workload} does not declare"
            )
            document.refuse(at, rule)
        for index, level in enumerate(levels):
            try:
                for config in baseline:
                    resolve(apply_patches(config, {path: level}))
            except Invalid as error:
                report_at(error.problems, {path: level}, (*at, index), document)
        rule = f"is what `stress` trains every variant over, so that no variant can have a {path} of its own"
        refuse_own(path, rule, f"Take it out, or compare {path} without `stress`", study, design, document)


def refuse_own(path: str, rule: str, hint: str, study: StudyBase, design: Design, document: Document) -> None:
    """Refuses each factor on a path that all variants must have in common, and each variant that changes it."""
    if path in study.factors:
        document.refuse(("factors", path), rule, hint=hint)
        return
    for variant in design.variants[1:]:
        pairs = zip(variant.configs, design.variants[0].configs, strict=True)
        if any(not has_path(own, path) or value_at(own, path) != value_at(base, path) for own, base in pairs):
            inside = (path,) if path in variant.patches else ()
            document.refuse((*variant.at, *inside), rule, hint=hint)
