"""Variants in small multiples: in each panel the baseline and the levels of one factor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.base.wording import brief
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.report import tables
from ablate.report.draw import style
from ablate.report.draw.style import named, short, tell
from ablate.report.palette import DASHES, LEVELS, colour
from ablate.report.tables import in_lines, text
from ablate.report.words import say

MAX_CURVES = 8
"Curves in one panel, the baseline's included."
MAX_PANELS = 16
"Panels of one figure: more take long to draw, and nobody looks through them."
MAX_PATHS = 3
"As many the title of a panel names."
PLACEBO_GROUP = "placebo"


@dataclass(frozen=True)
class Entry:
    """One variant and its place in a figure."""

    variant: str
    group: str
    "The end of the factor path that the variant changes, or of several; its panel."
    label: str
    "Its name for readers."
    placebo: bool = False


def entries(facts: Facts) -> list[Entry]:
    """Every variant but the baseline, those that change the same paths together, placebos last."""
    names = short_names(facts)
    paths = tables.short(list(dict.fromkeys(path for v in facts.variants for path in v.changes)))
    found = [
        Entry(
            v.name,
            PLACEBO_GROUP
            if v.placebo
            else "several settings"
            if len(v.changes) > MAX_PATHS
            else " + ".join(paths[path].replace("_", " ") for path in v.changes),
            names[v.name],
            v.placebo,
        )
        for v in facts.variants
        if v.name != BASELINE
    ]
    order = {group: i for i, group in enumerate(dict.fromkeys(e.group for e in found))}
    return sorted(found, key=lambda e: (e.placebo, order[e.group]))


def panels(facts: Facts, comparisons: pd.DataFrame) -> dict[str, list[Entry]]:
    """Title → the variants that a panel shows beside the baseline, at most MAX_CURVES − 1.

    Where they would take more than MAX_PANELS, those furthest from the baseline on the primary metric, and placebos.
    """
    every = entries(facts)
    mine = comparisons[comparisons["metric"] == facts.metric]
    far = mine["diff"].astype(float).abs().groupby(mine["variant"]).max().fillna(-1.0).to_dict()
    ranked = sorted(every, key=lambda entry: (not entry.placebo, -far.get(entry.variant, -1.0)))
    found = _arranged(every)
    while len(found) > MAX_PANELS:
        ranked = ranked[: len(ranked) - max(1, len(ranked) // 20)]
        kept = {entry.variant for entry in ranked}
        found = _arranged([entry for entry in every if entry.variant in kept])
    return found or {BASELINE: []}


def left_out(facts: Facts, shown: Mapping[str, Sequence[Entry]]) -> str:
    """What a caption says of variants for which the panels have no room."""
    every, some = len(facts.variants) - 1, sum(map(len, shown.values()))
    return say("figures.left_out", some, every) if some < every else ""


def _arranged(members: Sequence[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in members:
        groups.setdefault(entry.group, []).append(entry)
    result = {}
    for group, of in groups.items():
        count = -(-len(of) // (MAX_CURVES - 1))
        size = -(-len(of) // count)
        parts = [of[i : i + size] for i in range(0, len(of), size)]
        for i, part in enumerate(parts):
            result[f"{group} ({i + 1} of {len(parts)})" if len(parts) > 1 else group] = part
    return result


HEIGHT = 1.5
"Inches of a panel with its title and its axis."
ROW = 0.13
"Inches of a line of its legend."
MAX_TOLD = 30
"Points of a line of which their numbers are told."


@dataclass(frozen=True)
class Look:
    """How a variant is drawn."""

    label: str
    colour: str
    style: Any
    "Of its line, as matplotlib takes it."

    def handle(self, **options: Any) -> Line2D:
        """Its entry in a legend."""
        return Line2D([], [], color=self.colour, ls=self.style, label=text(self.label), **options)


def looks(entries: Sequence[Entry]) -> dict[str, Look]:
    """Of the baseline and the variants of a panel; one keeps its look when others have no data."""
    found = {BASELINE: Look(BASELINE, colour("ink"), "-")}
    for entry, name, dashes in zip(entries, LEVELS, DASHES, strict=False):
        found[entry.variant] = Look(entry.label, colour(name), (0, dashes) if dashes else "-")
    return found


def multiples(
    panels: Mapping[str, Sequence[Entry]],
    drawn: Collection[str],
    draw: Callable[[Axes, dict[str, Look]], None],
    x: str,
    y: str,
) -> Figure:
    """A panel a factor, on common axes with the labels `x` and `y`; `draw` draws the variants of one.

    The legend of a panel, above it, names those of `drawn`.
    """
    across = min(3 if style.width() > 6 else 2, len(panels))
    wide = int(16 * style.width()) // across
    legends = {title: _legend(entries, drawn, wide) for title, entries in panels.items()}
    titles = [list(panels)[start : start + across] for start in range(0, len(panels), across)]
    rows = [max(-(-len(legends[title][0]) // legends[title][1]) for title in row) for row in titles]
    heights = [HEIGHT * (1.5 if across == 1 else 1) + ROW * count for count in rows]
    figure = style.new_figure(sum(heights) + 0.3)
    shape: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False, "height_ratios": heights}
    grid = figure.subplots(len(heights), across, **shape).ravel()
    for (title, entries), ax in zip(panels.items(), grid, strict=False):
        handles, columns = legends[title]
        draw(ax, looks(entries))
        name = in_lines(title, int(12 * style.width()) // across, 2)
        ax.set_title(name, size=style.SMALL, pad=4 + 72 * ROW * -(-len(handles) // columns))
        ax.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=columns,
            fontsize=style.SMALL - 0.5,
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.3,
            columnspacing=1.0,
        )
    for ax in grid[len(panels) :]:
        ax.remove()
    for ax in grid[max(0, len(panels) - across) : len(panels)]:
        ax.xaxis.set_tick_params(labelbottom=True)
    if grid[0].get_xscale() == "linear":
        grid[0].set(xlim=(0, None))  # of all panels, which share the axis
    figure.supxlabel(x, size=style.SMALL)
    figure.supylabel(y, size=style.SMALL)
    return figure


def _legend(entries: Sequence[Entry], drawn: Collection[str], wide: int) -> tuple[list[Line2D], int]:
    """The entries of a legend, and in how many columns they fit."""
    handles = [look.handle() for variant, look in looks(entries).items() if variant in drawn]
    longest = max((len(str(handle.get_label())) for handle in handles), default=0) + 8
    return handles, max(1, min(len(handles), wide // longest))


def lines(ax: Axes, data: pd.DataFrame, of: Mapping[str, Look], x: str, y: str, **options: Any) -> None:
    """A line for each variant of `of` that `data` has, with a band from its `low` to its `high`.

    `data` has a row a variant and place on the x axis.
    """
    # Many bands over one another would hide the lines.
    alpha = 0.16 if len(of) <= 4 else 0.07
    for variant, rows in data[data["variant"].isin(of)].groupby("variant", sort=False):
        look = of[str(variant)]
        if len(rows) == 1:  # a line through one point could not be seen
            options = options | {"marker": "o", "ms": 4}
            ax.vlines(rows[x], rows["low"], rows["high"], color=look.colour, lw=0.8)
        ax.fill_between(rows[x], rows["low"], rows["high"], color=look.colour, alpha=alpha, lw=0)
        ax.plot(rows[x], rows[y], color=look.colour, ls=look.style, **options)
        told = rows.iloc[:: -(-len(rows) // MAX_TOLD)]
        name, numbers = named(look.label, str(variant)), told[[x, y, "low", "high"]].to_numpy(float)
        words = [f"{name}\n{x} {brief(at)}: {short(value)}{_band(*band)}" for at, value, *band in numbers]
        tell(ax, told[x], told[y], words)


def _band(low: float, high: float) -> str:
    return f" [{short(low)}, {short(high)}]" if low < high else ""
