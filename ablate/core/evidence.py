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


def no_speed() -> pd.DataFrame:
    """A frame without rows."""
    import pandas as pd

    words = ("variant", "task", "size", "own", "call", "process", "seconds", "log_ratio", "memory")
    return pd.DataFrame(columns=[*words, "examples", "tokens", "flops", "blocks", "busy"])


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
    speed: pd.DataFrame = field(default_factory=no_speed)
    """One row a variant (no placebo), task, size, call and process, the unit of speed: variant, task, size (at the path
    `SpeedFacts.over`; NaN without one), own (whether it is the size that the study trains), call (of
    `core.speed.CALLS`), process (from 0 on), seconds (median of a call), log_ratio (mean over blocks of the log of the
    ratio of its median time to the baseline's; of the baseline that of a second copy of it), memory (peak bytes of a
    step; NaN for others), examples, tokens and flops of one call (flops NaN where unknown), blocks, busy (cores that
    other processes kept busy meanwhile, on average)."""

    @property
    def only_timed(self) -> bool:
        """Whether the study was timed and never trained."""
        return self.trials.empty and not self.speed.empty
