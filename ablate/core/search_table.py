"""The table of searches: one row a setting that a sweep, or the tuning of each variant, has tried.

    results/<study>/sweep.parquet    `ablate sweep`: one row a setting
    results/<study>/tuning.parquet   `tune:`: the same, for every variant and task

A trial of a search is one setting, trained on all tuning seeds. The columns are those of `COLUMNS`, then one for each
searched path (numbers; labels of choices; missing where the path is not searched) and one for each objective. The
facts travel in the attributes of the frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ablate.core.trial import Cell, Trial

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

WINNER = "winner"
"The variant that is the best setting of a sweep; the next is `winner-2`."
COLUMNS = (
    *("variant", "task", "number", "status", "reason", "chosen", "front", "seeds", "diverged", "spread"),
    *("pruned_at", "parameters", "flops", "train_seconds", "ids", "values"),
)
"""
variant, task  the variant and task that the setting belongs to
number         its place in the budget of its search, from 0
status         completed; diverged, on a seed or more; pruned; failed; invalid, a setting that cannot be built
chosen         the name of the variant that it became in the comparison, or empty
front          whether it is on the Pareto front: no other is as good in every objective and better in one
seeds          the number of seeds that were trained
spread         standard deviation over them of the first objective that is a metric
pruned_at      the step, or the number of seeds trained, at which it was pruned
ids            of the records, in order of the seeds
values         of the first objective, in the same order, NaN where a seed has none
"""


DIGITS = 4
"""Significant digits to which a float is used, so that the value reported is the value trained."""
EXACT = 12
"""Significant digits that any float can have."""


@dataclass(frozen=True)
class Parameter:
    """One searched path, and its values: numbers, or the labels of choices."""

    path: str
    kind: str
    "float, int or choice."
    low: float | None = None
    high: float | None = None
    log: bool = False
    step: float | None = None
    choices: list[str] = field(default_factory=list)
    "Labels."
    when: str = ""
    "The condition under which it is searched; nothing: always."

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest number."""
        if self.low is None or self.high is None:
            raise TypeError(f"{self.path} is a choice, which has no bounds")
        return self.low, self.high

    def rounded(self, value: Any) -> Any:
        """A float to `DIGITS` significant digits, inside the range; anything else as it is."""
        if self.kind != "float":
            return value
        if self.step is not None:
            return float(f"{value:.{EXACT}g}")
        low, high = self.bounds
        # A narrow range far from zero shares its leading digits; these do not count.
        shared = math.log10(max(abs(low), abs(high)) / (high - low))
        digits = min(EXACT, DIGITS + max(0, math.floor(shared)))
        return min(max(float(f"{value:.{digits}g}"), low), high)

    def num_values(self) -> int:
        """The number of values; a float needs a step."""
        if self.kind == "choice":
            return len(self.choices)
        low, high = self.bounds
        return math.floor((high - low) / (self.step or 1) + 1e-9) + 1

    def values(self) -> list[Any]:
        """All values, in order; a float needs a step."""
        if self.kind == "choice":
            return self.choices
        low, step = self.bounds[0], self.step or 1
        return [self.rounded(low + i * step) for i in range(self.num_values())]

    def ends(self) -> list[Any]:
        """Every choice, or the lowest and the highest value."""
        if self.kind == "choice":
            return self.choices
        low, high = self.bounds
        return [low, high if self.step is None else self.rounded(low + (self.num_values() - 1) * self.step)]

    def label(self, value: Any) -> str:
        """A value in words, from which it can be read again."""
        if self.kind == "choice":
            return str(value)
        return str(int(value)) if self.kind == "int" else f"{value:.{EXACT}g}"


@dataclass(frozen=True)
class Objective:
    """One number that is searched for; also the name of a column."""

    name: str
    direction: str
    "max or min."
    source: str
    "validation, own (a metric of a workload that measures none on validation data), cost or stability."
    floor: float | None = None
    "The value of a seed that diverged: that of guessing, where the metric declares it."


@dataclass(frozen=True)
class SearchFacts:
    """The space, objectives and budget of a search; the same for every variant that is tuned."""

    parameters: list[Parameter]
    objectives: list[Objective]
    sampler: str
    "Name and parameters, as a label."
    pruner: str
    trials: int
    "Asked for, of each search."
    seeds: list[int]
    "The tuning seeds."
    batch: int
    versions: dict[str, str] = field(default_factory=dict)
    "Of the packages on which it depends what was tried; none where they were not noted."

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SearchFacts:
        """The inverse of `dataclasses.asdict`; of older tables, what they still say."""
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        known["parameters"] = [Parameter(**item) for item in data["parameters"]]
        known["objectives"] = [Objective(**item) for item in data["objectives"]]
        return cls(**known)


def undominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each of the points (n × objectives; more is better) is on the Pareto front."""
    import numpy as np

    return np.array(
        [not ((points >= point).all(axis=1) & (points > point).any(axis=1)).any() for point in points], bool
    )


def setting_name(variant: str, number: int, swept: bool) -> str:
    """The name of a setting: `setting 007` of a sweep, `model.norm=batch · setting 007` of a tuned variant."""
    return f"setting {number:03d}" if swept else f"{variant} · setting {number:03d}"


@dataclass(frozen=True)
class SearchTable:
    """One table of searches, with its facts."""

    facts: SearchFacts
    trials: pd.DataFrame

    @property
    def paths(self) -> list[str]:
        """The searched paths."""
        return [parameter.path for parameter in self.facts.parameters]

    @property
    def winners(self) -> pd.DataFrame:
        """The settings that became variants: winner, winner-2, …"""
        found = self.trials[self.trials["chosen"].fillna("") != ""]
        return found.sort_values("chosen", key=lambda names: names.map(_place), kind="stable")

    def cells(self, swept: bool) -> Iterator[tuple[int, Cell]]:
        """For every training, the row of its setting and its cell, whose trial has no config."""
        import pandas as pd

        several = self.trials["task"].nunique() > 1
        for index, row in enumerate(self.trials.to_dict("records")):
            levels = {p.path: p.label(row[p.path]) for p in self.facts.parameters if not pd.isna(row[p.path])}
            name = setting_name(row["variant"], int(row["number"]), swept)
            on = f" on {row['task']}" if several else ""
            for trial_id, seed in zip(row["ids"], self.facts.seeds, strict=False):
                trial = Trial(str(trial_id), {}, seed)
                yield (
                    index,
                    Cell(name, row["task"], seed, trial, f"{name}{on} seed {seed}", levels, "tried"),
                )


def _place(name: str) -> int:
    """2 for `winner-2`, 1 for `winner`."""
    end = name.rpartition("-")[2]
    return int(end) if end.isdigit() else 1
