"""Every comparison with all its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Table, count, p_value, rows_of, tabulated, text
from ablate.report.verdicts import Names, detectable, difference_of, mean, names_of, reason
from ablate.report.words import say


class Comparisons(Section):
    """The other metrics and the placebo included."""

    place = 1300
    title = "Every comparison"
    inside = "all metrics and the placebo, with p"

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.comparisons):
            yield detail_table(material, names_of(material.facts))


def detail_table(material: Material, names: Names) -> Table:
    """A row a comparison."""
    columns = [
        Column("variant", "Variant", show=lambda row: text(names.get(row["variant"], row["variant"]))),
        Column("task", "Task", varying=True),
        Column("metric", "Metric", varying=True),
        Column("verdict", "Verdict"),
        Column("difference", "Difference", True, show=difference_of),
        Column("mean_variant", "Variant mean", True, show=lambda row: mean(row, "variant")),
        Column("mean_baseline", "Baseline mean", True, show=lambda row: mean(row, "baseline")),
        Column("p", "p", True, show=lambda row: p_value(row["p"])),
        Column("n", "Seeds", True, show=lambda row: count(row["n"])),
        Column("mde", "Detectable", True, show=detectable),
        Column("settings", "Settings", below=True),
        Column("reason", "Reason", below=True, show=lambda row: reason(row, names)),
    ]
    return tabulated(
        columns, rows_of(material.comparisons), say("cost.every"), "comparisons.csv", title="variant"
    )
