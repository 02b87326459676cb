"""The verdicts of a tuned study beside those of its variants as the study gives them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis.tuning import changes
from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.short_names import short_names
from ablate.report import searches
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import Column, Row, Table, difference, is_true, number, rows_of, text

GUIDE = (
    "The verdicts of this study are those of the tuned variants; the untuned ones are exploratory, judged with a "
    "family of their own. “Moved by” is the tuned difference less the untuned one, seed by seed: only where its "
    "interval leaves 0 out has the difference been shown to change, whatever the two verdicts are."
)
MAX_CHANGES = 8
"As many variants a sentence names; the table has all."


class TuningChanged(searches.OfTuning, Section):
    """One row per comparison: untuned, which is exploratory, beside tuned."""

    place = 410
    title = "What tuning changed"
    inside = "the verdicts with and without tuning"

    def blocks(self, material: Material) -> Iterator[Block]:
        changed = _changes(material)
        if len(changed):
            against = f"Each variant against the {BASELINE} on {material.facts.metric}"
            yield change_table(changed, f"{against}, as the study gives it and once tuned")
            yield Text(GUIDE, aside=True)

    def findings(self, material: Material) -> list[str]:
        changed = _changes(material)
        if changed.empty:
            return []
        rows = changed[changed["changed"].astype(bool)]
        verdicts = "verdict" if len(changed) == 1 else "verdicts"
        if rows.empty:
            of = "the" if len(changed) == 1 else f"any of {len(changed)}"
            return [f"Tuning did not change {of} {verdicts}."]
        words = [_in_words(*pair) for pair in zip(searches.places(rows, changed), rows_of(rows), strict=True)]
        if len(words) > MAX_CHANGES:
            words[MAX_CHANGES:] = [f"and {len(words) - MAX_CHANGES} more"]
        of = wording.share(len(rows), len(changed))
        return [f"Tuning changed {of} {verdicts}, with 95 % intervals: {'; '.join(words)}."]


def _changes(material: Material) -> pd.DataFrame:
    """See `analysis.tuning.changes`; variants by their names for readers."""
    found = changes(material.evidence, material.comparisons, material.untuned, material.untuned_comparisons)
    return found.assign(variant=found["variant"].map(short_names(material.facts)))


def _in_words(name: str, row: Row) -> str:
    """`norm=batch was worse (−.031 [−.040, −.022]) and is inconclusive once tuned (…)`."""
    before, after = (
        "" if number(row[low]) is None else f" ({difference(row[diff], row[low], row[high])})"
        for diff, low, high in (
            ("untuned_diff", "untuned_low", "untuned_high"),
            ("diff", "ci_low", "ci_high"),
        )
    )
    return f"{name} was {row['untuned_verdict']}{before} and is {row['verdict']} once tuned{after}"


def change_table(changed: pd.DataFrame, caption: str = "") -> Table:
    """`changed` is `analysis.tuning.changes`."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if changed["task"].nunique() > 1 else []),
        Column("untuned", "Untuned (exploratory)"),
        Column("untuned_difference", "Difference [95 %]", True),
        Column("verdict", "Tuned"),
        Column("difference", "Difference [95 %]", True),
        Column("shift", "Moved by [95 %]", True),
        Column("note", "Note", below=True),
    ]
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "untuned": text(row["untuned_verdict"]),
            "untuned_difference": difference(row["untuned_diff"], row["untuned_low"], row["untuned_high"]),
            "verdict": text(row["verdict"]),
            "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "shift": difference(row["shift"], row["shift_low"], row["shift_high"]),
            "note": _note(row),
        }
        for row in rows_of(changed)
    ]
    return Table(columns, cells, caption, "untuned/comparisons.csv")


def _note(row: Row) -> str:
    """Of a verdict that changed, whether its difference has; and whether both rest on as many seeds."""
    words = []
    low, high = number(row["shift_low"]), number(row["shift_high"])
    if is_true(row["changed"]):
        words.append("the verdict changed")
        if low is not None and high is not None:
            still = low <= 0 <= high
            words[0] += (
                ", but no change of the difference is shown" if still else ", and so did its difference"
            )
    if row["untuned_n"] != row["n"]:
        words.append(f"untuned on {wording.counted(row['untuned_n'], 'pair')}, tuned on {row['n']}")
    return "; ".join(words)
