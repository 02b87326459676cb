"""Checks of `stress:` against the study that it is in."""

from __future__ import annotations

from ablate.base.errors import NOT_GIVEN, Invalid, nearest
from ablate.core.metric import HELD_OUT
from ablate.study.checks import Draft, refuse_own
from ablate.study.document import PathKey
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches


def check_stress(draft: Draft) -> None:
    """Refuses a grid that the workload cannot be trained over, or over what is compared; the baseline is valid."""
    workload, design, document = draft.workload, draft.design, draft.document
    for path, levels in draft.study.section("stress").items():
        at: PathKey = ("stress", path)
        allowed = workload.rate_path or ""
        if path != workload.rate_path:
            rule = "cannot be stressed: only the learning rate can"
            if workload.rate_path is None:
                lacking = draft.study.workload
                rule = f"needs a workload that names the path of its learning rate, which {lacking} does not"
            document.refuse(at, rule, NOT_GIVEN, allowed, nearest(path, [allowed] if allowed else []))
            continue
        baseline = design.variants[0].configs
        if any(HELD_OUT not in workload.describe(config).stability for config in baseline):
            rule = f"needs a workload whose records have `{HELD_OUT}`, which {draft.study.workload} does not declare"
            document.refuse(at, rule)
        for index, level in enumerate(levels):
            try:
                for config in baseline:
                    draft.resolve(apply_patches(config, {path: level}))
            except Invalid as error:
                report_at(error.problems, {path: level}, (*at, index), document)
        rule = f"is what `stress` trains every variant over, so that no variant can have a {path} of its own"
        refuse_own(path, rule, f"Take it out, or compare {path} without `stress`", draft)
