"""The table of trends: how differences grow along a number of the conditions.

Imports neither pandas nor matplotlib.
"""

from collections.abc import Sequence

from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.records.folder import TRENDS
from ablate.report.tables.directions import better_word, direction_of
from ablate.report.tables.verdicts import difference_of, names_of, reason_column, variant_column
from ablate.report.words import Column, Row, Table, count, message, shown, tabulated, text


def trend_table(rows: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns by how much each difference grows with each doubling of the number along which conditions are ordered."""
    first = rows[0]
    names = names_of(facts)
    better = better_word(direction_of(facts, "", text(first["metric"])))
    along = spelled(text(first["along"]))
    columns = [
        variant_column(names),
        Column("difference", "Per doubling [95 %]", True, show=lambda row: trend_difference(row, facts)),
        Column("p", "p", True, show=lambda row: shown(row.get("p"), wording.p_value)),
        Column("n", as_sentence(f"{facts.replication.unit}s"), True, show=lambda row: count(row.get("n"))),
        reason_column(facts, marked=False),
    ]
    return tabulated(columns, rows, message("conditions.trend", along, better), TRENDS)


def trend_difference(row: Row, facts: StudyFacts) -> str:
    """Returns the slope of a row of trends with its interval, in the direction of the metric."""
    return difference_of(row, direction_of(facts, row.get("task"), text(row["metric"])))
