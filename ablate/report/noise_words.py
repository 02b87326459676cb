"""The noise of a study in a line a task: how far runs of the baseline are apart, and what is detectable."""

from collections.abc import Iterator

from ablate.analysis.noise import noise
from ablate.core.facts import StudyFacts
from ablate.report.section import ReportData
from ablate.report.verdicts import direction_of, own_direction, shown_as
from ablate.report.words import Row, difference, message, rows_of

MATTERS = 0.25
"""The share of the variance over seeds from which on a larger test set is worth a word."""


def noise_lines(report_data: ReportData) -> Iterator[str]:
    """Yields a line for each task: how far the baseline spreads over seeds, what is detectable, and its placebo."""
    if report_data.evidence.only_measured:
        return
    facts = report_data.facts
    has_runner_ups = bool(facts.variants[0].rivals)
    frame = noise(report_data.evidence, report_data.comparisons)
    frame.loc[frame["test_share"] < MATTERS, "test_share"] = None
    frame = frame.astype(object).where(frame.notna(), None)
    for row in rows_of(frame):
        sizes = [row[name] for name in ("mde", "mde_low", "mde_high") if row[name] is not None]
        detectable = [shown_as(size, row["by_rate"], row["n"]) for size in sizes]
        row["unit"] = facts.unit
        several = len(frame) > 1
        yield message("noise.line", row, several, detectable, has_runner_ups, _placebo(row, facts))


def _placebo(row: Row, facts: StudyFacts) -> str:
    """Returns the difference of the placebo with its interval, in the direction of the metric; else nothing."""
    if row["placebo_diff"] is None:
        return ""
    oriented = {"diff": row["placebo_diff"], "ci_low": row["placebo_low"], "ci_high": row["placebo_high"]}
    turned = own_direction(oriented, direction_of(facts, row["task"], row["metric"]))
    return difference(turned["diff"], turned["ci_low"], turned["ci_high"])
