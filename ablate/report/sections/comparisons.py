"""Every comparison with all its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ablate.report.brief.verdicts import comparison_cells
from ablate.report.section import Block, Material, Section
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    decimals,
    interval,
    number,
    rows_of,
    significant,
)

SPREADS = {"sd_seed": "Spread of seeds", "sd_example": "of examples", "sd_rest": "of the rest"}
"Components of the difference on one seed and example, where all seeds share their examples."
CAPTION = "Outside the verdicts above, everything is exploratory"


class Comparisons(Section):
    """The other metrics and the placebo included."""

    place = 1300
    title = "Every comparison"
    inside = "all metrics and the placebo, with the intervals of the family and of equivalence"

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.comparisons):
            yield detail_table(rows_of(material.comparisons))


def detail_table(rows: Sequence[Row]) -> Table:
    """The comparisons with every interval."""
    columns = [
        Column("variant", "Variant"),
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [95 %]", True),
        Column("seeds", "95 % over seeds alone", True),
        Column("family", "Level of the family", True),
        Column("tost", "Of equivalence in the family", True),
        *(
            Column(key, name, True)
            for key, name in SPREADS.items()
            if any(number(row.get(key)) for row in rows)
        ),
        Column("p", "p", True),
        Column("correlation", "Pair correlation", True),
        Column("seeds_needed", "Seeds needed", True),
        Column("diverged", "Diverged", True),
        Column("missing", "Missing", True),
        Column("note", "Note", below=True),
    ]
    cells = []
    for row in rows:
        places = decimals(row.get("ci_low"), row.get("ci_high"))
        cells.append(
            comparison_cells(row)
            | {
                "seeds": interval(row.get("seeds_low"), row.get("seeds_high"), places),
                "family": interval(row.get("family_low"), row.get("family_high"), places),
                "tost": interval(row.get("tost_low"), row.get("tost_high"), places),
                **{key: significant(row.get(key)) for key in SPREADS},
                "seeds_needed": count(row.get("seeds_needed")),
                "diverged": count(row.get("diverged")),
                "missing": count(row.get("missing")),
            }
        )
    return Table(columns, cells, CAPTION, "comparisons.csv")
