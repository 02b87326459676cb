"""Over all tasks: on how many a verdict holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ablate.analysis.across import COUNTED, across
from ablate.base import wording
from ablate.core.short_names import short_names
from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Row, Table, rows_of, text


class Across(Section):
    """A row a variant; of studies with several tasks."""

    place = 620
    title = "Over all tasks"
    inside = "on how many tasks a verdict holds"

    def applies(self, material: Material) -> bool:
        return len(material.facts.tasks) > 1

    def findings(self, material: Material) -> list[str]:
        rows = across(material.facts, material.comparisons)
        names = short_names(material.facts)
        shown = [
            f"{names[row.variant]} {count} on {wording.share(int(getattr(row, count)), int(row.tasks))}"
            for row in rows.itertuples()
            for count in ("better", "worse")
            if getattr(row, count)
        ]
        return [f"Tasks on which a difference was shown: {'; '.join(shown)}."] if shown else []

    def blocks(self, material: Material) -> Iterator[Block]:
        if rows := rows_of(across(material.facts, material.comparisons)):
            yield table(rows, short_names(material.facts))


def table(rows: Sequence[Row], names: Mapping[str, str]) -> Table:
    """The rows of `analysis.across` as strings."""
    counts = (*COUNTED, "open")
    heads = [
        *(Column(verdict, verdict.capitalize(), True) for verdict in COUNTED),
        Column("open", "Undecided", True),
    ]
    cells = [
        {"variant": names[row["variant"]], "variant title": text(row["variant"])}
        | {count: wording.share(int(row[count]), int(row["tasks"])) for count in counts}
        for row in rows
    ]
    return Table(
        [Column("variant", "Variant"), *heads], cells, "Tasks on which each verdict holds", "comparisons.csv"
    )
