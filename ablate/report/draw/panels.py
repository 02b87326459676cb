"""Variants in small multiples: in each panel the baseline and the levels of one factor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.report.draw import style
from ablate.report.draw.marks import plain
from ablate.report.draw.style import DASHES, LEVELS, colour
from ablate.report.words import in_lines, say, short, text

MAX_CURVES = 8
"Curves in one panel, the baseline's included."
MAX_PANELS = 16
"Panels of one figure: more take long to draw, and nobody looks through them."
PLACEBO_GROUP = "placebo"


@dataclass(frozen=True)
class Entry:
    """One variant and its place in a figure: its name for readers; its panel is the end of the path that it changes,
    or of several.
    """

    variant: str
    group: str
    label: str


def entries(facts: Facts) -> list[Entry]:
    """Every variant but the baseline, those that change the same paths together, placebos last."""
    names, found = short_names(facts), []
    paths = short(list(dict.fromkeys(path for v in facts.variants for path in v.changes)))
    for variant in facts.variants[1:]:
        group = " + ".join(paths[path].replace("_", " ") for path in variant.changes)
        found.append(Entry(variant.name, PLACEBO_GROUP if variant.placebo else group, names[variant.name]))
    order = list(dict.fromkeys(entry.group for entry in found))
    return sorted(found, key=lambda entry: (entry.group == PLACEBO_GROUP, order.index(entry.group)))


def panels(facts: Facts) -> dict[str, list[Entry]]:
    """Title → the variants that a panel shows beside the baseline, at most MAX_CURVES − 1; the first MAX_PANELS."""
    found: dict[str, list[Entry]] = {}
    for group, members in groupby(entries(facts), key=lambda entry: entry.group):
        every = list(members)
        parts = -(-len(every) // (MAX_CURVES - 1))
        size = -(-len(every) // parts)
        for i in range(parts):
            title = f"{group} ({i + 1} of {parts})" if parts > 1 else group
            found[title] = every[i * size : (i + 1) * size]
    return dict(islice(found.items(), MAX_PANELS)) or {BASELINE: []}


def left_out(facts: Facts, shown: Mapping[str, Sequence[Entry]]) -> str:
    """What a caption says of variants for which the panels have no room."""
    every, some = len(facts.variants) - 1, sum(map(len, shown.values()))
    return say("figures.left_out", some, every) if some < every else ""


HEIGHT = 1.5
"Inches of a panel with its axis."
ROW = 0.14
"Inches of a line of its legend, whose first is the title."


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
    handles = {
        title: [look.handle() for variant, look in looks(entries).items() if variant in drawn]
        for title, entries in panels.items()
    }
    columns = {title: _columns(found, wide) for title, found in handles.items()}
    lines = [1 - (-len(found) // columns[title]) for title, found in handles.items()]
    heights = [
        HEIGHT * (1.5 if across == 1 else 1) + ROW * max(lines[i : i + across])
        for i in range(0, len(panels), across)
    ]
    figure = style.new_figure(sum(heights) + 0.3)
    shape: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False, "height_ratios": heights}
    grid = figure.subplots(len(heights), across, **shape).ravel()
    for (title, entries), ax in zip(panels.items(), grid, strict=False):
        draw(ax, looks(entries))
        legend = ax.legend(
            handles=handles[title],
            ncols=columns[title],
            title=in_lines(title, int(12 * style.width()) // across, 1),
            alignment="left",
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0,
            labelspacing=0.3,
        )
        legend.get_title().set_fontweight("bold")
    for ax in grid[len(panels) :]:
        ax.remove()
    for ax in grid[max(0, len(panels) - across) : len(panels)]:
        ax.xaxis.set_tick_params(labelbottom=True)
    if grid[0].get_yscale() == "linear":
        grid[0].yaxis.set_major_formatter(plain)
    if grid[0].get_xscale() == "linear":
        grid[0].set(xlim=(0, None))  # of all panels, which share the axis
    figure.supxlabel(x, size=style.SMALL)
    figure.supylabel(y, size=style.SMALL)
    return figure


def _columns(handles: Sequence[Line2D], wide: int) -> int:
    """In how many columns the entries of a legend fit, `wide` characters in all."""
    longest = 8 + max((len(str(handle.get_label())) for handle in handles), default=0)
    return max(1, min(len(handles), wide // longest))


def lines(ax: Axes, data: pd.DataFrame, of: Mapping[str, Look], x: str, y: str, **options: Any) -> None:
    """A line for each variant of `of` that `data` has, with a band from its `low` to its `high`.

    `data` has a row a variant and place on the x axis.
    """
    # Many bands over one another would hide the lines.
    alpha = 0.16 if len(of) <= 4 else 0.07
    for variant, rows in data[data["variant"].isin(of)].groupby("variant", sort=False):
        look = of[str(variant)]
        point = {"marker": "o", "ms": 4} if len(rows) == 1 else {}  # a line through one could not be seen
        ax.fill_between(rows[x], rows["low"], rows["high"], color=look.colour, alpha=alpha, lw=0)
        ax.plot(rows[x], rows[y], color=look.colour, ls=look.style, **options | point)
