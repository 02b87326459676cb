"""The variants that stages choose before the judged trials are planned, and the most trainings that this can take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ablate.session.session import Session
from ablate.session.stage import Stage

if TYPE_CHECKING:
    from ablate.study.study import Study


def select_variants(study: Study, stages: Sequence[Stage], session: Session) -> Study:
    """Lets each stage select, in turn, and returns the study with what they chose. Raises `IncompleteSelection`."""
    for index, stage in enumerate(stages):
        later = _max_trainings(study, stages[index + 1 :])
        study = stage.select(study, session, later)
    return study


def _max_trainings(study: Study, stages: Sequence[Stage]) -> int:
    """Returns the most trainings of a study, with those that these stages need to choose its variants."""
    most = len(study.cells()) * (1 + study.companions_per_cell)
    for stage in stages:
        most = stage.max_trials(study, most)
    return most
