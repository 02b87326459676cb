"""Draws the figures of a report; each function returns a matplotlib figure and touches no global state.

Call them inside `style.context()`. `width` is in inches: below `STACKED`, labels stand above their rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report import layout, style
from ablate.report.figure_data import Entry
from ablate.report.layout import Handle, Limits
from ablate.report.style import NARROW, WIDE, colour
from ablate.report.tables import difference

STACKED = (NARROW + WIDE) / 2
"Inches of width below which a figure is stacked."
LABEL_WIDTH = 1.75
NUMBER_WIDTH = 1.5
SMALL: dict[str, Any] = {"color": colour("soft"), "size": style.TEXT_SIZE - 1.5}


def forest(data: pd.DataFrame, metric: str, margin: float | None, width: float = WIDE) -> Figure:
    """Paired differences with 95 % and Bonferroni intervals, over the margin and the placebo's interval.

    `data` is `figure_data.forest`. Where a few differences dwarf the rest, a second axis looks closer.
    """
    stacked = width < STACKED
    entries = _entries(data)
    lines, height = layout.rows(
        entries,
        width - NUMBER_WIDTH if stacked else LABEL_WIDTH,
        row_height=0.17 if stacked else 0.23,
        above=stacked,
    )
    keys = _forest_keys(data, margin, across=3 if stacked else 6)
    key = layout.key_height(keys)
    bottom = 0.52
    fig = layout.figure(width, bottom + height + key)
    margins = (-margin, margin) if margin else (0.0, 0.0)
    # One seed has a difference but no interval.
    lows, highs = data["ci_low"].fillna(data["diff"]), data["ci_high"].fillna(data["diff"])
    views = [_widened(v, data) for v in layout.views(list(zip(lows, highs, strict=True)), margins)]
    left, room = (
        (0.12, width - 0.24) if stacked else (LABEL_WIDTH + 0.1, width - LABEL_WIDTH - NUMBER_WIDTH - 0.2)
    )

    label = f"difference in {metric}, right is better"
    for ax, limits in layout.view_axes(fig, views, left, bottom, room, height, label):
        _band(ax, data, margin, layout.strips(lines, height, 0.17, stacked))
        for line in lines:
            if line.index is not None:
                _difference(ax, data.iloc[line.index], height - line.centre, limits)
    layout.write_labels(fig, lines, bottom + height, above=stacked)
    for line in lines:
        if line.index is not None:
            row = data.iloc[line.index]
            at = line.top + style.LINE_HEIGHT / 2 if stacked else line.centre
            layout.write(
                fig,
                width - 0.05,
                bottom + height - at,
                difference(row["diff"], row["ci_low"], row["ci_high"]),
                ha="right",
                size=style.TEXT_SIZE - 0.8,
            )
    layout.write_keys(fig, keys)
    return fig


def _by_variant(data: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each variant that has any."""
    return {str(name): rows for name, rows in data.groupby("variant", sort=False)}


def _entries(data: pd.DataFrame) -> list[Entry]:
    distinct = data.drop_duplicates("variant")
    return [Entry(**row) for row in distinct[["variant", "group", "label", "placebo"]].to_dict("records")]


def _widened(limits: Limits, data: pd.DataFrame) -> Limits:
    """Limits with room for the Bonferroni intervals of what they show, at most half as wide again."""
    low, high = limits
    shown = data[(data["ci_low"] >= low) & (data["ci_high"] <= high)]
    room = (high - low) / 4
    wide = layout.padded(shown["bonferroni_low"].min(), shown["bonferroni_high"].max(), 0.02)
    return min(low, max(wide[0], low - room)), max(high, min(wide[1], high + room))


def _band(ax: Axes, data: pd.DataFrame, margin: float | None, strips: Sequence[Limits]) -> None:
    lows, highs = zip(*strips, strict=True)
    if margin:
        for low, high in strips:
            ax.fill_between([-margin, margin], low, high, color=colour("band"), lw=0, zorder=0)
    for row in data[data["placebo"]].to_dict("records"):
        for edge in (row["ci_low"], row["ci_high"]):
            ax.vlines(
                [edge] * len(lows), lows, highs, color=colour("soft"), lw=0.9, ls=(0, (1, 1.6)), zorder=1
            )
    ax.vlines([0.0] * len(lows), lows, highs, color=colour("ink"), lw=0.8, zorder=1)


def _difference(ax: Axes, row: pd.Series, y: float, limits: Limits) -> None:
    mark = style.VERDICTS[row["verdict"]]
    shade = colour(mark.colour)
    low, high = limits
    if np.isnan(row["diff"]):
        return
    if not low <= row["diff"] <= high:
        # Outside this view: an arrow at the edge points to where it is.
        edge, marker = (low, "<") if row["diff"] < low else (high, ">")
        ax.plot([edge], [y], marker=marker, ms=4.5, color=shade, clip_on=False, zorder=4)
        return
    ax.plot([row["bonferroni_low"], row["bonferroni_high"]], [y, y], color=shade, lw=0.8, zorder=2)
    ax.plot([row["ci_low"], row["ci_high"]], [y, y], color=shade, lw=2.4, solid_capstyle="butt", zorder=3)
    ax.plot([row["diff"]], [y], **verdict_marker(mark), zorder=4)


def verdict_marker(mark: style.Mark) -> dict[str, Any]:
    """How a line is drawn that is only the mark of a verdict."""
    face = colour(mark.colour) if mark.filled else colour("paper")
    edge = colour("paper") if mark.filled else colour(mark.colour)
    return {
        "marker": mark.marker,
        "ms": 6.0,
        "mfc": face,
        "mec": edge,
        "mew": 0.6 if mark.filled else 1.1,
        "ls": "",
    }


def _forest_keys(data: pd.DataFrame, margin: float | None, across: int) -> list[list[Handle]]:
    """The lines of the key, at most `across` handles each: verdicts first, then intervals and bands."""
    present = set(data["verdict"])
    verdicts: list[Handle] = [
        Line2D([], [], label=name, **verdict_marker(mark))
        for name, mark in style.VERDICTS.items()
        if name in present
    ]
    rest: list[Handle] = [
        Line2D([], [], color=colour("soft"), lw=2.4, solid_capstyle="butt", label="95 % interval"),
        Line2D([], [], color=colour("soft"), lw=0.8, label="Bonferroni"),
    ]
    if margin:
        rest.append(Patch(color=colour("band"), lw=0, label=f"margin ±{wording.exact(margin)}"))
    if data["placebo"].any():
        rest.append(Line2D([], [], color=colour("soft"), lw=0.9, ls=(0, (1, 1.6)), label="placebo, 95 %"))
    return [*layout.in_lines(verdicts, across), *layout.in_lines(rest, min(across, 4) if across > 3 else 2)]


def seeds(data: pd.DataFrame, metric: str, known: Metric, width: float = WIDE) -> Figure:
    """Every seed as a point: the baseline above, the variant below, a line joining the two of one seed.

    `data` is `figure_data.seeds`. Runs without a value are counted at the right.
    """
    stacked = width < STACKED
    only = set(data["variant"]) == {BASELINE}
    entries = _entries(data)
    lines, height = layout.rows(
        entries, width if stacked else LABEL_WIDTH, row_height=0.3 if stacked else 0.36, above=stacked
    )
    lost = data[data["value"].isna() & (data["status"] != "missing")]
    bottom, key = 0.52, 0.31
    side = 0.95 if not stacked and len(lost) else 0.15
    fig = layout.figure(width, bottom + height + key)
    left, room = (0.15, width - 0.3) if stacked else (LABEL_WIDTH + 0.1, width - LABEL_WIDTH - 0.1 - side)

    spans = []
    for _, rows in data.groupby("variant", sort=False):
        values = rows[["baseline", "value"]].to_numpy(float)
        if np.isfinite(values).any():
            spans.append((float(np.nanmin(values)), float(np.nanmax(values))))
    base = data["baseline"].dropna()
    always = (base.min(), base.max()) if len(base) else (spans[0] if spans else (0.0, 1.0))
    views = layout.views(spans, always)
    rows_of = _by_variant(data)
    placed = [
        (rows_of[entries[line.index].variant], height - line.centre)
        for line in lines
        if line.index is not None
    ]
    for ax, limits in layout.view_axes(fig, views, left, bottom, room, height, metric):
        _seed_references(ax, known, limits, layout.strips(lines, height, 0.3, stacked))
        _pairs(ax, placed, limits, only)
    layout.write_labels(fig, lines, bottom + height, above=stacked)
    for line in lines:
        if line.index is not None:
            mine = lost[lost["variant"] == entries[line.index].variant]
            words = ", ".join(
                f"{n} {status}" for status, n in mine["status"].value_counts(sort=False).items()
            )
            at = line.top + style.LINE_HEIGHT / 2 if stacked else line.centre
            layout.write(fig, width - 0.05, bottom + height - at, words, ha="right", color=colour("purple"))
    handles: list[Handle] = [_dot("soft", False, "baseline")]
    if not only:
        handles.append(_dot("blue", True, "variant"))
    handles.append(Line2D([], [], color=colour("ink"), marker="|", ls="", ms=8, mew=1.6, label="mean"))
    layout.write_keys(fig, [handles])
    return fig


def _dot(name: str, filled: bool, label: str = "") -> Line2D:
    face = colour(name) if filled else colour("paper")
    return Line2D([], [], marker="o", ls="", ms=4.2, mfc=face, mec=colour(name), mew=0.9, label=label)


def _pairs(ax: Axes, placed: Sequence[tuple[pd.DataFrame, float]], limits: Limits, only: bool) -> None:
    """The rows of each variant around its height; one artist for all marks of a kind, for artists are what costs."""
    half = 0.0 if only else 0.085
    low, high = limits
    both = np.concatenate([rows[["baseline", "value"]].to_numpy(float) for rows, _ in placed])
    of = np.repeat(np.arange(len(placed)), [len(rows) for rows, _ in placed])
    centres = np.array([y for _, y in placed])
    y = centres[of]
    joined = ~np.isnan(both).any(axis=1)
    gap = np.full(len(y), np.nan)
    ends = np.column_stack([both, gap])[joined].ravel()
    heights = np.column_stack([y + half, y - half, gap])[joined].ravel()
    ax.plot(ends, heights, color=colour("line"), lw=0.8, zorder=1)
    kinds = [(half, "soft", False), (-half, "blue", True)]
    for (place, name, filled), values in zip(kinds[: 1 if only else 2], both.T, strict=False):
        inside = (values >= low) & (values <= high)
        face = colour(name) if filled else colour("paper")
        dots: dict[str, Any] = {"ms": 4.2, "mfc": face, "mec": colour(name), "mew": 0.9}
        ax.plot(values[inside], y[inside] + place, "o", zorder=3, **dots)
        known = ~np.isnan(values)
        counts = np.bincount(of[known], minlength=len(placed))
        means = np.bincount(of[known], values[known], len(placed)) / np.where(counts, counts, np.nan)
        seen = (means >= low) & (means <= high)
        ax.plot(means[seen], centres[seen] + place, "|", ms=9, mew=1.6, color=colour("ink"), zorder=2)
        # Outside this view: an arrow at the edge points to where some are.
        left, right = (
            np.bincount(of[out], minlength=len(placed)) > 0 for out in (values < low, values > high)
        )
        for edge, marker, there in ((low, "<", left), (high, ">", right & ~left)):
            at = centres[there] + place
            arrows: dict[str, Any] = {"ms": 4, "color": colour(name), "clip_on": False}
            ax.plot(np.full(len(at), edge), at, ls="", marker=marker, zorder=4, **arrows)


def _references(known: Metric, limits: Limits) -> list[tuple[float, str, bool]]:
    """The values at guessing and at solved that lie within `limits`, and whether there is room above them."""
    up = known.direction == "max"
    found = ((known.floor, "guessing", up), (known.solved, "solved", not up))
    return [(v, name, above) for v, name, above in found if v is not None and limits[0] <= v <= limits[1]]


def _seed_references(ax: Axes, known: Metric, limits: Limits, strips: Sequence[Limits]) -> None:
    lows, highs = zip(*strips, strict=True)
    for value, name, _ in _references(known, limits):
        ax.vlines([value] * len(lows), lows, highs, color=colour("soft"), lw=0.7, ls=(0, (1, 1.6)), zorder=0)
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        ax.annotate(name, (value, 1), (0, 1), ha="center", va="bottom", **place, **SMALL)


def curve_references(ax: Axes, known: Metric, limits: Limits) -> None:
    """Dotted lines at the values of guessing and of solved that lie within `limits`, of the y axis."""
    for value, name, above in _references(known, limits):
        ax.axhline(value, color=colour("soft"), lw=0.7, ls=(0, (1, 1.6)), zorder=0)
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        side, shift = ("bottom", 1) if above else ("top", -2)
        ax.annotate(name, (1, value), (-2, shift), ha="right", va=side, **place, **SMALL)


def curves(
    data: pd.DataFrame,
    broken: pd.DataFrame,
    panels: dict[str, list[Entry]],
    label: str,
    known: Metric | None = None,
    width: float = WIDE,
) -> Figure:
    """Learning curves in small multiples: in each panel the baseline and the levels of one factor.

    `data` is `figure_data.curves`, `broken` is `figure_data.broken_curves`. A line is the mean over seeds, its
    band reaches from the lowest seed to the highest; a run that did not complete ends in a cross.
    """
    across = 1 if width < STACKED or len(panels) == 1 else 2
    down = -(-len(panels) // across)
    panel_height, head, foot, right = 1.45, 0.3, 0.3, 1.2
    fig = layout.figure(width, down * (panel_height + head + foot) + 0.12)
    share = width / across
    limits, log = _curve_limits(data, broken)
    left = 0.75 if log else 0.55
    # Over many decades only the powers of ten are far enough apart to be read.
    subs = (1.0, 2.0, 5.0) if limits[1] < 1000 * limits[0] else (1.0,)
    steps = [*data["step"], *broken["step"]]
    curves_of, broken_of = _by_variant(data), _by_variant(broken)
    for i, (title, entries) in enumerate(panels.items()):
        column, line = i % across, i // across
        bottom = 0.12 + (down - 1 - line) * (panel_height + head + foot) + foot
        ax = layout.axes(fig, left + column * share, bottom, share - left - right, panel_height)
        if log:
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=subs))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylim(limits)
        ax.set_xlim(0, max(steps, default=1))
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        if known:
            curve_references(ax, known, limits)
        _panel(fig, ax, curves_of, broken_of, entries, bottom, panel_height, (column + 1) * share - right)
        shown = layout.fitted(title, layout.characters(share - left), 1)[0]
        ax.set_title(shown, loc="left", weight="bold", y=1.0, pad=6)
        if column == 0:
            layout.write_upright(fig, 0.1, bottom + panel_height / 2, label)
        if i >= len(panels) - across:
            layout.write(
                fig, left + column * share + (share - left - right) / 2, bottom - 0.29, "step", ha="center"
            )
    return fig


def _curve_limits(data: pd.DataFrame, broken: pd.DataFrame) -> tuple[Limits, bool]:
    """The range of the completed trials, so that one that left the numbers does not flatten the others."""
    low, high = (data["low"], data["high"]) if len(data) else (broken["value"], broken["value"])
    if not len(low):
        return (0.0, 1.0), False
    bottom, top = float(low.min()), float(high.max())
    if bottom > 0 and top > 30 * bottom:
        bottom, top = layout.padded(np.log(bottom), np.log(top))
        return (float(np.exp(bottom)), float(np.exp(top))), True
    return layout.padded(bottom, top), False


def _panel(
    fig: Figure,
    ax: Axes,
    curves_of: Mapping[str, pd.DataFrame],
    broken_of: Mapping[str, pd.DataFrame],
    entries: Sequence[Entry],
    bottom: float,
    height: float,
    right: float,
) -> None:
    ends: list[tuple[float, str, str]] = []
    looks: list[tuple[str, str, str, Any, float]] = [(BASELINE, BASELINE, "ink", "-", 1.6)]
    for i, entry in enumerate(entries):
        looks.append((entry.variant, entry.label, style.LEVELS[i], style.DASHES[i], 1.3))
    # Many bands over one another would hide the lines.
    alpha = 0.16 if len(looks) <= 4 else 0.07
    for z, (variant, label, name, dashes, thickness) in enumerate(looks):
        mine, unfinished = curves_of.get(variant), broken_of.get(variant)
        shade = colour(name)
        if mine is not None:
            step, mean, low, high = (mine[c].to_numpy() for c in ("step", "mean", "low", "high"))
            ax.fill_between(step, low, high, color=shade, alpha=alpha, lw=0, zorder=2)
            # One evaluation is a point: a line through it could not be seen.
            point: dict[str, Any] = {"marker": "o", "ms": 4} if len(step) == 1 else {}
            ax.plot(step, mean, color=shade, ls=dashes, lw=thickness, zorder=10 + z, **point)
            if point:
                ax.vlines(step, low, high, color=shade, lw=0.8, zorder=9)
            ends.append((float(mean[-1]), label, name))
        for _, run in () if unfinished is None else unfinished.groupby("seed"):
            ax.plot(run["step"], run["value"], color=shade, lw=0.7, ls=(0, (2, 1.5)), zorder=5)
            last = np.clip(run["value"].iloc[-1], *ax.get_ylim())
            ax.plot(
                [run["step"].iloc[-1]],
                [last],
                marker="X",
                ms=5,
                color=shade,
                mec=colour("paper"),
                mew=0.4,
                clip_on=False,
                zorder=30,
            )
            if mine is None and not any(end[1] == label for end in ends):
                ends.append((float(last), label, name))
    layout.label_ends(fig, ax, ends, bottom, height, right)
