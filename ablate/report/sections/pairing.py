"""The worth of pairing: how many seeds it saved."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

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

    def applies(self, material: Material) -> bool:
        return len(_pairs(material)) > 0

    def blocks(self, material: Material) -> list[Block]:

        pairs = _pairs(material)
        caption = f"Runs of one seed, variant against {BASELINE} on {material.facts.metric}"
        return [
            Text(summary(pairs)),
            pairing_table(rows_of(pairs), caption),
            Terms(list(COLUMNS.items())),
        ]


def _pairs(material: Material) -> pd.DataFrame:

    return pairing(material.evidence)


def pairing_table(rows: Sequence[Row], caption: str = "") -> Table:
    """The rows of `analysis.pairing` as strings."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("correlation", "Correlation [95 %]", True),
        Column("n", "Pairs", True),
        Column("unpaired_seeds", "Seeds, unpaired", True),
        Column("words", "In words", below=True),
    ]
    cells = []
    for row in rows:
        r = fixed(row["correlation"], 2)
        low, high = row["correlation_low"], row["correlation_high"]
        cells.append(
            {
                "variant": text(row["variant"]),
                "task": text(row["task"]),
                "correlation": r if number(low) is None else f"{r} {interval(low, high, 2)}",
                "n": count(row["n"]),
                "unpaired_seeds": significant(row["unpaired_seeds"]),
                "words": text(row["words"]),
            }
        )
    return Table(columns, cells, caption)
