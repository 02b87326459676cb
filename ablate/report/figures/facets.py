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
from ablate.report.figures.scales import reference_lines
from ablate.report.figures.theme import LEVELS, colour, figure_width
from ablate.report.words import in_lines, message

if TYPE_CHECKING:
    import seaborn
    from matplotlib.figure import Figure

# Dashes of variants, as seaborn takes them, none for a solid line: colour is never the only difference.
DASHES: tuple[Any, ...] = ("", (5, 1.4), (1.6, 1.2), (6, 1.4, 1.4, 1.4))
MAX_LINES = len(LEVELS) * len(DASHES)  # Variants that differ by colour or dashes.
MAX_FACETS = 12  # Facets of one figure: nobody looks through more.
FACET_HEIGHT = 1.3  # Inches of a facet with its title.
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
    def legend(self) -> dict[str, str]:
        """The variants of the legend by what it calls them; where titles name them, one stands for all."""
        if self.is_named:
            return {BASELINE: BASELINE, self.variants[0].variant: message("figures.named_above")}
        return {BASELINE: BASELINE, **{entry.variant: entry.label for entry in self.variants}}

    def left_out(self, facts: StudyFacts) -> str:
        """Returns what a caption says of variants for which there is no room; nothing where all are shown."""
        count = len(facts.variants) - 1 - len(facts.placebos)
        shown = len(self.variants)
        return message("figures.first_variants", shown, count) if shown < count else ""

    def spread(self, data: pd.DataFrame) -> pd.DataFrame:
        """Returns the rows of each facet with its title in the column `facet`: the baseline's stand in every one."""
        parts = [
            data[data["variant"].isin([BASELINE, *(entry.variant for entry in members)])].assign(facet=title)
            for title, members in self.members.items()
        ]
        return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class LineStyle:
    """The look of a variant's lines: a colour, and dashes as seaborn takes them."""

    colour: str
    dashes: Any

    @property
    def pattern(self) -> Any:
        """The dashes as matplotlib takes them."""
        return (0, self.dashes) if self.dashes else "-"


def line_styles(variants: Sequence[str]) -> dict[str, LineStyle]:
    """Returns the look of the baseline, in solid ink, and of the variants; no two are alike."""
    styles = {BASELINE: LineStyle(colour("ink"), "")}
    for i, variant in enumerate(variants):
        # Their numbers have no common divisor: each colour meets each of the dashes.
        styles[variant] = LineStyle(colour(LEVELS[i % len(LEVELS)]), DASHES[i % len(DASHES)])
    return styles


def line_facets(
    data: pd.DataFrame, facets: Facets, x: str, y: str, *, limits: Mapping[str, Any], **options: Any
) -> seaborn.FacetGrid:
    """Draws a line a variant in the facets of factors, with one legend above them; returns seaborn's grid.

    `data` has a row an observation: variant and the columns `x` and `y`. `limits` are properties of all axes, such as
    `yscale` and `ylim`; `options` go to `seaborn.relplot`.
    """
    import seaborn

    order = [BASELINE, *(entry.variant for entry in facets.variants)]
    styles = facets.styles
    across = min(3 if figure_width() > 6 else 2, len(facets.members))
    rows = facets.spread(data)
    grid = new_grid(rows, "facet", list(facets.members), across)
    if rows[y].notna().any():  # Seaborn has no lines of nothing.
        grid.map_dataframe(
            seaborn.lineplot,
            x=x,
            y=y,
            hue="variant",
            style="variant",
            hue_order=order,
            style_order=order,
            palette={variant: style.colour for variant, style in styles.items()},
            dashes={variant: style.dashes for variant, style in styles.items()},
            legend=False,
            **options,
        )
    legend_rows = draw_legend(grid.figure, styles, facets.legend)
    lines = -(-len(facets.members) // across)
    tall = FACET_HEIGHT * (1.5 if across == 1 else 1.0)
    grid.set_titles("{col_name}" if len(facets.members) > 1 else "")
    grid.set(**limits)
    grid.set_axis_labels("", "")
    grid.figure.set_size_inches(figure_width(), lines * tall + legend_rows * LEGEND_ROW + 0.4)
    grid.figure.set_layout_engine("constrained")
    return grid


def new_grid(
    data: pd.DataFrame, column: str, titles: Sequence[str], across: int, **options: Any
) -> seaborn.FacetGrid:
    """Returns seaborn's grid of a facet for each of the `titles`, the values of a column, so many in a row.

    The figure is laid out once, when it is saved: seaborn would measure all words of it after every step.
    """
    import seaborn

    class Grid(seaborn.FacetGrid):
        def tight_layout(self, *arguments: Any, **settings: Any) -> Grid:
            return self

    return Grid(data, col=column, col_order=titles, col_wrap=across, **options)


def draw_references(grid: seaborn.FacetGrid, metric: Metric) -> None:
    """Draws the lines of guessing and solved in all facets, with their names beside the last of each row."""
    across = grid.axes.flat[0].get_subplotspec().get_gridspec().ncols
    for i, ax in enumerate(grid.axes.flat):
        is_last = (i + 1) % across == 0 or i + 1 == grid.axes.size
        reference_lines(ax, metric, named=is_last)


def draw_legend(figure: Figure, styles: Mapping[str, LineStyle], names: Mapping[str, str]) -> int:
    """Draws one legend above a figure, of the variants in `names` by their names; returns the number of its lines.

    Seaborn's own, which would be moved here, has the whole figure drawn twice.
    """
    from matplotlib.lines import Line2D

    handles = []
    for variant, name in names.items():
        style = styles[variant]
        label = in_lines(name, MAX_NAME, 1)
        handles.append(Line2D([], [], color=style.colour, ls=style.pattern, label=label))
    longest = min(MAX_NAME, max(len(name) for name in names.values()))
    columns = max(1, min(4, len(names), int(17 * figure_width() / (longest + 6))))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns)
    return -(-len(names) // columns)
