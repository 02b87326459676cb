"""What is held equal, and by which values of the path that is changed for it."""

from collections.abc import Mapping
from typing import Any

from ablate.base.wording import brief, percent
from ablate.core.spelling import as_sentence, spelled
from ablate.report.section import Block, Material, Section
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import Column, Table, say, tabulated


class Matched(
    Section,
    title="What was matched",
    needs_trials=False,
    inside="the value that gives every variant the same size, and how nearly",
):
    """One row a variant."""

    def applies(self, material: Material) -> bool:
        return "match" in material.facts.features

    def blocks(self, material: Material) -> list[Block]:
        return [matched_table(material.facts.features["match"], names_of(material.facts))]

    def findings(self, material: Material) -> list[str]:
        return [said(material.facts.features["match"])]


def said(found: Mapping[str, Any]) -> str:
    """What is equal, how nearly, and by which path."""
    return say("limits.matched", found, max(abs(row["residual"]) for row in found["rows"]))


def matched_table(found: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """Returns the values and residuals of the facts as a table, which `ablate plan` shows too; `names` for readers."""
    return tabulated(
        [
            variant_column(names),
            Column("task", "Task", varying=True),
            Column("value", as_sentence(spelled(found["by"])), True, show=lambda row: brief(row["value"])),
            Column("residual", "Residual", True, show=lambda row: percent(row["residual"], 2)),
        ],
        found["rows"],
        said(found).removesuffix("."),
        "trials.parquet",
    )
