"""Every comparison with all its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ablate.report.brief.verdicts import comparison_cells
from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Row, Table, fixed, rows_of


class Comparisons(Section):
    """The other metrics included."""

    place = 1300
    title = "Every comparison"
    inside = "all metrics, with p; those without a verdict are exploratory"

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.comparisons):
            yield detail_table(rows_of(material.comparisons))


def detail_table(rows: Sequence[Row]) -> Table:
    """The comparisons of every metric."""
    heads = {"variant": "Variant", "task": "Task", "metric": "Metric", "verdict": "Verdict"}
    numbers = {"difference": "Difference", "level": "Level", "p": "p", "n": "Seeds", "mde": "Detectable"}
    columns = [
        *(Column(key, name) for key, name in heads.items()),
        *(Column(key, name, True) for key, name in numbers.items()),
        Column("reason", "Reason", below=True),
    ]
    cells = [comparison_cells(row) | {"level": fixed(row.get("level"), 4)} for row in rows]
    return Table(columns, cells, "Comparisons without a verdict are exploratory", "comparisons.csv")
