"""All that tables, verdicts and figures need: frames, and the facts about the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ablate.core.facts import Facts

if TYPE_CHECKING:
    import pandas as pd


EXAMPLES = ("id", "metric", "values")


def no_rows(columns: Sequence[str]) -> pd.DataFrame:
    """A frame with these columns."""
    import pandas as pd

    return pd.DataFrame(columns=list(columns))


@dataclass(frozen=True)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: Facts
    # One row a trial: id, variant, task, seed, a column a factor path, status, reason, metrics.
    trials: pd.DataFrame
    curves: pd.DataFrame  # id, step, metric, value.
    # id, metric, values: the metric of each test example, in the order of the test split; of completed trials on
    # tasks whose seeds share test examples. The metric that is judged is as at the step that is judged, others as at
    # the last.
    examples: pd.DataFrame = field(default_factory=partial(no_rows, EXAMPLES))
    # Name → what a feature has measured or trained beside that; those without rows may be missing.
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def frame(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """What a feature keeps under `name`; without rows, but with `columns`, where there is nothing."""
        return self.frames[name] if name in self.frames else no_rows(columns)

    def having(self, name: str, frame: pd.DataFrame, facts: Mapping[str, Any]) -> Evidence:
        """With what a feature has measured."""
        known = replace(self.facts, features={**self.facts.features, name: dict(facts)})
        return replace(self, facts=known, frames={**self.frames, name: frame})

    @property
    def only_measured(self) -> bool:
        """Whether the study was measured, as by `ablate bench`, and never trained."""
        return self.trials.empty and any(len(frame) for frame in self.frames.values())
