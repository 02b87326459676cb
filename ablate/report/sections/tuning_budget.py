"""The best setting of each variant against the number of settings tried: how much of its budget it needed."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report import searches
from ablate.report.entries import Entry, panels
from ablate.report.palette import DASHES, LEVELS, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.sections.tuning_given import MAX_NAMES, budgets
from ablate.report.tables import rows_of, wrapped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPECTED = (
    "The {} that the best of n random settings is expected to have (Tang et al. 2020, without bias). Band: one "
    "standard deviation of the best of n from one search to the next (Dodge et al. 2019), within the values found. A "
    "setting that found nothing counts as the worst. A line that still rises at the end says that the budget was small "
    "for that variant."
)
SO_FAR = (
    "The best {} among the first n settings, in the order in which they were tried: what this search found, not what "
    "another would be expected to find. A line that still rises at the end says that the budget may have been small "
    "for that variant."
)


class TuningBudget(Section):
    """A figure for each task whose variants were tuned."""

    place = 420
    title = "Best against budget"

    def blocks(self, material: Material) -> list[Block]:
        from ablate.analysis.tuning import budget_curves, independent

        searched, facts = searches.tuned(material), material.facts
        if searched is None:
            return []
        found: list[Block] = []
        label = searches.named(searched.facts.objectives[0])
        caption = (EXPECTED if independent(searched) else SO_FAR).format(label)
        curves = budget_curves(searched, facts)
        for task, end, of in by_task(facts):
            data = curves[curves["task"] == task.name]
            if data.empty:
                continue
            variants = set(data["variant"])
            alt = f"The best {label} against the number of settings tried{of}, of {len(variants)} variants."
            # A level keeps the colour that it has in the learning curves.
            shown = {
                title: rows for title, rows in panels(facts).items() if {e.variant for e in rows} & variants
            }
            known = task.metrics.get(searched.facts.objectives[0].name)
            draw = functools.partial(figure, data, shown or {BASELINE: []}, label, known)
            found.append(Picture(f"budget{end}", f"{self.title}{of}", caption, alt, data, draw))
        return found

    def findings(self, material: Material) -> list[str]:
        if searches.tuned(material) is None:
            return []
        from ablate.analysis.tuning import LAST

        spent = budgets(material)
        rows = spent[spent["rising"].astype(bool)]
        words = [
            f"{name} (+{wording.number(row['gain'], wording.decimals(row['gain']))} over the last "
            f"{math.ceil(row['settings'] * LAST)} of {row['settings']} settings)"
            for name, row in zip(searches.places(rows, spent), rows_of(rows), strict=True)
        ]
        small = "The budget may be too small, the best was still rising by more than the margin when it ended"
        return [f"{small}: {listed(words, MAX_NAMES)}."] if words else []


def figure(
    data: pd.DataFrame, shown: dict[str, list[Entry]], label: str, known: Metric | None = None
) -> Figure:
    """In each panel the baseline and the levels of one factor. `data` is `analysis.tuning.budget_curves` of one task."""
    from matplotlib.ticker import MaxNLocator

    from ablate.report.draw import marks, style

    across = min(2, len(shown))
    down = -(-len(shown) // across)
    fig = style.new_figure(0.4 + 2.0 * down)
    axes = fig.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, (title, entries) in zip(axes, shown.items(), strict=False):
        _lines(ax, data, entries)
        ax.set_title("\n".join(wrapped(title, 30)))
        ax.set_ylim(marks.padded(data[["best", "low"]].min(axis=None), data[["best", "high"]].max(axis=None)))
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if known:
            marks.references(ax, known, "y")
        ax.legend(loc="best", handlelength=2.5)
    for ax in axes[len(shown) :]:
        ax.remove()
    fig.supxlabel("settings tried", size=style.TEXT_SIZE)
    fig.supylabel(label, size=style.TEXT_SIZE)
    return fig


def _lines(ax: Axes, data: pd.DataFrame, entries: list[Entry]) -> None:
    """The curves of a panel, with a step where the best of the first n is drawn rather than an expected best."""
    looks = [(BASELINE, BASELINE, "ink", "")]
    looks += [
        (e.variant, e.label, shade, dash) for e, shade, dash in zip(entries, LEVELS, DASHES, strict=False)
    ]
    # Many bands over one another would hide the lines.
    alpha = 0.12 if len(looks) <= 4 else 0.05
    for variant, label, shade, dashes in looks:
        mine = data[data["variant"] == variant]
        if mine.empty:
            continue
        expected = mine["low"].notna().all()
        look: dict[str, Any] = {"color": colour(shade), "label": "\n".join(wrapped(label, 24))}
        look |= {
            "drawstyle": "default" if expected else "steps-post",
            "marker": "o" if len(mine) == 1 else "",
        }
        ax.plot(mine["n"], mine["best"], linestyle=(0, dashes) if dashes else "-", **look)
        if expected:
            ax.fill_between(
                mine["n"], mine["low"], mine["high"], color=colour(shade), alpha=alpha, linewidth=0
            )
