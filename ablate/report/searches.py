"""Tables of searches as sections read them: settings with a value, ranges of paths, values in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.wording import brief
from ablate.core.metric import Metric
from ablate.core.search_table import Objective, Parameter, SearchTable
from ablate.report.section import Material
from ablate.report.tables import text

STATUSES = ("completed", "diverged", "pruned", "failed", "invalid")
COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
FAR = 3
MEASURED = ("validation", "own")
"Sources of an objective that is a metric."


class OfSweep:
    """A section of a study that was swept."""

    def applies(self, material: Material) -> bool:
        """Whether the study has the table of a sweep."""
        return material.facts.searched == "sweep" and material.searched is not None


class OfTuning:
    """A section of a study whose variants were tuned."""

    def applies(self, material: Material) -> bool:
        """Whether the study has the table of the searches."""
        return material.facts.searched == "tuning" and material.searched is not None


def table(material: Material) -> SearchTable:
    """The settings that were tried, of a section that applies."""
    assert material.searched is not None
    return material.searched


def sought(searched: SearchTable) -> list[tuple[Objective, str]]:
    """The objectives with the end of the names of their files, `-2` for the second. A cost is sought only if it is the
    first: what a setting costs is known without a search.
    """
    found = enumerate(searched.facts.objectives)
    return [(o, f"-{i + 1}" if i else "") for i, o in found if o.source != "cost" or not i]


def named(objective: Objective) -> str:
    """An objective in words: `validation accuracy`."""
    words = objective.name.replace("_", " ").replace("flops", "FLOPs")
    return f"validation {words}" if objective.source == "validation" else words


def of(searched: SearchTable, objective: Objective) -> str:
    """` of validation accuracy` where there are several objectives, for a title."""
    return f" of {named(objective)}" if len(searched.facts.objectives) > 1 else ""


def judged(searched: SearchTable, objective: str) -> pd.DataFrame:
    """The settings with a finite value of the objective, whether or not a seed diverged."""
    table = searched.trials
    values = pd.to_numeric(table[objective], errors="coerce")
    return table[table["status"].isin(["completed", "diverged"]) & np.isfinite(values)]


def outcomes(table: pd.DataFrame, **columns: pd.Series | np.ndarray) -> pd.DataFrame:
    """The columns, and of the settings of a table also number, status and chosen (empty: not a winner)."""
    chosen = table["chosen"].fillna("").to_numpy(str)
    frame = {"number": table["number"], "status": table["status"], **columns, "chosen": chosen}
    return pd.DataFrame({name: np.asarray(column) for name, column in frame.items()})


def history(searched: SearchTable, objective: Objective) -> pd.DataFrame:
    """One row per setting, in the order of their numbers: number, status, value, best (so far), chosen.

    value: NaN where there is none; the value that a pruned setting had reached is not one.
    """
    table = searched.trials.sort_values("number", kind="stable")
    found = judged(searched, objective.name)[objective.name].astype(float)
    values = found.reindex(table.index)
    so_far = values.cummax() if objective.direction == "max" else values.cummin()
    return outcomes(table, value=values, best=so_far.ffill())


def in_view(values: pd.Series, objective: Objective) -> pd.Series:
    """Which values a figure has room for: not those that are missing, nor those far worse than the rest, which are
    more than `FAR` times as far from the median as the best.
    """
    middle, best = values.median(), values.max() if objective.direction == "max" else values.min()
    reach = FAR * abs(best - middle)
    return (values - middle).abs() <= reach if reach else values.notna()


def metric(material: Material, objective: Objective) -> Metric | None:
    """What is known of an objective that is a metric."""
    known = (task.metrics.get(objective.name) for task in material.facts.tasks)
    return next(filter(None, known), None) if objective.source in MEASURED else None


def band(values: pd.Series, objective: Objective) -> str:
    """The grey band of a figure in a sentence, where it has one."""
    shown = " In the grey band: settings without a value, or far worse than the rest."
    return "" if in_view(values, objective).all() else shown


@dataclass(frozen=True)
class Range:
    """The whole range that a path was searched on."""

    low: float
    high: float
    log: bool = False
    whole: bool = False
    stepped: bool = False
    "Whether its numbers, though not whole, lie a step apart."
    labels: tuple[str, ...] = ()
    "Of the choices, whose places are 0, 1, …"

    @classmethod
    def of(cls, searched: SearchTable, parameter: Parameter) -> Range:
        """Of a searched path, with the values that were tried outside, if any."""
        values = searched.trials[parameter.path].dropna()
        if parameter.kind == "choice":
            labels = tuple(dict.fromkeys([*parameter.choices, *map(str, values)]))
            return cls(-0.5, len(labels) - 0.5, labels=labels)
        known = [end for end in (parameter.low, parameter.high, *values.astype(float)) if end is not None]
        low, high = min(known), max(known)
        if low == high:
            low, high = (low / 2, high * 2) if parameter.log else (low - 1, high + 1)
        return cls(low, high, parameter.log, parameter.kind == "int", parameter.step is not None)

    def places(self, values: pd.Series) -> np.ndarray:
        """Numbers as they are, choices as the index of their label; NaN where there is no value."""
        if self.labels:
            values = values.map({label: i for i, label in enumerate(self.labels)})
        return pd.to_numeric(values, errors="coerce").to_numpy(float)

    def said(self, place: float) -> str:
        """The value at a place, in words."""
        return self.labels[int(place)] if self.labels else value(place)

    def shares(self, places: np.ndarray) -> np.ndarray:
        """How far along the range places lie, from 0 to 1, on the scale that was searched on."""
        scale = np.log if self.log else np.asarray
        return np.asarray((scale(places) - scale(self.low)) / (scale(self.high) - scale(self.low)))


def ranges(searched: SearchTable) -> dict[str, Range]:
    """The range of each searched path."""
    return {p.path: Range.of(searched, p) for p in searched.facts.parameters}


def ranked(importances: pd.DataFrame | None, objective: str) -> pd.DataFrame:
    """The importances for one objective, the most important by fANOVA first; no rows where none are known."""
    if importances is None:
        return pd.DataFrame(columns=["objective", "parameter", "evaluator", "importance", "low", "high"])
    mine = importances[importances["objective"] == objective]
    first = mine[mine["evaluator"] == "fanova"].sort_values("importance", ascending=False, kind="stable")
    order = {path: i for i, path in enumerate(first["parameter"])}
    return mine.sort_values("parameter", key=lambda paths: paths.map(order), kind="stable")


def setting(searched: SearchTable, row: dict[Any, Any], only: Sequence[str] = ()) -> str:
    """The values of a setting in a line, `training.lr=.0031, model.mixer=lstm`; paths that it lacks are left out."""
    paths = [path for path in only or searched.paths if not pd.isna(row[path])]
    return ", ".join(f"{path}={value(row[path])}" for path in paths)


def value(found: Any) -> str:
    """A value of a searched path; a number with three significant digits."""
    if pd.isna(found):
        return ""
    if isinstance(found, str):
        return text(found)
    number = float(found)
    return brief(number).removeprefix("0") if 0 < number < 1 else brief(number)


def statuses(table: pd.DataFrame) -> list[str]:
    """How the settings of a table ended, in the order of `STATUSES`."""
    found = set(table["status"])
    return [*(status for status in STATUSES if status in found), *sorted(found - set(STATUSES))]


def places(rows: pd.DataFrame, whole: pd.DataFrame) -> list[str]:
    """The variants of the rows of a frame, with their tasks where the whole frame has several."""
    several = whole["task"].nunique() > 1
    pairs = zip(rows["variant"], rows["task"], strict=True)
    return [f"{variant} on {task}" if several else variant for variant, task in pairs]
