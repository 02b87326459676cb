"""The table of searches, `search.parquet`: one row a setting that a sweep, or the tuning of each variant, has tried.

A setting is trained on all tuning seeds. The columns are those of `COLUMNS`, then one for each searched path (numbers;
labels of choices; missing where the path is not searched) and one for each objective. What they share is in the facts
of the study.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from ablate.core.facts import Evidence, frame_of
from ablate.core.metric import sign, undominated

if TYPE_CHECKING:
    import pandas as pd
    from optuna.distributions import BaseDistribution

# Of the file and of the facts.
NAME = "search"
# The variant that is the best setting of a sweep; the next is `winner-2`.
WINNER = "winner"
# variant, task  the variant and task that the setting belongs to
# number         its place in the budget of its search, from 0
# status         completed; diverged, on a seed or more; pruned; failed; invalid, a setting that cannot be built
# chosen         the name of the variant that it became in the comparison, or empty
# front          whether it is on the Pareto front: no other is as good in every objective and better in one
# seeds          the number of seeds that were trained
# spread         standard deviation over them of the first objective that is a metric
# pruned_at      the step, or the number of seeds trained, at which it was pruned
# ids            of the records, in order of the seeds
# values         of the first objective, in the same order, NaN where a seed has none
# ties           the same of the loss that decides between settings alike in the objective
COLUMNS = (
    *("variant", "task", "number", "status", "reason", "chosen", "front", "seeds", "diverged", "spread"),
    *("pruned_at", "parameters", "flops", "train_seconds", "ids", "values", "ties"),
)
# Statuses of settings that have a value.
OUTCOMES = ("completed", "diverged")
# Significant digits to which a float is used, so that the value reported is the value trained.
DIGITS = 4
# Points of a grid.
MAX_POINTS = 100_000
# Significant digits that any float can have.
EXACT = 12
TYPES: dict[str, type] = {"int": int, "float": float, "choice": str}


@dataclass(frozen=True)
class Parameter:
    """One searched path, and its values: numbers, or the labels of choices."""

    path: str
    # float, int or choice.
    kind: str
    # Lowest and highest number.
    low: Any = None
    high: Any = None
    log: bool = False
    step: float | None = None
    # Labels.
    choices: list[str] = field(default_factory=list)
    # The condition under which it is searched; nothing: always.
    when: str = ""

    def rounded(self, value: Any) -> Any:
        """A float to `DIGITS` significant digits, inside the range; anything else as it is."""
        if self.kind != "float":
            return value
        if self.step is not None:
            return float(f"{value:.{EXACT}g}")
        low, high = self.low, self.high
        # A narrow range far from zero shares its leading digits; these do not count.
        shared = math.log10(max(abs(low), abs(high)) / (high - low))
        digits = min(EXACT, DIGITS + max(0, math.floor(shared)))
        return min(max(float(f"{value:.{digits}g}"), low), high)

    def ends(self) -> list[Any]:
        """Every choice, or the lowest and the highest value."""
        if self.kind == "choice":
            return self.choices
        if self.step is None:
            return [self.low, self.high]
        steps = math.floor((self.high - self.low) / self.step + 1e-9)
        return [self.low, self.rounded(self.low + steps * self.step)]

    def values(self) -> list[Any]:
        """All values, in order; a float needs a step. Of more than `MAX_POINTS`, the first of them and one more."""
        if self.kind == "choice":
            return self.choices
        (low, high), step = self.ends(), self.step or 1
        return [self.rounded(low + i * step) for i in range(min(round((high - low) / step), MAX_POINTS) + 1)]

    def label(self, value: Any) -> str:
        """A value in words, from which it can be read again."""
        return f"{value:.{EXACT}g}" if self.kind == "float" else str(TYPES[self.kind](value))

    def distribution(self) -> BaseDistribution:
        """Optuna's, of all values."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.kind == "choice":
            return CategoricalDistribution(self.choices)
        numbers = IntDistribution if self.kind == "int" else FloatDistribution
        return numbers(self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Objective:
    """One number that is searched for; also the name of a column."""

    name: str
    # max or min.
    direction: str
    # validation, own (a metric of a workload that measures none on validation data), cost or stability.
    source: str
    # The value of a seed that diverged: that of guessing, where the metric declares it.
    floor: float | None = None

    @property
    def measured(self) -> bool:
        """Whether it is a metric."""
        return self.source in ("validation", "own")


@dataclass(frozen=True)
class SearchFacts:
    """The space, objectives and budget of a search; the same for every variant that is tuned."""

    parameters: list[Parameter]
    objectives: list[Objective]
    # Name and parameters, as a label.
    sampler: str
    pruner: str
    # Asked for, of each search.
    trials: int
    # The tuning seeds.
    seeds: list[int]
    batch: int
    # Of the packages on which it depends what was tried.
    versions: dict[str, str] = field(default_factory=dict)


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
        # Padded, `winner` is before `winner-2`, and that before `winner-10`.
        return found.sort_values("chosen", key=lambda names: names.str.zfill(80), kind="stable")

    def of(self, variant: str, task: str) -> pd.DataFrame:
        """The settings of one search, in the order in which they were asked for."""
        return self.trials[(self.trials["variant"] == variant) & (self.trials["task"] == task)]

    def point(self, place: int) -> dict[str, Any]:
        """The searched path → number, or label, of the setting in one row."""
        import pandas as pd

        row = self.trials.loc[place]
        return {p.path: TYPES[p.kind](row[p.path]) for p in self.facts.parameters if not pd.isna(row[p.path])}

    def best(self, variant: str, task: str, count: int = 1, seed: int | None = None) -> list[int]:
        """The places of the best `count` settings of one search, by the first objective; the lower loss breaks a tie.

        `seed`: the place of the one tuning seed by which they are chosen.

        With several objectives they are all on the front, so that each is better than the one before in another
        objective. They may be fewer. A setting that diverged on every seed has the value of guessing, and is not among
        them.
        """
        objectives, mine = self.facts.objectives, with_values(self.of(variant, task), self.facts.objectives)
        mine = mine[mine["diverged"] < mine["seeds"]]
        seeds = slice(seed, None if seed is None else seed + 1)
        if seed is not None:
            mine = mine.assign(**{objectives[0].name: mine["values"].str[seed]})
        mine = mine.assign(ties=mine["ties"].map(lambda by_seed: sum(by_seed[seeds])))
        ascending = [*(objective.direction == "min" for objective in objectives), True]
        order = mine.sort_values([*(o.name for o in objectives), "ties"], ascending=ascending, kind="stable")
        if len(objectives) > 1:
            order = order[order["front"].astype(bool)]
        return [int(place) for place in order[~order[self.paths].astype(str).duplicated()].index[:count]]


def with_values(settings: pd.DataFrame, objectives: list[Objective]) -> pd.DataFrame:
    """The settings that have a finite value of each objective, whether or not a seed diverged."""
    import numpy as np
    import pandas as pd

    values = settings[[o.name for o in objectives]].apply(pd.to_numeric, errors="coerce")
    return settings[settings["status"].isin(OUTCOMES) & np.isfinite(values.to_numpy(float)).all(axis=1)]


def tabulated(facts: SearchFacts, searches: list[list[dict[str, Any]]]) -> SearchTable:
    """One table of the rows of several searches; `chosen` is empty."""
    rows = [
        {"chosen": "", "diverged": 0, "values": [], "ties": [], "front": False, **row}
        for of in searches
        for row in of
    ]
    names = [*COLUMNS, *(p.path for p in facts.parameters), *(o.name for o in facts.objectives)]
    frame = frame_of(rows, [*dict.fromkeys(names)])
    signs = [sign(objective) for objective in facts.objectives]
    for _, mine in with_values(frame, facts.objectives).groupby(["variant", "task"], sort=False):
        points = mine[[o.name for o in facts.objectives]].to_numpy(float) * signs
        frame.loc[mine.index, "front"] = undominated(points)
    return SearchTable(facts, frame)


_adapter = cache(TypeAdapter)


def table_of(evidence: Evidence) -> SearchTable | None:
    """The settings that were tried, where a search chose the variants of the evidence."""
    known = evidence.facts.features.get(NAME)
    if known is None or NAME not in evidence.frames:
        return None
    return SearchTable(_adapter(SearchFacts).validate_python(known), evidence.frames[NAME])


def winner_names(count: int) -> list[str]:
    """`winner`, `winner-2`, …"""
    return [WINNER, *(f"{WINNER}-{index}" for index in range(2, count + 1))]
