"""What searches have tried, as one table: the trials of a sweep, or those that tuned each variant.

    results/<study>/sweep.parquet    `ablate sweep`: one row a trial of the search
    results/<study>/tuning.parquet   `tune:`: the same, for every variant and task

A trial of a search is one setting, trained on all tuning seeds. The columns are those of `COLUMNS`, then one for each
searched path (numbers; labels of choices; missing where the path is not searched) and one for each objective. The
facts travel in the attributes of the frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ablate.core.cell import Cell
from ablate.core.trial import Trial

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
variant, task  whose setting it is
number         its place in the budget of its search, from 0
status         completed; diverged, on a seed or more; pruned; failed; invalid, a setting that cannot be built
chosen         the variant that it became in the comparison, or nothing
front          no other is as good in every objective and better in one
seeds          how many were trained
spread         standard deviation over them of the first objective that is a metric
pruned_at      the step, or how many seeds were trained
ids            of the records, in order of the seeds
values         of the first objective, in the same order, NaN where a seed has none
"""


@dataclass(frozen=True)
class ParameterFacts:
    """One searched path."""

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


@dataclass(frozen=True)
class ObjectiveFacts:
    """One number that is searched for; also the name of a column."""

    name: str
    direction: str
    "max or min."
    source: str
    "validation, own (a metric of a workload that measures none on validation data), cost or stability."
    floor: float | None = None
    "What a seed that diverged counts as, where the metric says what guessing is worth."


@dataclass(frozen=True)
class SearchFacts:
    """What the table alone does not say; the same for every variant that is tuned."""

    parameters: list[ParameterFacts]
    objectives: list[ObjectiveFacts]
    sampler: str
    "Name and parameters, as a label."
    pruner: str
    trials: int
    "Asked for, of each search."
    seeds: list[int]
    "The tuning seeds."
    batch: int
    storage: str = ""
    "URL, without a password."

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SearchFacts:
        """The inverse of `dataclasses.asdict`."""
        fields = dict(data)
        fields["parameters"] = [ParameterFacts(**item) for item in data["parameters"]]
        fields["objectives"] = [ObjectiveFacts(**item) for item in data["objectives"]]
        return cls(**fields)


def undominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of points (n × objectives), more being better: whether no other is as good in all and better in one."""
    import numpy as np

    return np.array(
        [not ((points >= point).all(axis=1) & (points > point).any(axis=1)).any() for point in points], bool
    )


def setting_name(variant: str, number: int, swept: bool) -> str:
    """What the trials of a setting are called: `setting 007`, or `model.norm=batch · setting 007`."""
    return f"setting {number:03d}" if swept else f"{variant} · setting {number:03d}"


@dataclass(frozen=True)
class Searched:
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
        """Of every training: the row of its setting, and its cell, whose trial has no config."""
        import pandas as pd

        several = self.trials["task"].nunique() > 1
        for index, row in enumerate(self.trials.to_dict("records")):
            levels = {}
            for parameter in self.facts.parameters:
                value = row[parameter.path]
                if not pd.isna(value):
                    levels[parameter.path] = value if parameter.kind == "choice" else f"{value:.12g}"
            name = setting_name(row["variant"], int(row["number"]), swept)
            on = f" on {row['task']}" if several else ""
            for trial_id, seed in zip(row["ids"], self.facts.seeds, strict=False):
                trial = Trial(str(trial_id), {}, seed)
                yield (
                    index,
                    Cell(name, row["task"], seed, trial, f"{name}{on} seed {seed}", levels, judged=False),
                )


def _place(name: str) -> int:
    """2 for `winner-2`, 1 for `winner`."""
    end = name.rpartition("-")[2]
    return int(end) if end.isdigit() else 1
