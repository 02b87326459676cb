"""The limits of the run that left a study file beside its report: the file does not say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.wording import joined
from ablate.core.names import CONDITION, difference
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    A seed gives way to `--seeds`. A confirmation has other seeds, and maybe other variants: it takes over the
    conditions alone. Raises `AblateError` for a limit in place of one that the reported run had: both would have one
    folder.
    """
    limits = limits_of(path)
    if not limits:
        return options
    taken_over = (CONDITION,) if options.confirm else _LIMITS
    given = [text for text in options.overrides() if text.startswith(taken_over)]
    values: dict[str, list[str]] = {"condition": [], "only": [], "seed": []}
    for limit in taken_over:
        known, asked = ([text for text in texts if text.startswith(limit)] for texts in (limits, given))
        if known and asked and sorted(known) != asked:
            _refuse_in_reported(path, known, asked)
        values[limit.removesuffix("=")] = [text.removeprefix(limit) for text in asked or known]
    seeds = [] if options.seeds is not None and options.seed is None else values["seed"]
    return replace(
        options,
        condition=values["condition"],
        only=options.only or values["only"],
        seed=int(seeds[0]) if seeds else options.seed,
    )


def _refuse_in_reported(path: Path, known: Sequence[str], asked: Sequence[str]) -> None:
    """Raises `AblateError` for another limit than that of the run which has reported beside a study file.

    Before there is a report the limits that the name of the folder says may be changed or cut: others replace them.
    """
    facts = StudyFolder.at(path.resolve().parent).reported_facts()
    if facts is not None:
        raise AblateError(
            f"{path}: was left by a run with {joined(known)}, whose folder has no room for a run with {joined(asked)}. "
            "Give the study file that this run was given"
        )
