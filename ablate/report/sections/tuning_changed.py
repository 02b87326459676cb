"""The verdicts of a tuned study beside those of its variants as the study gives them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis.tuning import changes
from ablate.base.errors import listed
from ablate.core.facts import BASELINE
from ablate.core.short_names import short_names
from ablate.report import searches
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import Column, Table, difference, rows_of, text

GUIDE = (
    "Only the tuned variants are judged. “Moved by” is the tuned difference less the untuned one, seed by seed, with "
    "its 95 % interval."
)


MAX_CHANGES = 8
"As many variants a sentence names; the table has all."


class TuningChanged(searches.OfTuning, Section):
    """One row per comparison: untuned, which is exploratory, beside tuned."""

    place = 410
    title = "What tuning changed"
    inside = "the differences with and without tuning"

    def blocks(self, material: Material) -> Iterator[Block]:
        changed = _changes(material)
        if len(changed):
            against = f"Each variant against the {BASELINE} on {material.facts.metric}"
            yield change_table(changed, f"{against}, as the study gives it and once tuned")
            yield Text(GUIDE, aside=True)

    def findings(self, material: Material) -> list[str]:
        moved = [row for row in rows_of(_changes(material)) if row["shift_low"] > 0 or row["shift_high"] < 0]
        words = [
            f"{row['variant']} by {difference(row['shift'], row['shift_low'], row['shift_high'])}"
            for row in moved
        ]
        return [f"Tuning moved differences from the baseline: {listed(words, MAX_CHANGES)}."] if words else []


def _changes(material: Material) -> pd.DataFrame:
    """See `analysis.tuning.changes`; variants by their names for readers."""
    found = changes(material.evidence, material.comparisons, material.untuned, material.untuned_comparisons)
    return found.assign(variant=found["variant"].map(short_names(material.facts)))


def change_table(changed: pd.DataFrame, caption: str = "") -> Table:
    """`changed` is `analysis.tuning.changes`."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if changed["task"].nunique() > 1 else []),
        Column("untuned_difference", "Untuned [95 %]", True),
        Column("difference", "Tuned", True),
        Column("verdict", "Verdict"),
        Column("shift", "Moved by [95 %]", True),
    ]
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "untuned_difference": difference(row["untuned_diff"], row["untuned_low"], row["untuned_high"]),
            "verdict": text(row["verdict"]),
            "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "shift": difference(row["shift"], row["shift_low"], row["shift_high"]),
        }
        for row in rows_of(changed)
    ]
    return Table(columns, cells, caption, "untuned/comparisons.csv")
