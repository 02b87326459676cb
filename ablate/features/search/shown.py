"""What the sections of searches share: objectives, settings and values in words, and the space."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablate.base.wording import brief
from ablate.features.search.table import Objective, SearchTable, table_of
from ablate.report.section import Material
from ablate.report.words import NOTHING, Column, Row, Table, rows_of, tabulated, text

FILE = "search.parquet"


class OfSearch:
    """A section of a study that was searched, by `kind`."""

    kind: str

    def applies(self, material: Material) -> bool:
        """Whether the study has the table of such a search."""
        found = table_of(material.evidence)
        return material.facts.searched == self.kind and found is not None and len(found.trials) > 0


def table(material: Material) -> SearchTable:
    """The settings that were tried, of a section that applies."""
    found = table_of(material.evidence)
    assert found is not None
    return found


def named(objective: Objective) -> str:
    """An objective in words: `validation accuracy`."""
    words = objective.name.replace("_", " ").replace("flops", "FLOPs")
    return f"validation {words}" if objective.source == "validation" else words


def setting(searched: SearchTable, row: Row) -> str:
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


def places(rows: pd.DataFrame, whole: pd.DataFrame) -> list[str]:
    """The variants of the rows of a frame, with their tasks where the whole frame has several."""
    several = whole["task"].nunique() > 1
    return [f"{row['variant']} on {row['task']}" if several else row["variant"] for row in rows_of(rows)]


def space_table(searched: SearchTable) -> Table:
    """The space as it was searched: a row per path."""

    def values(row: Row) -> str:
        step = f", step {value(row['step'])}" if row["step"] else ""
        ends = (value(row[end]) or NOTHING for end in ("low", "high"))
        return text(", ".join(row["choices"])) or f"{' to '.join(ends)}{step}"

    columns = [
        Column("path", "Path"),
        Column("kind", "Kind"),
        Column("values", "Values", words=True, show=values),
        Column("log", "Scale", show=lambda row: "log" if row["log"] else NOTHING),
        Column("when", "Searched when", show=lambda row: text(row["when"]) or "always"),
    ]
    return tabulated(columns, [vars(parameter) for parameter in searched.facts.parameters], "The space")
