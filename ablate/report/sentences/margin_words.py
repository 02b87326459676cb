"""Words about margins that are wide for their metric, so that `equivalent` within them says little."""

from collections.abc import Iterator

from ablate.analysis.runs import runs_of
from ablate.analysis.wide_margin import WideMargin, wide_margin
from ablate.core.facts import TaskFacts, is_likeness
from ablate.report.section import ReportData
from ablate.report.words import message, rows_of


def margin_words(report_data: ReportData, task: TaskFacts) -> str:
    """Returns why the margin of a study is wide for its metric on a task; "" where it is not."""
    facts = report_data.facts
    wide = wide_margin(runs_of(report_data.evidence), task, facts.metric, facts.margin)
    return "" if wide is None else _in_words(wide)


def claimed_margin_lines(report_data: ReportData) -> Iterator[str]:
    """Yields a line on each margin of a supported claim that is wide for its metric, and not that of the study."""
    facts = report_data.facts
    supported = {row["claim"] for row in rows_of(report_data.claims) if row["verdict"] == "supported"}
    runs = runs_of(report_data.evidence)
    lines: list[str] = []
    for claim in facts.claims:
        if not is_likeness(claim.kind) or claim.text not in supported or claim.by == facts.margin:
            continue
        for task in facts.tasks:
            wide = wide_margin(runs, task, claim.metric, claim.by)
            if wide is not None:
                lines.append(_in_words(wide))
    yield from dict.fromkeys(lines)


def _in_words(wide: WideMargin) -> str:
    """Returns why a margin is wide, and what it is if points were meant."""
    reasons = []
    if wide.share is not None:
        reasons.append(message("answer.of_range", wide.share))
    if wide.spreads is not None:
        reasons.append(message("answer.of_spreads", wide.spreads))
    if wide.largest is not None:
        reasons.append(message("answer.of_largest", wide.largest))
    points = "" if wide.in_points is None else message("answer.points_meant", wide.margin, wide.in_points)
    return message("answer.wide_margin", wide.margin, reasons, points)
