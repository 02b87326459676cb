"""What the report of a study says beside its verdicts, and its trials alone do not show."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.report.section import ReportData
from ablate.report.sentences.repeats import repeat_lines
from ablate.report.sentences.treatment_words import treatment_mark
from ablate.report.tables.verdicts import names_of, plan_mark, planned_rows, row_name
from ablate.report.words import message


def warnings_of_report(data: ReportData) -> Iterator[str]:
    """Yields each warning of the report of a study, and the marks of its rows.

    Nothing of equal runs, which an analysis finds in the trials itself.
    """
    from ablate.report.sections import HEADLINE

    found_again = {*repeat_lines(data)}
    for warning in HEADLINE.warnings(data):
        if warning not in found_again:
            yield message("analyse.study_says", warning.removesuffix("."))

    several_tasks = len(data.facts.tasks) > 1
    for row in planned_rows(data.comparisons):
        marks = [mark for mark in (treatment_mark(row), plan_mark(row)) if mark]
        if marks:
            task = str(row["task"]) if several_tasks else ""
            name = row_name(row, names_of(data.facts))
            yield message("analyse.study_marks", name, task, marks)
