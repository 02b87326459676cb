"""The claims of a study as a table; imports neither pandas nor matplotlib."""

from collections.abc import Sequence
from typing import Any

from ablate.core.facts import StudyFacts
from ablate.core.reason import Reason
from ablate.core.short_names import short_claim, short_names
from ablate.report.sentences.improving_words import improving_column, improving_in_caption
from ablate.report.sentences.lost_runs import left_out_of_claims_column
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.resolution_words import resolution_column
from ablate.report.sentences.treatment_words import treatment_column
from ablate.report.sentences.unequal_runs import unequal_column
from ablate.report.tables.directions import less_in_caption
from ablate.report.tables.verdicts import are_marked_alike, difference_column, marks_in_caption, reason_column
from ablate.report.words import Column, Row, Table, count, is_true, message, rows_of, tabulated, text

NOT_TESTED = "not tested"
"""The word for a claim that stands after one which is not decided, of claims that are judged in order."""


def claim_verdict(row: Row) -> str:
    """Returns the verdict of a claim, or that it was not tested."""
    reason = Reason.parse(text(row.get("reason")))
    is_tested = reason is None or reason.code != "not_tested"
    return text(row["verdict"]) if is_tested else NOT_TESTED


def claim_table(claims: Any, facts: StudyFacts, level: str) -> Table:
    """Returns the claims of a study, judged; `level` is that of their intervals."""
    rows = rows_of(claims)
    columns = [
        Column("claim", "Claim", words=True, show=lambda row: text(short_claim(row["claim"], facts))),
        Column("verdict", "Verdict", show=claim_verdict),
        difference_column(facts, f"Difference [{level}]"),
        Column("n", "n", True, show=lambda row: count(row.get("n")), spare=True),
        treatment_column(),
        unequal_column(facts, short_names(facts)),
        improving_column(rows, facts, short_names(facts)),
        reason_column(facts, marked=not are_marked_alike(rows)),
        resolution_column(),
        left_out_of_claims_column(facts),
    ]
    caption = _claims_caption(rows, facts)
    caption += less_in_caption(rows, facts)
    caption += improving_in_caption(rows, facts)
    caption += marks_in_caption(rows)
    return tabulated(columns, rows, caption, "claims.csv")


def _claims_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns when the claims of a study were declared."""
    late = sum(is_true(row.get("exploratory")) for row in rows)
    if late:
        if late == len(rows):
            return message("verdicts.claims_all_late")
        return message("verdicts.claims_some_late", late, len(rows))
    return message(replication_words(facts.replication).claims)
