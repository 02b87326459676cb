"""The best setting against the budget: how much of it each variant needed."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.tuning import EXPECTED, Tuning
from ablate.core.facts import BASELINE, Facts
from ablate.core.metric import Metric
from ablate.report import figure_data, layout, style
from ablate.report.drawings import Drawing, slug
from ablate.report.figure_data import Entry
from ablate.report.figures import STACKED, curve_references
from ablate.report.style import colour

Panels = dict[str, list[Entry]]


def drawings(tuning: Tuning | None, facts: Facts) -> list[Drawing]:
    """One a task whose variants were tuned, in the order of the study."""
    if tuning is None:
        return []
    several = len(facts.tasks) > 1
    result = []
    for i, task in enumerate(facts.tasks):
        data = tuning.curves[tuning.curves["task"] == task.name]
        if data.empty:
            continue
        target = tuning.search.objectives[0]
        known = task.metrics.get(target.name)
        label = f"{target.source} {target.name}" if target.source == "validation" else target.name
        of = f" on {task.name}" if several else ""
        end = f"-{i + 1}-{slug(task.name)}" if several else ""
        alt = f"The best {label} against the number of settings tried{of}, of {data['variant'].nunique()} variants."
        draw = functools.partial(figure, data, panels(data, facts), label.replace("_", " "), known)
        caption = _caption(label.replace("_", " "), bool((data["kind"] == EXPECTED).all()))
        result.append(Drawing(f"budget{end}", f"Best against budget{of}", caption, alt, draw))
    return result


def _caption(label: str, expected: bool) -> str:
    if expected:
        return (
            f"The {label} that the best of n random settings is expected to have (Tang et al. 2020, without bias). "
            "Band: one standard deviation of the best of n from one search to the next (Dodge et al. 2019), within "
            "the values found. A setting that found nothing counts as the worst. A line that still rises at the end "
            "says that the budget was small for that variant."
        )
    return (
        f"The best {label} among the first n settings, in the order in which they were tried: what this search found, "
        "not what another would be expected to find. A line that still rises at the end says that the budget may have "
        "been small for that variant."
    )


def panels(data: pd.DataFrame, facts: Facts) -> Panels:
    """The panels of the learning curves, without the variants that were not tuned."""
    tuned = set(data["variant"])
    # A level keeps its place, and with it the colour that it has in the learning curves.
    found = {
        title: entries
        for title, entries in figure_data.panels(facts).items()
        if any(entry.variant in tuned for entry in entries)
    }
    return found or {BASELINE: []}


def figure(
    data: pd.DataFrame,
    shown: Panels,
    label: str,
    known: Metric | None = None,
    width: float = style.WIDE,
) -> Figure:
    """In each panel the baseline and the levels of one factor.

    `data` is `analysis.tuning.budget_curves` of one task; `label` names what was tuned for.
    """
    alone = len(shown) == 1
    across = 1 if width < STACKED or alone else 2
    down = -(-len(shown) // across)
    height = 2.1 if alone and width >= STACKED else 1.6
    head, foot, right, left = 0.3, 0.3, 1.2, 0.55
    fig = layout.figure(width, down * (height + head + foot) + 0.12)
    share = width / across
    limits = _limits(data)
    curves_of = {str(name): rows for name, rows in data.groupby("variant", sort=False)}
    for i, (title, entries) in enumerate(shown.items()):
        column, line = i % across, i // across
        bottom = 0.12 + (down - 1 - line) * (height + head + foot) + foot
        ax = layout.axes(fig, left + column * share, bottom, share - left - right, height)
        ax.set_ylim(limits)
        most = int(data["n"].max())
        ax.set_xlim(min(1, most - 1), most)
        ax.xaxis.set_major_locator(MaxNLocator(6 if alone else 4, integer=True))
        if known:
            curve_references(ax, known, limits)
        ends = _lines(ax, curves_of, entries)
        layout.label_ends(fig, ax, ends, bottom, height, (column + 1) * share - right)
        heading = layout.fitted(title, layout.characters(share - left), 1)[0]
        ax.set_title(heading, loc="left", weight="bold", y=1.0, pad=6)
        if column == 0:
            layout.write_upright(fig, 0.1, bottom + height / 2, label)
        if i >= len(shown) - across:
            centre = left + column * share + (share - left - right) / 2
            layout.write(fig, centre, bottom - 0.29, "settings tried", ha="center")
    return fig


def _limits(data: pd.DataFrame) -> layout.Limits:
    low, high = data["low"].fillna(data["best"]), data["high"].fillna(data["best"])
    return layout.padded(float(low.min()), float(high.max()))


def _lines(
    ax: Axes, curves_of: Mapping[str, pd.DataFrame], entries: Sequence[Entry]
) -> list[tuple[float, str, str]]:
    """Draws the curves of a panel; the ends that are to be named."""
    looks: list[tuple[str, str, str, Any, float]] = [(BASELINE, BASELINE, "ink", "-", 1.6)]
    for i, entry in enumerate(entries):
        looks.append((entry.variant, entry.label, style.LEVELS[i], style.DASHES[i], 1.3))
    # Many bands over one another would hide the lines.
    alpha = 0.12 if len(looks) <= 4 else 0.05
    ends = []
    for z, (variant, label, name, dashes, thickness) in enumerate(looks):
        if variant not in curves_of:
            continue
        mine = curves_of[variant].sort_values("n")
        n, best, low, high = (mine[column].to_numpy(float) for column in ("n", "best", "low", "high"))
        style_of: dict[str, Any] = {"color": colour(name), "ls": dashes, "lw": thickness, "zorder": 10 + z}
        style_of["marker"] = "o" if len(n) == 1 else ""
        if np.isnan(low).all():
            ax.plot(n, best, drawstyle="steps-post", **style_of)
        else:
            ax.fill_between(n, low, high, color=colour(name), alpha=alpha, lw=0, zorder=2)
            ax.plot(n, best, **style_of)
        ends.append((float(best[-1]), label, name))
    return ends
