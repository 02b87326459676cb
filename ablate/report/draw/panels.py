"""Variants in small multiples: in each panel the baseline and the levels of one factor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import pandas as pd

from ablate.base.wording import brief
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.report.draw import style
from ablate.report.draw.marks import STEPS, plain
from ablate.report.draw.style import DASHES, LEVELS, colour
from ablate.report.words import in_lines, say, short, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MAX_CURVES = 8  # Curves in one panel, the baseline's included.
MAX_TICKS = 6  # Values that are written at an axis.
MAX_PANELS = 16  # Panels of one figure: more take long to draw, and nobody looks through them.
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
            found[f"{group} ({i + 1} of {parts})" if parts > 1 else group] = every[i * size : (i + 1) * size]
    return dict(islice(found.items(), MAX_PANELS)) or {BASELINE: []}


def left_out(facts: Facts, shown: Mapping[str, Sequence[Entry]]) -> str:
    """What a caption says of variants for which the panels have no room."""
    every, some = len(facts.variants) - 1, sum(map(len, shown.values()))
    return say("figures.left_out", some, every) if some < every else ""


HEIGHT, GAP = 1.25, 0.22  # Inches of a panel, and below it.
ROW = 0.14  # Inches of a line of its legend, whose first is the title.
MARGIN = 0.2  # Inches of the label of an axis that all panels share.


@dataclass(frozen=True)
class Look:
    """How a variant is drawn."""

    label: str
    colour: str
    style: Any  # Of its line, as matplotlib takes it.

    def handle(self, **options: Any) -> Line2D:
        """Its entry in a legend."""
        return style.handle(text(self.label), color=self.colour, ls=self.style, **options)


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
    labels: tuple[str, str],
    axis: Mapping[str, Any],
) -> Figure:
    """A panel a factor, on common axes with these labels (x, y) and properties; `draw` draws the variants of one.

    The legend of a panel, above it, names those of `drawn`.
    """
    from matplotlib.ticker import MaxNLocator

    across = min(3 if style.width() > 6 else 2, len(panels))
    wide = int(16 * style.width()) // across
    handles = {
        title: [look.handle() for variant, look in looks(entries).items() if variant in drawn]
        for title, entries in panels.items()
    }
    columns = {title: _columns(found, wide) for title, found in handles.items()}
    lines = [1 - (-len(found) // columns[title]) for title, found in handles.items()]
    above = [ROW * max(lines[i : i + across]) for i in range(0, len(panels), across)]
    tall = HEIGHT * (1.5 if across == 1 else 1)
    figure = style.new_figure(sum(above) + len(above) * (tall + GAP) + 1.4 * MARGIN)
    grid = figure.subplots(len(above), across, sharex=True, sharey=True, squeeze=False).ravel()
    first = grid[0]
    first.set(**axis)
    free = first.get_autoscaley_on()
    for ax in grid:
        # Limits are those of all panels, and are looked for once.
        ax.set_autoscale_on(False)
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
    first.set(autoscalex_on=True, autoscaley_on=free)
    first.autoscale_view()
    for shared in (first.xaxis, first.yaxis):
        locator = shared.get_major_locator()
        if shared.get_scale() == "log":
            shared.minorticks_off()
        elif isinstance(locator, MaxNLocator):  # not where each value that was tried has its tick
            locator.set_params(nbins=4, integer=shared is first.xaxis, steps=STEPS)
    first.yaxis.set_major_formatter(plain)
    if first.get_xscale() == "linear":
        first.set(xlim=(0, None))
    for ax in grid[len(panels) :]:
        ax.remove()
    figure.supxlabel(labels[0], size=style.SMALL)
    figure.supylabel(labels[1], size=style.SMALL)
    _place(figure, list(grid[: len(panels)]), across, above, tall)
    return figure


def _place(figure: Figure, grid: Sequence[Axes], across: int, above: Sequence[float], tall: float) -> None:
    """Gives panels their places, `above` inches below those over them: a layout engine would measure each of them."""
    figure.set_layout_engine("none")
    wide, high = figure.get_size_inches()
    box = grid[0].yaxis.get_tightbbox()
    left = MARGIN + 0.12 + (box.width / figure.dpi if box else 0)
    size = (wide - left - 0.06 - GAP * (across - 1)) / across
    for i, ax in enumerate(grid):
        row, column = divmod(i, across)
        bottom = high - sum(above[: row + 1]) - row * (tall + GAP) - tall - 0.04
        # Ticks take longest to draw: at the left, and below the last of each column.
        ax.yaxis.set_visible(column == 0)
        ax.xaxis.set_visible(i >= len(grid) - across)
        ax.xaxis.set_tick_params(labelbottom=True)
        ax.set_position(((left + column * (size + GAP)) / wide, bottom / high, size / wide, tall / high))


def _columns(handles: Sequence[Line2D], wide: int) -> int:
    """In how many columns the entries of a legend fit, `wide` characters in all."""
    longest = 8 + max((len(str(handle.get_label())) for handle in handles), default=0)
    return max(1, min(len(handles), wide // longest))


def ticked(values: Sequence[float]) -> dict[str, Any]:
    """The properties of an x axis that names the values of its points, at most MAX_TICKS of them."""
    shown = values[:: -(-len(values) // MAX_TICKS)]
    return {"xticks": shown, "xticklabels": [brief(value) for value in shown]}


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
