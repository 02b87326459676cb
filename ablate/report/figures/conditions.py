"""The differences of variants over conditions: a row a variant, a dot a condition, and the mean, or what decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.analysis.paired import Floats
from ablate.report.figures.rows import draw_interval, draw_zero, panels_of_rows, write_right
from ablate.report.figures.scales import Limits, padded
from ablate.report.figures.theme import MARKS, NARROW, SMALL, colour, figure_width
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_VARIANTS = 12  # Rows of labels.
FEW_CONDITIONS = 6  # Conditions that have a line each, with their intervals.
MAX_LINES = 36  # Lines of one figure.
MAX_LABELS = 12  # Rows and lines that are all named.
BOLD = 2.2  # Points: the line of the interval of a row.
THIN = 0.7  # Points: that of one condition.
DOT = 2.6  # Points: the diameter of a condition.
RING = 6.5  # Points: the diameter of the ring about the condition that decides.
PITCH = 0.2  # Inches from one line of a row to the next, where all are named.
TIGHT_PITCH = 0.1  # The same of lines without a name.
LETTERS = 18  # Of the name of a condition.
LANES = 4  # Lines on which the dots of many conditions lie, so that they do not hide one another.
ROOM = 3.0  # How many times the middle half of all conditions the axis reaches beyond it.


def over_conditions(
    data: pd.DataFrame, conditions: pd.DataFrame, axis_label: str, margin: float | None = None
) -> Figure:
    """Draws each variant over the band of the margin: its interval in bold, and its conditions below it.

    `data` has a row a variant, in order from above: label, placebo, verdict, value, low, high, told (its words at the
    right) and deciding (the condition that has a ring; empty where none has). `conditions` has a row a variant and
    condition: label, condition, value, low, high. Few conditions have a line each, with their intervals; of many the
    dots lie side by side. All are in the direction of the metric; an interval that is not known is NaN.
    """
    num_conditions = conditions["condition"].nunique()
    is_few = has_lines(data, conditions)
    num_lines = 1 + (num_conditions if is_few else LANES)
    is_named = is_few and len(data) * num_lines <= MAX_LABELS
    pitch = PITCH if is_named else TIGHT_PITCH
    rows = data.assign(y=np.arange(len(data)) * (num_lines + 1.0))
    limits = condition_limits(data, conditions, margin)
    figure, (ax,) = panels_of_rows(rows, [], [limits], axis_label, pitch, below=float(num_lines))
    draw_zero(ax, margin)
    for row in rows.to_dict("records"):
        of_row = conditions[conditions["label"] == row["label"]]
        lines = 1.0 + np.arange(len(of_row)) if is_few else _lanes(of_row, limits, row["deciding"])
        placed = of_row.assign(y=row["y"] + lines)
        if is_few:
            _draw_intervals(ax, placed)
        _draw_dots(ax, placed, limits)
        _draw_deciding(ax, placed, row, is_named=is_named)
        draw_interval(ax, row, MARKS[row["verdict"]], hollow=row["placebo"], width=BOLD)
        if is_named:
            _name_lines(ax, placed)
    words = rows["told"] if figure_width() >= NARROW else rows["verdict"]
    colours = rows["verdict"].map({verdict: mark.colour for verdict, mark in MARKS.items()})
    write_right(ax, dict(zip(rows["y"], words, strict=True)), dict(zip(rows["y"], colours, strict=True)))
    return figure


def has_lines(data: pd.DataFrame, conditions: pd.DataFrame) -> bool:
    """Returns whether conditions are so few that each has a line, with its interval."""
    num_conditions = conditions["condition"].nunique()
    return num_conditions <= FEW_CONDITIONS and num_conditions * len(data) <= MAX_LINES


def condition_limits(data: pd.DataFrame, conditions: pd.DataFrame, margin: float | None) -> Limits:
    """Returns the limits that hold the interval of every row, and all conditions but those far from the others."""
    ends = ["value", "low", "high"] if has_lines(data, conditions) else ["value"]
    values = conditions[ends].to_numpy(float).ravel()
    values = values[np.isfinite(values)]
    low = min(0.0, -(margin or 0.0), data["low"].fillna(data["value"]).min())
    high = max(0.0, margin or 0.0, data["high"].fillna(data["value"]).max())
    if len(values):
        first, third = np.quantile(values, [0.25, 0.75])
        reach = ROOM * (third - first)
        near = values[(values >= first - reach) & (values <= third + reach)]
        low = min(low, near.min())
        high = max(high, near.max())
    return padded(float(low), float(high))


def are_beyond(conditions: pd.DataFrame, limits: Limits) -> pd.Series:
    """Returns which conditions lie outside of the limits."""
    return (conditions["value"] < limits[0]) | (conditions["value"] > limits[1])


def _lanes(conditions: pd.DataFrame, limits: Limits, deciding: str) -> Floats:
    """Returns the line of each condition below its row, counted from 1: the first on which no dot is too near.

    The condition that decides has the first line for itself, where its name has room.
    """
    width = 0.5 * figure_width() * 72  # Points of the panel, or so.
    least = 1.3 * DOT * (limits[1] - limits[0]) / width
    last = np.full(LANES, -np.inf)
    lines = np.ones(len(conditions))
    is_deciding = (conditions["condition"] == deciding).to_numpy()
    if is_deciding.any():
        last[0] = np.inf
    for place in np.argsort(conditions["value"].to_numpy(float), kind="stable"):
        if is_deciding[place]:
            continue
        value = float(conditions["value"].iloc[place])
        free = np.flatnonzero(value - last >= least)
        lane = int(free[0]) if len(free) else int(last.argmin())
        last[lane] = value
        lines[place] = 1.0 + lane
    return lines


def told_apart(names: Sequence[str]) -> list[str]:
    """Returns names of at most `LETTERS` letters; long ones that begin alike lose what they have in common there."""
    ends_cut = [in_lines(name, LETTERS, 1) for name in names]
    if len({*ends_cut}) == len({*names}):
        return ends_cut
    start = 0
    while len({name[: start + 1] for name in names}) == 1:
        start += 1
    cut = []
    for name in names:
        rest = f"…{name[start:]}" if start else name
        if len(rest) > LETTERS:
            rest = f"{rest[: LETTERS // 2]}…{rest[1 - LETTERS // 2 :]}"
        cut.append(rest)
    return cut


def _draw_intervals(ax: Axes, conditions: pd.DataFrame) -> None:
    """Draws the interval of each condition on its line."""
    known = conditions.dropna(subset=["low", "high"])
    ax.hlines(known["y"], known["low"], known["high"], color=colour("soft"), lw=THIN, zorder=2)


def _draw_dots(ax: Axes, conditions: pd.DataFrame, limits: Limits) -> None:
    """Draws a dot a condition, filled where its interval excludes 0; an arrow at the edge where it lies beyond."""
    shade = colour("soft")
    is_apart = (conditions["low"] > 0) | (conditions["high"] < 0)
    beyond = are_beyond(conditions, limits)
    for row, is_filled, is_beyond in zip(conditions.to_dict("records"), is_apart, beyond, strict=True):
        value = min(max(row["value"], limits[0]), limits[1])
        marker = "o" if not is_beyond else (">" if row["value"] > value else "<")
        ax.plot(
            value, row["y"], marker, ms=DOT + is_beyond, mew=0.6, mec=shade, clip_on=not is_beyond,
            mfc=shade if is_filled and not is_beyond else colour("paper"), zorder=3,
        )  # fmt: skip


def _draw_deciding(ax: Axes, conditions: pd.DataFrame, row: dict[str, object], *, is_named: bool) -> None:
    """Draws a ring about the condition that decides, with its name where lines have none."""
    for condition in conditions[conditions["condition"] == row["deciding"]].to_dict("records"):
        place = condition["value"], condition["y"]
        ax.plot(*place, "o", ms=RING, mfc="none", mec=colour("ink"), mew=0.8, zorder=4)
        if not is_named:
            name = in_lines(str(row["deciding"]), 14, 1)
            ax.annotate(
                name, place, (5, 0), textcoords="offset points", va="center", size=SMALL - 1,
                color=colour("ink"), zorder=5,
            )  # fmt: skip


def _name_lines(ax: Axes, conditions: pd.DataFrame) -> None:
    """Writes the name of each condition at the left of its line."""
    names = told_apart([*conditions["condition"]])
    for row, name in zip(conditions.to_dict("records"), names, strict=True):
        ax.annotate(
            name, (0, row["y"]), (-6, 0), xycoords=ax.get_yaxis_transform(),
            textcoords="offset points", ha="right", va="center", size=SMALL - 1, color=colour("soft"),
        )  # fmt: skip
