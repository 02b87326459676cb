"""The limits of a run, `--condition`, `--only` and `--seed`, for the study file that it left beside its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.wording import joined
from ablate.core.names import CONDITION, CONFIRM, difference
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ablate.session.options import Options

_LIMITS = (CONDITION, "only=", "seed=")
_ELSEWHERE = "give the study file that this run was given"


def limits_of(path: Path) -> list[str]:
    """Returns how the run was limited that left a study file in the folder of its report, as `condition=small`.

    The report says it; before there is one, the name of the folder. Of any other file there are no limits. Raises
    `AblateError` where that name was cut, since it may lack some.
    """
    file = path.resolve()
    folder = StudyFolder.at(file.parent)
    if file != folder.study_file:
        return []
    facts = folder.reported_facts()
    if facts is not None:
        differences: Sequence[str] = facts.plan.differs
    else:
        differences = _differences_in(folder.name)
        if any(not _looks_whole(text) for text in differences):
            raise AblateError(
                f"{path}: is of a run that stopped before it reported, and the name of its folder was cut; {_ELSEWHERE}"
            )
    return [text for text in differences if text.startswith(_LIMITS)]


def _differences_in(name: str) -> list[str]:
    """Returns the differences in the name of a report.

    Of a confirmation: the conditions before the word `confirm`, and all that follows it.
    """
    items = difference(name).split(",") if difference(name) else []
    if CONFIRM not in items:
        return items
    at = items.index(CONFIRM)
    return [item for item in items[:at] if item.startswith(CONDITION)] + items[at + 1 :]


def _looks_whole(text: str) -> bool:
    """Returns False for a difference that was visibly cut: it lacks its `=`, or its seed is no number."""
    option, equals, value = text.partition("=")
    return bool(equals) and (option != "seed" or value.isdecimal())


def limited_as_run(path: Path, options: Options) -> Options:
    """Returns options with the limits of the run that left a study file beside its report.

    A confirmation has other seeds, and maybe other variants: it takes over the conditions alone. Raises `AblateError`
    where options give other values to a limit that the run had, which the name of the folder keeps.
    """
    limits = limits_of(path)
    if not limits:
        return options
    kinds = (CONDITION,) if options.confirm else _LIMITS
    given = [text for text in options.overrides() if text.startswith(kinds)]
    for kind in kinds:
        known, asked = ([text for text in texts if text.startswith(kind)] for texts in (limits, given))
        if kind == "seed=" and options.seeds is not None:
            asked = [f"seeds={options.seeds}"]
        if known and asked and sorted(known) != asked:
            raise AblateError(
                f"{path}: is of a run with {joined(known)}, which {joined(asked)} cannot replace; for such a run "
                f"{_ELSEWHERE}"
            )
    seeds = [int(text) for text in _values(limits, "seed=")]
    if options.confirm:
        return replace(options, condition=options.condition or _values(limits, CONDITION))
    return replace(
        options,
        condition=options.condition or _values(limits, CONDITION),
        only=options.only or _values(limits, "only="),
        seed=seeds[0] if seeds else options.seed,
    )


def _values(limits: Sequence[str], kind: str) -> list[str]:
    """Returns the values of the limits of one kind."""
    return [text.removeprefix(kind) for text in limits if text.startswith(kind)]
