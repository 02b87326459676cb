"""The limits of the run that left a study file beside its report: the file does not say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.core.names import difference
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from ablate.session.options import Options

_LIMITS = ("only=", "condition=", "seed=")


def limits_of(path: Path) -> list[str]:
    """Returns the limits of the run that left a study file in the folder of its report, as `condition=small`.

    Of a run that was stopped before its report they are those in the name of its folder. There are none for any other
    file.
    """
    file = path.resolve()
    folder = StudyFolder.at(file.parent)
    if file != folder.study_file:
        return []
    facts = folder.reported_facts()
    differences = facts.plan.differs if facts is not None else difference(folder.name).split(",")
    return [text for text in differences if text.startswith(_LIMITS)]


def limited_as_run(path: Path, options: Options) -> Options:
    """Returns options with the limits of the run that left a study file beside its report.

    An option that is given stays. A confirmation has other seeds, and maybe other variants: it takes over the
    conditions alone.
    """
    limits: dict[str, Any] = {}
    for limit in limits_of(path):
        option, _, value = limit.partition("=")
        if option == "condition" and not options.condition:
            limits.setdefault(option, []).append(value)
        if option == "only" and not options.only and not options.confirm:
            limits.setdefault(option, []).append(value)
        if option == "seed" and options.seed is None and options.seeds is None and not options.confirm:
            limits[option] = int(value)
    return replace(options, **limits)
