"""Over all tasks: on how many a verdict holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ablate.base import wording
from ablate.core.short_names import short_names
from ablate.report.brief.verdicts import verdict_rows
from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Table, text

COUNTED = ("better", "worse", "equivalent", "inconclusive")


class Across(Section):
    """A row a variant; of studies with several tasks."""

    place = 620
    title = "Over all tasks"
    inside = "on how many tasks a verdict holds"

    def applies(self, material: Material) -> bool:
        return len(material.facts.tasks) > 1

    def findings(self, material: Material) -> list[str]:
        names = short_names(material.facts)
        shown = [
            f"{names.get(variant, variant)} {verdict} on {wording.share(counts[verdict], counts.total())}"
            for variant, counts in across(material).items()
            for verdict in ("better", "worse")
            if counts[verdict]
        ]
        return [f"Tasks on which a difference was shown: {'; '.join(shown)}."] if shown else []

    def blocks(self, material: Material) -> Iterator[Block]:
        names = short_names(material.facts)
        cells = [
            {"variant": names.get(variant, variant), "variant title": text(variant)}
            | {verdict: wording.share(counts[verdict], counts.total()) for verdict in COUNTED}
            for variant, counts in across(material).items()
        ]
        columns = [Column("variant", "Variant"), *(Column(of, of.capitalize(), True) for of in COUNTED)]
        if cells:
            yield Table(columns, cells, "Tasks on which each verdict holds", "comparisons.csv")


def across(material: Material) -> dict[str, Counter[str]]:
    """Variant → verdict → the number of tasks."""
    found: dict[str, Counter[str]] = {}
    for row in verdict_rows(material.comparisons):
        found.setdefault(row["variant"], Counter())[row["verdict"]] += 1
    return found
