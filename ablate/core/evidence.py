"""All that tables, verdicts and figures need: frames, and the facts about the study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ablate.core.facts import Facts

if TYPE_CHECKING:
    import pandas as pd


def no_examples() -> pd.DataFrame:
    """A frame without rows."""
    import pandas as pd

    return pd.DataFrame(columns=["id", "metric", "values"])


def no_stress() -> pd.DataFrame:
    """A frame without rows."""
    import pandas as pd

    words = ("id", "variant", "task", "seed", "value", "status", "reason", "test_loss", "initial_loss")
    return pd.DataFrame(columns=list(words))


@dataclass(frozen=True)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: Facts
    trials: pd.DataFrame
    "One row a trial: id, variant, task, seed, a column a factor path, status, reason, metrics."
    curves: pd.DataFrame
    "id, step, metric, value."
    examples: pd.DataFrame = field(default_factory=no_examples)
    """id, metric, values: the metric of each test example, in the order of the test split; of completed trials on tasks
    whose seeds share test examples. The metric that is judged is as at the step that is judged, others as at the last.
    """
    stress: pd.DataFrame = field(default_factory=no_stress)
    """One row a trial of the grid of `Facts.stress`: id, variant, task, seed, value (float, at the path), status,
    reason, test_loss, initial_loss (NaN where the run has none)."""
