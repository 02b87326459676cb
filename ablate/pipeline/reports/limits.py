"""The limits of the run that left a study file beside its report: the file does not say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ablate.records.folder import StudyFolder
from ablate.session.options import Options


def limited_as_run(path: Path, options: Options) -> Options:
    """Returns options with the limits of the run that left a study file in the folder of its report.

    They are the variants, the conditions and the seed that alone it trained; an option that is given stays. For any
    other file the options are as they are.
    """
    folder = StudyFolder.at(path.absolute().parent)
    facts = folder.reported_facts() if path.absolute() == folder.study_file else None
    if facts is None:
        return options
    limits: dict[str, Any] = {}
    for difference in facts.plan.differs:
        option, _, value = difference.partition("=")
        if option in ("only", "condition") and not getattr(options, option):
            limits.setdefault(option, []).append(value)
        if option == "seed" and options.seed is None:
            limits[option] = int(value)
    return replace(options, **limits)
