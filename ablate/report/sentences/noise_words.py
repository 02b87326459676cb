"""The noise of a study in a line a task: how far runs of the baseline are apart, and what is detectable."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from ablate.analysis.noise import noise
from ablate.base.once_per import once_per_owner
from ablate.core.facts import StudyFacts
from ablate.core.metric import Metric
from ablate.report.section import ReportData
from ablate.report.tables.condition_rows import with_conditions
from ablate.report.tables.directions import direction_of, own_direction
from ablate.report.tables.verdicts import planned_rows, shown_as
from ablate.report.words import Row, difference, message, number, rows_of, significant, text

MATTERS = 0.25
"""The share of the variance over seeds from which on a larger test set is worth a word."""


@once_per_owner
def noise_lines(report_data: ReportData) -> list[str]:
    """Returns a line for each task: how far the baseline spreads over seeds, what is detectable, and its placebo."""
    if report_data.evidence.only_measured:
        return []
    facts = report_data.facts
    frame = noise(report_data.evidence, report_data.comparisons)
    frame.loc[frame["test_share"] < MATTERS, "test_share"] = None
    frame = frame.astype(object).where(frame.notna(), None)
    if facts.over.joins_conditions:
        planned = with_conditions(planned_rows(report_data.comparisons), report_data.table("conditions"))
        return list(_over_conditions(rows_of(frame), planned, facts))
    lines = []
    for row in rows_of(frame):
        sentences = [_spread(row, facts)]
        if row["diverged"]:
            has_floor = _metric_of(row, facts).floor is not None
            num_runs = row["n"] if has_floor else row["n"] + row["diverged"]
            sentences.append(message("noise.diverged", row["diverged"], num_runs))
        sentences += _detectable(row, has_runner_ups=bool(facts.variants[0].rivals))
        placebo = _placebo(row, facts)
        if placebo:
            sentences.append(message("noise.placebo", placebo))
        lines.append(message("noise.line", row["task"] if len(frame) > 1 else "", sentences))
    return lines


def _over_conditions(rows: Sequence[Row], planned: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields one line: how far the baseline spreads in its conditions, and the smallest detectable mean difference."""
    spreads = [row["sd"] for row in rows if row["sd"] is not None]
    if not spreads:
        return
    low = significant(min(spreads))
    high = significant(max(spreads))
    if low == high:
        high = ""
    sentences = [message("conditions.spread", facts.replication.run_name, facts.metric, low, high)]
    diverged = sum(row["diverged"] for row in rows)
    if diverged:
        sentences.append(message("noise.diverged", diverged, sum(row["n"] for row in rows)))
    sizes = [size for size in (number(row.get("mde")) for row in planned) if size is not None]
    if sizes and facts.over.form != "every" and math.isfinite(median(sizes)):
        size = significant(median(sizes))
        if any(text(row.get("scales")) for row in planned):
            size = message("conditions.scaled", size)
        sentences.append(message("conditions.detectable_mean", size))
    yield " ".join(sentences)


def _metric_of(row: Row, facts: StudyFacts) -> Metric:
    """Returns the metric of a row of noise."""
    return next(task.metrics[row["metric"]] for task in facts.tasks if task.name == row["task"])


def _spread(row: Row, facts: StudyFacts) -> str:
    """Returns the standard deviation of the baseline's runs, where two or more have one."""
    n = row["n"]
    share = row["test_share"]
    if row["sd"] is None:
        return message("noise.unknown", n)
    if share is None:
        return message("noise.spread", n, facts.replication.run_name, row["metric"], row["sd"])
    percent = round(100 * share)
    return message(
        "noise.spread_with_test_set", n, facts.replication.run_name, row["metric"], row["sd"], percent
    )


def _detectable(row: Row, *, has_runner_ups: bool) -> Iterator[str]:
    """Yields the smallest difference that is detectable: of the median variant, and from which to which.

    has_runner_ups: whether verdicts had to hold at other settings too, which only makes the difference larger.
    """
    sizes = [row[name] for name in ("mde", "mde_low", "mde_high") if row[name] is not None]
    if not sizes:
        return
    size, low, high = [shown_as(size, row["by_rate"], row["n"]) for size in sizes]
    if size:
        shown = message("noise.at_least", size) if has_runner_ups else size
        has_range = bool(high) and low != high
        yield message("noise.detectable", message("noise.median", shown, low, high) if has_range else shown)
    elif low:
        yield message("noise.rarely_detectable", low)
    else:
        yield message("noise.not_detectable")


def _placebo(row: Row, facts: StudyFacts) -> str:
    """Returns the difference of the placebo with its interval, in the direction of the metric; else nothing."""
    if row["placebo_diff"] is None:
        return ""
    oriented = {"diff": row["placebo_diff"], "ci_low": row["placebo_low"], "ci_high": row["placebo_high"]}
    turned = own_direction(oriented, direction_of(facts, row["task"], row["metric"]))
    return difference(turned["diff"], turned["ci_low"], turned["ci_high"])
