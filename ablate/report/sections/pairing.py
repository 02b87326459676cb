"""The worth of pairing: how many seeds it saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ablate.analysis.pairing import pairing, summary
from ablate.core.facts import BASELINE
from ablate.report.section import Block, Material, Section, Terms, Text
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    fixed,
    interval,
    number,
    rows_of,
    significant,
    text,
)

COLUMNS = {
    "Correlation": "that of the pairs over seeds, with Fisher’s interval",
    "Seeds, unpaired": (
        "how many each side would need to estimate the difference as precisely without sharing seeds: "
        "n·(s_a² + s_b²)/s_d², from the sample variances of the two sides and of their differences"
    ),
}


class Pairing(Section):
    """One row a comparison on the primary metric, placebos included."""

    place = 1000
    title = "What pairing saved"
    inside = "how many seeds it would take without sharing them"

    def blocks(self, material: Material) -> Iterator[Block]:
        pairs = pairing(material.evidence)
        if len(pairs):
            caption = f"Runs of one seed, variant against {BASELINE} on {material.facts.metric}"
            table = pairing_table(rows_of(pairs), caption)
            yield from (Text(summary(pairs)), table, Terms(list(COLUMNS.items())))


def pairing_table(rows: Sequence[Row], caption: str) -> Table:
    """The rows of `analysis.pairing` as strings."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("correlation", "Correlation [95 %]", True),
        Column("n", "Pairs", True),
        Column("unpaired_seeds", "Seeds, unpaired", True),
        Column("words", "In words", below=True),
    ]
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "correlation": _correlation(row),
            "n": count(row["n"]),
            "unpaired_seeds": significant(row["unpaired_seeds"]),
            "words": text(row["words"]),
        }
        for row in rows
    ]
    return Table(columns, cells, caption, "trials.parquet")


def _correlation(row: Row) -> str:
    shown, low = fixed(row["correlation"], 2), row["correlation_low"]
    return shown if number(low) is None else f"{shown} {interval(low, row['correlation_high'], 2)}"
