"""The values by which every variant has as much of one quantity, as a table of `ablate plan` and of the report."""

from collections.abc import Mapping
from typing import Any

from ablate.base.wording import brief, in_percent, percent
from ablate.core.spelling import as_sentence, spelled
from ablate.report.verdicts import variant_column
from ablate.report.words import Column, Table, message, tabulated


def matched_sentence(found: Mapping[str, Any]) -> str:
    """Says what is equal, how nearly, and by which path."""
    target = "" if found["target"] == "baseline" else f"{float(found['target']):,.0f}"
    residual = max(abs(row["residual"]) for row in found["rows"])
    within = in_percent(residual) if residual else ""
    return message("limits.matched", found["quantity"], target, within, found["by"])


def matched_table(found: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """Returns the values and residuals of the facts as a table; `names` for readers."""
    return tabulated(
        [
            variant_column(names),
            Column("task", "Task", varying=True),
            Column("value", as_sentence(spelled(found["by"])), True, show=lambda row: brief(row["value"])),
            Column("residual", "Residual", True, show=lambda row: percent(row["residual"], 2)),
        ],
        found["rows"],
        matched_sentence(found).removesuffix("."),
        "trials.parquet",
    )
