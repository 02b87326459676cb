"""The limits of the run that left a study file beside its report: the file does not say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.core.names import CONDITION, difference
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from ablate.session.options import Options

_LIMITS = (CONDITION, "only=", "seed=")


def limits_of(path: Path) -> list[str]:
    """Returns the limits of the run that left a study file in the folder of its report, as `condition=small`.

    Before there is a report they are read from the name of the folder, which may have them changed or cut. There are
    none for any other file.
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

    A limit gives way to the same option where it is given, and the seed to `--seeds` too. A confirmation has other
    seeds, and maybe other variants: it takes over the conditions alone.
    """
    limits: dict[str, list[str]] = {}
    for limit in limits_of(path):
        option, _, value = limit.partition("=")
        limits.setdefault(option, []).append(value)

    conditions = options.condition or limits.get("condition", ())
    if options.confirm:
        return replace(options, condition=conditions)
    seed = options.seed
    if seed is None and options.seeds is None and "seed" in limits:
        seed = int(limits["seed"][0])
    return replace(options, condition=conditions, only=options.only or limits.get("only", ()), seed=seed)
