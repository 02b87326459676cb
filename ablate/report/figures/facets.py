"""Small multiples of lines: a facet for each factor, with the baseline and the factor's levels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ablate.analysis.family import CROSSED
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.metric import Metric
from ablate.core.short_names import by_design, short_names
from ablate.core.spelling import spelled_paths
from ablate.report.figures.line_names import MAX_NAMED_LINES, LineEnd, write_names_at_ends
from ablate.report.figures.scales import reference_lines
from ablate.report.figures.theme import LEVELS, colour, figure_width, new_figure
from ablate.report.words import in_lines, message

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Dashes = str | tuple[float, tuple[float, ...]]
"""Dashes of a line as matplotlib takes them: the lengths of dashes and gaps, behind an offset."""
SOLID = "-"
# Dashes of variants: colour is never the only difference.
DASHES: tuple[Dashes, ...] = (SOLID, (0, (5, 1.4)), (0, (1.6, 1.2)), (0, (6, 1.4, 1.4, 1.4)))
MAX_LINES = len(LEVELS) * len(DASHES)  # Variants that differ by colour or dashes.
MAX_FACETS = 12  # Facets of one figure: nobody looks through more.
FACET_HEIGHT = 1.3  # Inches of a facet with its title.
PANEL_EDGES = 0.4  # Inches of it that are its title, its ticks, and the room between two.
LEGEND_ROW = 0.15  # Inches of a line of the legend.
MAX_NAME = 44  # Characters of a name in the legend.


@dataclass(frozen=True)
class Entry:
    """A variant in a figure: its name for readers, and its group, the ends of the paths that it changes."""

    variant: str
    group: str
    label: str


PLACEBO_GROUP = "placebo"


def cells_of(facts: StudyFacts) -> dict[str, int]:
    """Returns the cells of a design that crosses several factors → the number of levels that each changes."""
    cells = {v.name: len(v.changes) for v in facts.variants if by_design(v) and v.changes and not v.placebo}
    return cells if facts.design in CROSSED and any(count > 1 for count in cells.values()) else {}


def figure_names(facts: StudyFacts) -> dict[str, str]:
    """Returns the names of variants in figures: the baseline is `baseline`, a cell that changes one factor `… alone`.

    The main effect of the level has the name itself.
    """
    cells = cells_of(facts)
    names = short_names(facts)
    alone = {name: f"{names[name]} alone" for name, count in cells.items() if count == 1}
    return {**names, **alone, BASELINE: BASELINE}


def entries(facts: StudyFacts) -> list[Entry]:
    """Returns every variant but the baseline, in the order of the study as tables have them, placebos last."""
    names = figure_names(facts)
    paths: dict[str, None] = {}
    for variant in facts.variants:
        paths |= dict.fromkeys(variant.changes)
    ends = spelled_paths(paths)
    found = []
    for variant in facts.variants[1:]:
        group = " + ".join(ends[path] for path in variant.changes)
        found.append(Entry(variant.name, PLACEBO_GROUP if variant.placebo else group, names[variant.name]))
    return sorted(found, key=lambda entry: entry.group == PLACEBO_GROUP)


@dataclass(frozen=True)
class Facets:
    """The facets of a figure: title → the variants that it shows beside the baseline."""

    members: Mapping[str, Sequence[Entry]]

    @classmethod
    def of(cls, facts: StudyFacts) -> Facets:
        """Returns a facet for each factor, without placebos: the first `MAX_FACETS`, of at most `MAX_LINES` variants.

        Where every factor has one variant, as those named by hand do, the title of a facet is the variant's name.
        """
        shown = [entry for entry in entries(facts) if entry.group != PLACEBO_GROUP][:MAX_LINES]
        groups: dict[str, list[Entry]] = {}
        for entry in shown:
            groups.setdefault(entry.group, []).append(entry)
        if not groups:
            return cls({BASELINE: []})
        if len(groups) > 1 and all(len(members) == 1 for members in groups.values()):
            groups = {members[0].label: members for members in groups.values()}
        return cls(dict(list(groups.items())[:MAX_FACETS]))

    @property
    def variants(self) -> list[Entry]:
        """The variants of all facets, in order."""
        return list(itertools.chain.from_iterable(self.members.values()))

    @property
    def is_named(self) -> bool:
        """Whether the title of each of several facets names its only variant: the legend need not say it again."""
        titles = [[entry.label for entry in members] == [title] for title, members in self.members.items()]
        return len(titles) > 1 and all(titles)

    @property
    def styles(self) -> dict[str, LineStyle]:
        """The look of the baseline and of each variant; that of all variants is one where titles name them."""
        variants = [entry.variant for entry in self.variants]
        if self.is_named:
            one = line_styles(["variant"])["variant"]
            return {**line_styles([]), **dict.fromkeys(variants, one)}
        return line_styles(variants)

    @property
    def named_at_ends(self) -> set[str]:
        """The titles of the facets whose lines have their names at their ends: of those with few lines."""
        if self.is_named:
            return set()
        return {title for title, members in self.members.items() if 0 < len(members) < MAX_NAMED_LINES}

    @property
    def legend(self) -> dict[str, str]:
        """The variants of the legend by what it calls them; where titles name them, one stands for all.

        Without those that are named at the ends of their lines.
        """
        if self.is_named:
            return {BASELINE: BASELINE, self.variants[0].variant: message("figures.named_above")}
        named_at_ends = self.named_at_ends
        names: dict[str, str] = {}
        for title, members in self.members.items():
            if title not in named_at_ends:
                names |= _with_baseline(members)
        return names

    def left_out(self, facts: StudyFacts) -> str:
        """Returns what a caption says of variants for which there is no room; nothing where all are shown."""
        count = len(facts.variants) - 1 - len(facts.placebos)
        shown = len(self.variants)
        return message("figures.first_variants", shown, count) if shown < count else ""

    def spread(self, data: pd.DataFrame) -> pd.DataFrame:
        """Returns the rows of each facet with its title in the column `facet`: the baseline's stand in every one."""
        parts = [
            data[data["variant"].isin(_with_baseline(members))].assign(facet=title)
            for title, members in self.members.items()
        ]
        return pd.concat(parts, ignore_index=True)


def _with_baseline(members: Sequence[Entry]) -> dict[str, str]:
    """Returns the variants of a facet by their names for readers, the baseline first."""
    return {BASELINE: BASELINE, **{entry.variant: entry.label for entry in members}}


@dataclass(frozen=True)
class LineStyle:
    """The look of a variant's lines."""

    colour: str
    dashes: Dashes


def line_styles(variants: Sequence[str]) -> dict[str, LineStyle]:
    """Returns the look of the baseline, in solid ink, and of the variants; no two are alike."""
    styles = {BASELINE: LineStyle(colour("ink"), SOLID)}
    for i, variant in enumerate(variants):
        # Their numbers have no common divisor: each colour meets each of the dashes.
        styles[variant] = LineStyle(colour(LEVELS[i % len(LEVELS)]), DASHES[i % len(DASHES)])
    return styles


@dataclass(frozen=True)
class LinePanels:
    """A figure of lines: its panels by the titles of their facets, and the ends of the lines of each."""

    figure: Figure
    panels: Mapping[str, Axes]
    ends: Mapping[str, dict[str, float]]
    """Title → variant → y."""
    across: int
    """The panels of a row."""
    height: float
    """Inches of a panel, about."""


def line_facets(
    data: pd.DataFrame,
    facets: Facets,
    x: str,
    y: str,
    *,
    limits: Mapping[str, Any],
    band: bool = False,
    **look: Any,
) -> LinePanels:
    """Draws the mean of `y` over `x` as a line a variant in the facets of factors, with a legend of those in crowds.

    `data` has a row an observation: variant and the columns `x` and `y`. `limits` are properties of all axes, such as
    `yscale` and `ylim`; a `band` reaches from the least to the largest value; `look` is that of the lines.
    """
    across = min(3 if figure_width() > 6 else 2, len(facets.members))
    rows_of_facets = -(-len(facets.members) // across)
    height = FACET_HEIGHT * (1.5 if across == 1 else 1.0)
    legend = facets.legend
    styles = facets.styles
    figure = new_figure(rows_of_facets * height + legend_height(legend) * LEGEND_ROW + 0.4)
    panels = new_panels(figure, list(facets.members), across, sharey=True)
    draw_legend(figure, styles, legend)
    lines = mean_lines(data, x, y)
    ends: dict[str, dict[str, float]] = {}
    for title, ax in panels.items():
        ax.set(**limits)
        if len(panels) > 1:
            ax.set_title(title)
        shown = {variant: styles[variant] for variant in _with_baseline(facets.members[title])}
        ends[title] = draw_lines(ax, lines, shown, x, band=band, **look)
    return LinePanels(figure, panels, ends, across, height - PANEL_EDGES)


def draw_lines(
    ax: Axes,
    lines: Mapping[str, pd.DataFrame],
    styles: Mapping[str, LineStyle],
    x: str,
    *,
    band: bool = False,
    **look: Any,
) -> dict[str, float]:
    """Draws the lines of the variants of `styles` that have one; returns variant → y at its end.

    lines: as `mean_lines` returns them. A `band` and `look`: as `line_facets` takes them.
    """
    ends = {}
    for variant, style in styles.items():
        if variant not in lines:
            continue
        line = lines[variant]
        ax.plot(line[x], line["mean"], color=style.colour, ls=style.dashes, **look)
        if band:
            ax.fill_between(line[x], line["min"], line["max"], color=style.colour, alpha=0.2, lw=0)
        ends[variant] = float(line["mean"].iloc[-1])
    return ends


def mean_lines(data: pd.DataFrame, x: str, y: str) -> dict[str, pd.DataFrame]:
    """Returns variant → its mean, min and max of `y` by rising `x`, without those that have no value."""
    values = data[["variant", x, y]].astype({y: float}).dropna(subset=[y])
    means = values.groupby(["variant", x], as_index=False)[y].agg(["mean", "min", "max"])
    return dict(iter(means.groupby("variant")))


def new_panels(figure: Figure, titles: Sequence[str], across: int, *, sharey: bool) -> dict[str, Axes]:
    """Returns a panel for each of the titles, so many in a row; their one x axis has its ticks below each column."""
    down = -(-len(titles) // across)
    grid = figure.subplots(down, across, sharex=True, sharey=sharey, squeeze=False)
    panels = grid.ravel().tolist()
    for ax in panels[len(titles) :]:
        ax.remove()
    for ax in panels[len(titles) - across : len(titles)]:
        ax.tick_params(axis="x", labelbottom=True)
    return dict(zip(titles, panels, strict=False))


def name_lines(lines: LinePanels, facets: Facets, metric: Metric | None = None) -> None:
    """Writes the names of lines at their ends in panels of few; with a `metric`, draws guessing and solved too.

    Their names stand beside the last panel of each row as well. All else is drawn, and the limits are final.
    """
    names = _with_baseline(facets.variants)
    styles = facets.styles
    for i, (title, ax) in enumerate(lines.panels.items()):
        references = {} if metric is None else reference_lines(ax, metric)
        ends = []
        if title in facets.named_at_ends:
            for variant, y in lines.ends[title].items():
                ends.append(LineEnd(y, names[variant], styles[variant].colour))
        is_last = (i + 1) % lines.across == 0 or i + 1 == len(lines.panels)
        if ends or is_last:
            ends += [LineEnd(y, name, colour("soft")) for name, y in references.items()]
        write_names_at_ends(ax, ends, lines.height)


def legend_height(names: Mapping[str, str]) -> int:
    """Returns the number of lines of a legend of such names."""
    return -(-len(names) // _legend_columns(names)) if names else 0


def _legend_columns(names: Mapping[str, str]) -> int:
    """Returns the number of names beside one another in a legend."""
    longest = min(MAX_NAME, max(len(name) for name in names.values()))
    return max(1, min(4, len(names), int(17 * figure_width() / (longest + 6))))


def draw_legend(figure: Figure, styles: Mapping[str, LineStyle], names: Mapping[str, str]) -> None:
    """Draws one legend above a figure, of the variants in `names` by their names; none without a name."""
    from matplotlib.lines import Line2D

    if not names:
        return
    handles = []
    for variant, name in names.items():
        style = styles[variant]
        label = in_lines(name, MAX_NAME, 1)
        handles.append(Line2D([], [], color=style.colour, ls=style.dashes, label=label))
    figure.legend(handles=handles, loc="outside upper left", ncols=_legend_columns(names))
