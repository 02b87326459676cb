"""The limits of a run, `--condition`, `--only` and `--seed`, for the study file that it left beside its report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.wording import joined
from ablate.core.names import CONDITION, CONFIRM, differences
from ablate.records.folder import StudyFolder
from ablate.study.sections import asked_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ablate.session.options import Options

ONLY = "only="
SEED = "seed="
_LIMITS = (CONDITION, ONLY, SEED)
_ELSEWHERE = "give the study file that this run was given"


def limits_of(path: Path) -> list[str]:
    """Returns the `condition=`, `only=` and `seed=` of the run whose report has this study file in its folder.

    The report says them; where there is none, the name of the folder. They are empty for any other file. Raises
    `AblateError` where that name was visibly cut, since it may lack some.
    """
    file = path.resolve()
    folder = StudyFolder.at(file.parent)
    if file != folder.study_file:
        return []
    facts = folder.reported_facts()
    differing = facts.plan.differs if facts is not None else _differences_of_stopped(path, folder.name)
    return [text for text in differing if text.startswith(_LIMITS)]


def _differences_of_stopped(path: Path, name: str) -> Sequence[str]:
    """Returns how a run without a report differs from its study, by the name of its folder.

    Of a confirmation these are the conditions before the word `confirm`, and all that follows it. Raises `AblateError`
    where the name was visibly cut.
    """
    items = differences(name)
    if CONFIRM in items:
        at = items.index(CONFIRM)
        items = [*_of_kind(items[:at], CONDITION), *items[at + 1 :]]
    if not all(map(_looks_whole, items)):
        raise AblateError(
            f"{path}: is of a run that stopped before it reported, and the name of its folder was cut; {_ELSEWHERE}"
        )
    return items


def _looks_whole(text: str) -> bool:
    """Returns False for a difference that was visibly cut: it lacks its `=`, or its seed is no number."""
    option, equals, value = text.partition("=")
    return bool(equals) and (option != "seed" or value.isdecimal())


def limited_as_run(path: Path, options: Options) -> Options:
    """Returns options with the limits of the run that left a study file beside its report.

    A confirmation has other seeds, and maybe other variants: it takes over the conditions alone. Raises `AblateError`
    where options give other values to a limit that the run had: the name of the folder says the first.
    """
    limits = limits_of(path)
    if not limits:
        return options
    _refuse_other_limits(path, limits, options)
    limited = replace(options, condition=_values(limits, CONDITION) or options.condition)
    if options.confirm:
        return limited
    seeds = [int(value) for value in _values(limits, SEED)]
    return replace(
        limited, only=_values(limits, ONLY) or options.only, seed=seeds[0] if seeds else options.seed
    )


def _refuse_other_limits(path: Path, limits: Sequence[str], options: Options) -> None:
    """Raises `AblateError` for options that give other values to a limit of a run; of a confirmation, to a condition.

    `--seeds` is always another value than a seed.
    """
    given = options.overrides()
    for kind in (CONDITION,) if options.confirm else _LIMITS:
        known, asked = _of_kind(limits, kind), _of_kind(given, kind)
        if kind == SEED and options.seeds is not None:
            asked = [f"seeds={asked_for(options.seeds)}"]
        if known and asked and sorted(known) != asked:
            raise AblateError(
                f"{path}: is of a run with {joined(known)}, which {joined(asked)} cannot replace; for such a run "
                f"{_ELSEWHERE}"
            )


def _of_kind(differing: Sequence[str], kind: str) -> list[str]:
    """Returns the differences that begin with a kind, such as `condition=`."""
    return [text for text in differing if text.startswith(kind)]


def _values(limits: Sequence[str], kind: str) -> list[str]:
    """Returns the values of the limits of one kind."""
    return [text.removeprefix(kind) for text in _of_kind(limits, kind)]
