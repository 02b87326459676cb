"""All that tables, verdicts and figures need: two frames, and the facts about the study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.core.facts import Facts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: Facts
    trials: pd.DataFrame
    "One row a trial: id, variant, task, seed, a column a factor path, status, reason, metrics."
    curves: pd.DataFrame
    "id, step, metric, value."
