"""The table of searches, `search.parquet`: one row a setting that a sweep, or the tuning of each variant, has tried.

A setting is trained on all tuning seeds. The columns are those of `SettingRow`, then one for each searched path
(numbers; labels of choices; missing where the path is not searched) and one for each objective. What they share is in
the facts of the study.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from ablate.analysis.widening import AddedValue
from ablate.base.errors import AblateError
from ablate.core.facts import Evidence, frame_of
from ablate.core.metric import Direction, sign, undominated
from ablate.core.stage_facts import REMEDY, StageFacts

if TYPE_CHECKING:
    import pandas as pd
    from optuna.distributions import BaseDistribution

WINNER = "winner"
"""The variant that is the best setting of a sweep; the next is `winner-2`."""
OUTCOMES = ("completed", "diverged")
"""The statuses of settings that have a value."""
DIGITS = 4
"""The significant digits to which a float is used, so that the value reported is the value trained."""
EXACT = 12
"""The significant digits that any float can have."""
MAX_POINTS = 100_000
"""The most points of a grid."""
ParameterKind = Literal["float", "int", "choice"]
ObjectiveSource = Literal["validation", "own", "cost", "stability"]
"""The data that an objective is read from.

    validation   validation data of the trainings
    own          the metric of a workload that measures none on validation data
    cost         the config alone: parameters, FLOPs
    stability    how the seeds of a setting ended
"""
TYPES: dict[ParameterKind, type] = {"int": int, "float": float, "choice": str}
"""Kind of a parameter → the type of its values."""


@dataclass(frozen=True)
class Parameter:
    """A searched path, and its values: numbers, or the labels of choices."""

    path: str
    kind: ParameterKind
    """The type of its values, or `choice`."""
    low: Any = None
    """The lowest number; None of choices."""
    high: Any = None
    """The highest number; None of choices."""
    log: bool = False
    """Whether it is searched on a log scale."""
    step: float | None = None
    """The distance of neighbouring numbers; None where any number may be tried."""
    choices: list[str] = field(default_factory=list)
    """The labels of choices."""
    when: str = ""
    """The condition under which it is searched; empty: always."""

    def rounded(self, value: Any) -> Any:
        """Returns a float to `DIGITS` significant digits, inside the range; anything else as it is."""
        if self.kind != "float":
            return value
        if self.step is not None:
            return float(f"{value:.{EXACT}g}")
        # A narrow range far from zero shares its leading digits; these do not count.
        shared = math.log10(max(abs(self.low), abs(self.high)) / (self.high - self.low))
        digits = min(EXACT, DIGITS + max(0, math.floor(shared)))
        rounded = float(f"{value:.{digits}g}")
        return min(max(rounded, self.low), self.high)

    def ends(self) -> list[Any]:
        """Returns every choice, or the lowest and the highest value."""
        if self.kind == "choice":
            return self.choices
        if self.step is None:
            return [self.low, self.high]
        steps = math.floor((self.high - self.low) / self.step + 1e-9)
        return [self.low, self.rounded(self.low + steps * self.step)]

    def values(self) -> list[Any]:
        """Returns all values, in order, at most one more than `MAX_POINTS`; a float needs a step."""
        if self.kind == "choice":
            return self.choices
        low, high = self.ends()
        step = self.step or 1
        steps = min(round((high - low) / step), MAX_POINTS)
        return [self.rounded(low + i * step) for i in range(steps + 1)]

    def label(self, value: Any) -> str:
        """Returns a value in words, from which it can be read again."""
        if self.kind == "float":
            return f"{value:.{EXACT}g}"
        return str(TYPES[self.kind](value))

    def distribution(self) -> BaseDistribution:
        """Returns Optuna's distribution of all values."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.kind == "choice":
            return CategoricalDistribution(self.choices)
        if self.kind == "int":
            return IntDistribution(self.low, self.high, log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Objective:
    """A number that a search makes larger, or smaller."""

    name: str
    """The name of the objective, and of its column."""
    direction: Direction
    """`max` or `min`."""
    source: ObjectiveSource
    floor: float | None = None
    """The value of a seed that diverged: that of guessing, where the metric declares it."""

    @property
    def measured(self) -> bool:
        """True of a metric; False of what the config, or the end of the seeds, tells."""
        return self.source in ("validation", "own")


@dataclass(frozen=True)
class SettingRow:
    """A setting that was tried: the columns that the table has in every study; NaN where a number is not known."""

    variant: str
    """The variant that the setting belongs to."""
    task: str
    """The task that it belongs to."""
    number: int
    """Its place in the budget of its search, from 0."""
    status: str
    """`completed`; `diverged`, on a seed or more; `pruned`; `failed`; `invalid`, a setting that cannot be built."""
    reason: str = ""
    """Why it has this status; empty where it completed."""
    chosen: str = ""
    """The name of the variant that it became in the comparison; empty where it became none."""
    front: bool = False
    """Whether it is on the Pareto front: no other is as good in every objective and better in one."""
    seeds: int = 0
    """The number of seeds that were trained."""
    diverged: int = 0
    """The number of seeds that diverged, or were lost to memory or the time limit."""
    spread: float = math.nan
    """The standard deviation over seeds of the first objective that is a metric, in its units."""
    pruned_at: float = math.nan
    """The step, or the number of seeds trained, at which it was pruned."""
    parameters: float = math.nan
    """The number of trainable parameters."""
    flops: float | None = math.nan
    """The floating-point operations of a forward pass on one example; None where the workload does not tell them."""
    train_seconds: float = 0.0
    """The seconds of its trainings, without the pauses of the machine."""
    ids: list[str] = field(default_factory=list)
    """The ids of its records, in the order of the seeds."""
    values: list[float] = field(default_factory=list)
    """The first objective by seed, in the same order; NaN where a seed has none."""
    ties: list[float] = field(default_factory=list)
    """The loss that decides between settings alike in the objective, by seed, in the same order."""


@dataclass(frozen=True)
class SearchFacts(StageFacts):
    """The space, objectives and budget of a search; the same for every variant that is tuned."""

    key = "search"
    columns = tuple(column.name for column in fields(SettingRow))

    parameters: list[Parameter]
    objectives: list[Objective]
    sampler: str
    """The name of the sampler with its parameters, as a label."""
    pruner: str
    """The name of the pruner with its parameters, as a label."""
    trials: int
    """The number of settings that each search was asked to try."""
    seeds: list[int]
    """The tuning seeds."""
    batch: int
    """The number of settings that are asked for before any of them is trained."""
    versions: dict[str, str] = field(default_factory=dict)
    """The versions of the packages on which it depends what was tried."""
    at: str = ""
    """The condition in which variants were tuned for all; empty: in each of them."""
    added: list[AddedValue] | None = None
    """The values by which the grid was widened, in their order; None where it was to stay as it is given."""

    def chooses_each_seed(self, judged_seeds: Collection[int]) -> bool:
        """Returns whether each seed of a study chose its own setting: the judged seeds are then tuning seeds."""
        return not {*self.seeds}.isdisjoint(judged_seeds)


@dataclass(frozen=True)
class TriedSetting:
    """A setting that was tried, with all that the table has of it."""

    row: SettingRow
    point: Mapping[str, Any]
    """Searched path → number, or label of a choice; without the paths that are not searched there."""
    objectives: Mapping[str, float] = field(default_factory=dict)
    """Name of an objective → its value over seeds; without those that are not known."""
    own: bool = False
    """Whether a metric among the objectives was not measured on validation data."""


@dataclass(frozen=True)
class SearchTable:
    """A table of searches, with its facts."""

    facts: SearchFacts
    trials: pd.DataFrame

    @property
    def paths(self) -> list[str]:
        """The searched paths."""
        return [parameter.path for parameter in self.facts.parameters]

    @property
    def winners(self) -> pd.DataFrame:
        """The settings that became variants: winner, winner-2, …"""
        chosen = self.trials[self.trials["chosen"].fillna("") != ""]
        # Padded, `winner` is before `winner-2`, and that before `winner-10`.
        return chosen.sort_values("chosen", key=lambda names: names.str.zfill(80), kind="stable")

    def of(self, variant: str, task: str) -> pd.DataFrame:
        """Returns the settings of one search, in the order in which they were asked for."""
        return self.trials[(self.trials["variant"] == variant) & (self.trials["task"] == task)]

    def point(self, place: int) -> dict[str, Any]:
        """Returns searched path → number, or label, of the setting in one row."""
        import pandas as pd

        row = self.trials.loc[place]
        point = {}
        for parameter in self.facts.parameters:
            value = row[parameter.path]
            if not pd.isna(value):
                point[parameter.path] = TYPES[parameter.kind](value)
        return point

    def best(self, variant: str, task: str, count: int = 1, seed: int | None = None) -> list[int]:
        """Returns the places of the best `count` settings of one search, by the first objective.

        The lower loss breaks a tie. `seed`: the place of the one tuning seed by which they are chosen; None: all.

        With several objectives they are all on the front, so that each is better than the one before in another
        objective. They may be fewer. A setting that diverged on every seed has the value of guessing, and is not among
        them.
        """
        objectives = self.facts.objectives
        settings = with_values(self.of(variant, task), objectives)
        settings = settings[settings["diverged"] < settings["seeds"]]
        if seed is None:
            losses = [sum(by_seed) for by_seed in settings["ties"]]
        else:
            settings = settings.assign(**{objectives[0].name: settings["values"].str[seed]})
            losses = [sum(by_seed[seed : seed + 1]) for by_seed in settings["ties"]]
        settings = settings.assign(ties=losses)

        names = [objective.name for objective in objectives]
        ascending = [objective.direction == "min" for objective in objectives]
        ranked = settings.sort_values([*names, "ties"], ascending=[*ascending, True], kind="stable")
        if len(objectives) > 1:
            ranked = ranked[ranked["front"].astype(bool)]
        distinct = ranked[~ranked[self.paths].astype(str).duplicated()]
        return [int(place) for place in distinct.index[:count]]


def with_values(settings: pd.DataFrame, objectives: Sequence[Objective]) -> pd.DataFrame:
    """Returns the settings that have a finite value of each objective, whether or not a seed diverged."""
    import numpy as np
    import pandas as pd

    names = [objective.name for objective in objectives]
    values = settings[names].apply(pd.to_numeric, errors="coerce").to_numpy(float)
    return settings[settings["status"].isin(OUTCOMES) & np.isfinite(values).all(axis=1)]


def searches_tabulated(facts: SearchFacts, searches: Sequence[Sequence[TriedSetting]]) -> SearchTable:
    """Returns one table of the settings of several searches; no setting is chosen yet."""
    rows = []
    for search in searches:
        for tried in search:
            rows.append({**vars(tried.row), **tried.point, **tried.objectives})
    paths = [parameter.path for parameter in facts.parameters]
    names = [objective.name for objective in facts.objectives]
    # An objective such as `parameters` has its column already.
    frame = frame_of(rows, list(dict.fromkeys([*SearchFacts.columns, *paths, *names])))

    signs = [sign(objective) for objective in facts.objectives]
    for _, settings in with_values(frame, facts.objectives).groupby(["variant", "task"], sort=False):
        points = settings[names].to_numpy(float) * signs
        frame.loc[settings.index, "front"] = undominated(points)
    return SearchTable(facts, frame)


def search_table_of(evidence: Evidence) -> SearchTable | None:
    """Returns the settings that were tried, where a search chose the variants of the evidence; else None."""
    facts = evidence.facts.of(SearchFacts)
    if facts is None:
        return None
    frame = evidence.frame(SearchFacts)
    if frame.empty:
        return None
    missing = [name for name in SearchFacts.columns if name not in frame]
    if missing:
        raise AblateError(f"{SearchFacts.key}.parquet: the column {missing[0]} is missing. {REMEDY}")
    return SearchTable(facts, frame)


def winner_names(count: int) -> list[str]:
    """Returns `winner`, `winner-2`, …"""
    return [WINNER, *(f"{WINNER}-{index}" for index in range(2, count + 1))]
