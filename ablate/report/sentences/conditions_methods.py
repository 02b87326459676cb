"""The sentences on methods of a study over conditions: which rule judged, and what is description."""

from collections.abc import Iterator
from typing import assert_never

from ablate.core.spelling import spelled
from ablate.report.section import ReportData
from ablate.report.tables.condition_rows import scales_of_row
from ablate.report.words import message, rows_of


def conditions_sentences(report_data: ReportData) -> Iterator[str]:
    """Yields how conditions are taken together, and what is said of a single one."""
    facts = report_data.facts
    scaled = any(scales_of_row(row) for row in rows_of(report_data.table("conditions")))
    count = len(facts.tasks)
    match facts.over.form:
        case "each":
            pass
        case "mean":
            code = "conditions.mean_of_shared"
            if facts.over.independent_seeds:
                code = "conditions.mean_of_independent"
            yield message(code, count, scaled)
        case "every":
            yield message("conditions.every", count)
        case "sample":
            yield message("conditions.sample", count)
        case _:
            assert_never(facts.over.form)
    if facts.over.joins_conditions:
        yield message("conditions.single_conditions")
    if facts.over.form in ("mean", "sample") and facts.family == "all":
        yield message("conditions.silent")
    if facts.over.along:
        yield message("conditions.trend_method", spelled(facts.over.along))
