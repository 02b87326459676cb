"""What is seen over conditions: the differences of all of them in one figure, and how they grow along a number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from ablate.analysis.condition_descriptions import conditions_of
from ablate.analysis.conditions import Condition, Refusal, have_as_many_examples, scales_of
from ablate.analysis.family import planned_pairs
from ablate.analysis.over_conditions import shared_scale
from ablate.analysis.paired import NAN
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import runs_of
from ablate.analysis.sums_of_conditions import fitted_at
from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.over import common_scales
from ablate.core.spelling import spelled
from ablate.report.figures.conditions import (
    MAX_VARIANTS,
    are_beyond,
    condition_limits,
    has_lines,
    over_conditions,
)
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.figures.trend import MAX_PANELS, trend
from ablate.report.section import Block, Picture, ReportData, Section
from ablate.report.sentences.levels import level_of
from ablate.report.tables.condition_rows import rows_in_conditions, scales_of_row, with_conditions
from ablate.report.tables.directions import (
    better_side,
    difference_label,
    direction_of,
    own_direction,
    primary_metric,
)
from ablate.report.tables.over_conditions import with_varies
from ablate.report.tables.trends import trend_difference, trend_table
from ablate.report.tables.verdicts import compared_with, names_of, planned_rows, row_name
from ablate.report.words import Row, decimals, message, number, paragraph, rows_of, text

ENDS = {"value": "diff", "low": "ci_low", "high": "ci_high"}
"""The columns of a figure → those of the tables that they show."""
GRID = 17
"""The places along a number at which the band of a trend is computed."""


def over_pictures(report_data: ReportData) -> Iterator[Picture]:
    """Yields the figure of all variants over all conditions."""
    facts = report_data.facts
    rows = with_conditions(planned_rows(report_data.comparisons), report_data.table("conditions"))
    scales = drawn_scales(rows, facts)
    single = condition_points(report_data, scales)
    data = over_points(rows, facts, scales)
    if data.empty or single["value"].isna().all():
        return
    shown = _most_important(data)
    single = single[single["label"].isin(shown["label"])]
    metric = primary_metric(facts)
    verdicts = data.loc[~data["placebo"], "verdict"].value_counts()
    counts = [f"{count} {verdict}" for verdict, count in verdicts.items()]
    # In the metric's own unit it is as wide in each condition as the scale of that is.
    margin = None if scales and facts.over.form == "every" and not facts.over.scales else facts.margin
    label = difference_label(facts.metric, metric)
    if scales:
        label = message("conditions.axis", label)
    yield Picture(
        "conditions",
        "Differences",
        _caption(rows, facts, data, shown=shown, conditions=single, margin=margin),
        message("conditions.figure_alt", facts.metric, len(shown), single["condition"].nunique(), counts),
        shown,
        over_conditions,
        (single, label, margin),
    )


def drawn_scales(rows: Sequence[Row], facts: StudyFacts) -> dict[str, float]:
    """Returns condition → the scale that its difference is divided by in a figure; nothing where all have one unit.

    The numbers of `every` are in the units of each condition, which one axis cannot show.
    """
    if facts.over.form != "every":
        return scales_of_row(rows[0]) if rows else {}
    spans = {
        task.name: task.metrics[facts.metric].span for task in facts.tasks if facts.metric in task.metrics
    }
    declared = [facts.over.scales.get(name) or span for name, span in spans.items()]
    scales = common_scales(declared, one_metric=True) or []
    return dict(zip(spans, scales, strict=True)) if len({*scales}) > 1 else {}


def over_points(rows: Sequence[Row], facts: StudyFacts, scales: Mapping[str, float]) -> pd.DataFrame:
    """Returns a row a comparison over conditions: what `figures.conditions.over_conditions` draws in bold."""
    names = names_of(facts)
    placebos = facts.placebos
    points = []
    for oriented in rows:
        row = own_direction(oriented, direction_of(facts, oriented["task"], facts.metric))
        verdict = text(row["verdict"]) or EXPLORATORY
        point = {"label": row_name(row, names), "placebo": row["variant"] in placebos, "verdict": verdict}
        deciding = text(row.get("deciding")) if facts.over.form == "every" else ""
        # The numbers of one condition are in its own unit.
        scale = scales.get(deciding, 1.0)
        point |= {name: _value(row, column) / scale for name, column in ENDS.items()}
        points.append({**point, "told": _verdict_label(row, facts), "deciding": deciding})
    columns = ["label", "placebo", "verdict", *ENDS, "told", "deciding"]
    return pd.DataFrame(points, columns=columns).sort_values("placebo", kind="stable", ignore_index=True)


def condition_points(report_data: ReportData, scales: Mapping[str, float]) -> pd.DataFrame:
    """Returns a row a comparison and condition, in units of its scale: label, condition, value, low and high."""
    facts = report_data.facts
    names = names_of(facts)
    points = []
    for oriented in rows_in_conditions(report_data.comparisons, facts):
        condition = text(oriented["task"])
        row = own_direction(oriented, direction_of(facts, condition, facts.metric))
        scale = scales.get(condition, 1.0)
        values = {name: _value(row, column) / scale for name, column in ENDS.items()}
        points.append({"label": row_name(row, names), "condition": condition, **values})
    return pd.DataFrame(points, columns=["label", "condition", *ENDS]).dropna(subset="value")


def _value(row: Row, column: str) -> float:
    """Returns a number of a row; NaN where it has none."""
    value = number(row.get(column))
    return NAN if value is None else value


def _verdict_label(row: Row, facts: StudyFacts) -> str:
    """Returns the verdict of a row with its difference: `better (varies) +0.050`."""
    words = with_varies(text(row["verdict"]), row)
    if facts.over.form == "every" or number(row.get("diff")) is None:
        return words
    places = decimals(row["ci_low"], row["ci_high"])
    return f"{words} {wording.plus(float(row['diff']), places)}".strip()


def _most_important(data: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows that fit into the figure, in order: placebos, and the largest differences of the others."""
    sizes = data["value"].abs().fillna(0.0)
    sizes += data["placebo"] * (1 + sizes.max())
    return data.loc[sorted(sizes.nlargest(MAX_VARIANTS).index)].reset_index(drop=True)


def _caption(
    rows: Sequence[Row],
    facts: StudyFacts,
    data: pd.DataFrame,
    *,
    shown: pd.DataFrame,
    conditions: pd.DataFrame,
    margin: float | None,
) -> str:
    """Returns the caption: what the marks of the figure mean, and what it leaves out."""
    code = "conditions.figure_every" if facts.over.form == "every" else "conditions.figure_mean"
    sentences = [
        message(
            code,
            facts.metric,
            compared_with(facts),
            level_of(rows),
            better_side(primary_metric(facts).direction),
        )
    ]
    if has_lines(shown, conditions):
        sentences.append(message("conditions.figure_intervals"))
    if drawn_scales(rows, facts):
        sentences.append(message("conditions.figure_scaled"))
    if margin:
        sentences.append(message("figures.margin", margin))
    if are_beyond(conditions, condition_limits(shown, conditions, margin)).any():
        sentences.append(message("conditions.figure_beyond"))
    if len(shown) < len(data):
        sentences.append(message("figures.largest", len(shown), len(data)))
    return paragraph(*sentences)


class Trend(Section, title="Trend", open=True):
    """How differences grow along a number of the conditions: a table, and a figure with a panel a variant."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        rows = rows_of(report_data.table("trends"))
        if not rows:
            return
        known = [row for row in rows if number(row["diff"]) is not None]
        points, lines = trend_points(report_data, known)
        if len(points):
            names = names_of(facts)
            slopes = [
                message("conditions.slope", row_name(row, names), trend_difference(row, facts))
                for row in known[:MAX_PANELS]
            ]
            along = spelled(facts.over.along)
            label = f"difference in {spelled(facts.metric)}"
            yield Picture(
                "trend",
                self.title,
                message("conditions.figure_trend", facts.metric, along, slopes),
                message("conditions.trend_alt", facts.metric, along, points["label"].nunique()),
                points,
                trend,
                (lines, label, message("conditions.trend_axis", along), facts.margin),
            )
        yield trend_table(rows, facts)


def trend_points(report_data: ReportData, rows: Sequence[Row]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Returns the differences in each condition, and their line with its band, along the number that orders them.

    rows: those of trends that have a slope. Columns: label, size, value, low and high, in the direction of the metric.
    """
    facts = report_data.facts
    names = names_of(facts)
    runs = runs_of(report_data.evidence)
    sides = {(pair.name, pair.against): (pair.a, pair.b) for pair in planned_pairs(facts)}
    points: list[Row] = []
    line: list[Row] = []
    for row in rows[:MAX_PANELS]:
        label = row_name(row, names)
        conditions = conditions_of(runs, sides[row["variant"], row["baseline"]])
        points += [{"label": label, **point} for point in _points(conditions, facts)]
        line += [{"label": label, **point} for point in _line(conditions, facts)]
    columns = ["label", "size", *ENDS]
    return pd.DataFrame(points, columns=columns), pd.DataFrame(line, columns=columns)


def _points(conditions: Sequence[Condition], facts: StudyFacts) -> Iterator[Row]:
    """Yields the difference in each condition with its 95 % interval, in the unit of the trend."""
    scales = scales_of(conditions) or []
    unit = shared_scale(conditions)
    for condition, scale in zip(conditions, scales, strict=True):
        differences = condition.differences
        ends = [end * unit / scale for end in (differences.mean, *differences.interval(ALPHA))]
        yield _point(facts.over.sizes[condition.name], ends, facts)


def _line(conditions: Sequence[Condition], facts: StudyFacts) -> Iterator[Row]:
    """Yields the least-squares line over conditions with its 95 % band, in the unit of the trend."""
    sizes = [facts.over.sizes[condition.name] for condition in conditions]
    unit = shared_scale(conditions)
    same_examples = have_as_many_examples(conditions)
    for size in np.geomspace(min(sizes), max(sizes), GRID):
        estimate = fitted_at(conditions, sizes, float(size), same_examples=same_examples)
        if not isinstance(estimate, Refusal):
            ends = [end * unit for end in (estimate.mean, *estimate.interval(ALPHA))]
            yield _point(float(size), ends, facts)


def _point(size: float, oriented: Sequence[float], facts: StudyFacts) -> Row:
    """Returns a difference with its interval at a size, in the direction of the metric."""
    diff, low, high = oriented
    row = {"diff": diff, "ci_low": low, "ci_high": high}
    turned = own_direction(row, direction_of(facts, "", facts.metric))
    return {"size": size, **{name: _value(turned, column) for name, column in ENDS.items()}}
