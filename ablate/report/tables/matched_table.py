"""The values by which every variant has as much of one quantity, as a table of `ablate plan` and of the report."""

from collections.abc import Mapping

from ablate.base.wording import brief, in_percent, percent
from ablate.core.match_facts import MatchFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.report.tables.verdicts import variant_column
from ablate.report.words import CONDITION_COLUMN, Column, Table, message, tabulated


def matched_sentence(match: MatchFacts) -> str:
    """Says what is equal, how nearly, and by which path."""
    target = "" if match.target == "baseline" else f"{float(match.target):,.0f}"
    residual = max(abs(row.residual) for row in match.rows)
    within = in_percent(residual) if residual else ""
    return message("limits.matched", match.quantity, target, within, match.by)


def matched_table(match: MatchFacts, names: Mapping[str, str]) -> Table:
    """Returns the values and residuals of the facts as a table; `names` for readers."""
    return tabulated(
        [
            variant_column(names),
            CONDITION_COLUMN,
            Column("value", as_sentence(spelled(match.by)), True, show=lambda row: brief(row["value"])),
            Column("residual", "Residual", True, show=lambda row: percent(row["residual"], 2)),
        ],
        [vars(row) for row in match.rows],
        matched_sentence(match).removesuffix("."),
        "trials.parquet",
    )
