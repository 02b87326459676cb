"""Tables of searches as sections read them: settings with a value, values in words, the space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ablate.base.wording import brief
from ablate.core.search_table import Objective, Parameter, SearchTable
from ablate.report.section import Material
from ablate.report.tables import NOTHING, Column, Table, text

STATUSES = ("completed", "diverged", "pruned", "failed", "invalid")
COSTS = {"parameters": "Parameters", "flops": "FLOPs"}
MEASURED = ("validation", "own")
"Sources of an objective that is a metric."


class OfSearch:
    """A section of a study that was searched, by `kind`."""

    kind: str

    def applies(self, material: Material) -> bool:
        """Whether the study has the table of such a search."""
        return material.facts.searched == self.kind and material.searched is not None


def table(material: Material) -> SearchTable:
    """The settings that were tried, of a section that applies."""
    assert material.searched is not None
    return material.searched


def named(objective: Objective) -> str:
    """An objective in words: `validation accuracy`."""
    words = objective.name.replace("_", " ").replace("flops", "FLOPs")
    return f"validation {words}" if objective.source == "validation" else words


def judged(searched: SearchTable, objective: str) -> pd.DataFrame:
    """The settings with a finite value of the objective, whether or not a seed diverged."""
    table = searched.trials
    values = pd.to_numeric(table[objective], errors="coerce")
    return table[table["status"].isin(["completed", "diverged"]) & np.isfinite(values)]


def setting(searched: SearchTable, row: dict[Any, Any]) -> str:
    """The values of a setting in a line, `training.lr=.0031, model.mixer=lstm`; paths that it lacks are left out."""
    return ", ".join(f"{path}={value(row[path])}" for path in searched.paths if not pd.isna(row[path]))


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


def space_table(searched: SearchTable) -> Table:
    """The space as it was searched: a row per path."""
    columns = [
        Column("path", "Path"),
        Column("kind", "Kind"),
        Column("range", "Range", words=True),
        Column("scale", "Scale"),
        Column("when", "Searched when"),
    ]
    rows = [(text(p.path), p.kind, *_range(p), text(p.when) or "always") for p in searched.facts.parameters]
    keys = [column.key for column in columns]
    return Table(columns, [dict(zip(keys, row, strict=True)) for row in rows], "The space")


def _range(parameter: Parameter) -> tuple[str, str]:
    """The values and the scale of a path in words."""
    if parameter.kind == "choice":
        return text(", ".join(parameter.choices)), NOTHING
    step = "" if parameter.step is None else f", step {value(parameter.step)}"
    ends = (value(end) or NOTHING for end in (parameter.low, parameter.high))
    return " to ".join(ends), f"{'log' if parameter.log else 'linear'}{step}"
