"""The stages of a study's trials, as MLflow and the tables of Python name them."""

from ablate.core.trial import JUDGED, RUNNER_UP

TRIED = "tried"
"""The role of the trainings of a search."""
FINAL = "final"
_STAGES = {JUDGED: FINAL, RUNNER_UP: "runner-up", TRIED: "tuning", "": "other"}


def stage_of(role: str) -> str:
    """Returns the stage of a cell's trial by the role of the cell: `final`, `tuning`, `runner-up`, `stress`, `probe`, …

    >>> stage_of("rival"), stage_of("stress")
    ('runner-up', 'stress')
    """
    return _STAGES.get(role, role)
