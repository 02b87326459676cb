"""The rows that tables over conditions are made of.

Taken of frames or of the rows of CSV files; imports neither pandas nor matplotlib.
"""

from collections.abc import Sequence
from typing import Any

from ablate.core.facts import StudyFacts
from ablate.core.over import scales_in
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import Row, number, rows_of, text


def with_conditions(rows: Sequence[Row], conditions: Any) -> list[Row]:
    """Returns the rows over conditions with what `conditions.csv` says beside them."""
    about = {(row["variant"], row["baseline"]): row for row in rows_of(conditions)}
    return [{**about.get((row["variant"], row["baseline"]), {}), **row} for row in rows]


def rows_in_conditions(comparisons: Any, facts: StudyFacts) -> list[Row]:
    """Returns the rows of single conditions, on the primary metric, of what is compared over conditions."""
    pairs = {(row["variant"], row["baseline"]) for row in planned_rows(comparisons)}
    names = {task.name for task in facts.tasks}
    rows: list[Row] = []
    for row in rows_of(comparisons):
        is_single = row["task"] in names and row["metric"] == facts.metric
        if is_single and (row["variant"], row["baseline"]) in pairs:
            rows.append(row)
    return rows


def num_conditions(rows: Sequence[Row], facts: StudyFacts) -> int:
    """Returns the number of conditions that verdicts are over: the most of any row."""
    counts = [int(number(row.get("conditions")) or 0) for row in rows]
    return max(counts, default=0) or len(facts.tasks)


def scales_of_row(row: Row) -> dict[str, float]:
    """Returns condition → its scale, of a row over conditions; nothing where all have the metric's own unit."""
    return scales_in(text(row.get("scales")))
