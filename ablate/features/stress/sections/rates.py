"""The loss of every variant at each learning rate, and its sensitivity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from ablate.base.wording import brief, share
from ablate.core.facts import BASELINE, Facts
from ablate.features.stress.sensitivity import rate_curves
from ablate.report.draw import marks, style
from ablate.report.draw.marks import padded
from ablate.report.draw.panels import Entry, Look, left_out, lines, multiples, panels
from ablate.report.draw.style import named, tell
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.sections.stability import side_words
from ablate.report.tables import rows_of
from ablate.report.verdicts import names_of
from ablate.report.words import say

SENSITIVITY = "lr_sensitivity"
MAX_TICKS = 6
"""Learning rates that are written at an axis."""


class Rates(Section):
    """Two figures a task."""

    place = 272
    title = "Learning rates"
    inside = "the loss of each variant over the grid of learning rates"

    def applies(self, material: Material) -> bool:
        return "stress" in material.facts.features

    def blocks(self, material: Material) -> Iterator[Block]:
        for task, end, of in by_task(material.facts):
            yield from _pictures(material, task.name, end, of)


def _pictures(material: Material, task: str, end: str, of: str) -> Iterator[Picture]:
    facts = material.facts
    path = next(iter(facts.features.get("stress", {})), "")
    name = path.rpartition(".")[2]
    data = rate_curves(material.evidence).rename(columns={"value": name})
    data = data[data["task"] == task]
    if data.empty:
        return
    shown = panels(facts, material.comparisons)
    caption = say("figures.rates", path, bool(data["diverged"].any()), left_out(facts, shown))
    title, alt = f"Loss by learning rate{of}", say("figures.rates_alt", of, len(shown))
    yield Picture(f"learning-rates{end}", title, caption, alt, data, curves, (shown, name))
    found = sensitivity(facts, material.table("stability"), task)
    if found["value"].notna().any():
        title, alt = f"Learning-rate sensitivity{of}", say("figures.sensitivity_alt", len(found), of)
        yield Picture(f"sensitivity{end}", title, say("figures.sensitivity"), alt, found, sensitivities)


def sensitivity(facts: Facts, stability: pd.DataFrame, task: str) -> pd.DataFrame:
    """One row a variant, the baseline first: variant, label, verdict (its mark), value, low, high, told."""
    names = names_of(facts)
    rows: list[dict[str, Any]] = []
    for row in rows_of(stability[(stability["task"] == task) & (stability["metric"] == SENSITIVITY)]):
        # One of which no seed has its whole grid yet has no place on an axis.
        for side in ("baseline", "variant")[bool(rows) :] if row["n"] else ():
            mark = BASELINE if side == "baseline" else EXPLORATORY
            at = {"value": row[f"mean_{side}"], "low": row[f"low_{side}"], "high": row[f"high_{side}"]}
            rows.append(
                {"variant": row[side], "label": names[row[side]], "verdict": mark}
                | {**at, "told": side_words(row, side)}
            )
    return pd.DataFrame(rows, columns=["variant", "label", "verdict", "value", "low", "high", "told"])


def curves(data: pd.DataFrame, shown: Mapping[str, Sequence[Entry]], rate: str) -> Figure:
    """In each panel the baseline and the levels of one factor; `data` is of `rate_curves`, with `rate` for `value`."""
    grid = sorted(set(data[rate]))

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        ax.set_xscale("log")
        lines(ax, data, of, rate, "loss", marker="o", ms=2.5)
        for row in data[(data["diverged"] > 0) & data["variant"].isin(of)].to_dict("records"):
            look, lost = of[row["variant"]], share(row["diverged"], row["n"])
            place = row[rate], row["loss"]
            ax.plot(*place, "X", ms=5.5, color=look.colour, mec="white", mew=0.4, zorder=4)
            words: dict[str, Any] = {"ha": "center", "size": style.SMALL - 1, "color": look.colour}
            ax.annotate(lost, place, (0, 5), textcoords="offset points", **words)
            tell(ax, [place[0]], [place[1]], [f"{named(look.label, row['variant'])}\n{lost} runs diverged"])
        ax.xaxis.set_major_formatter(lambda value, _: brief(value))
        ax.xaxis.set_major_locator(FixedLocator(grid[:: -(-len(grid) // MAX_TICKS)]))
        ax.xaxis.set_minor_locator(NullLocator())

    return multiples(shown, set(data["variant"]), draw, f"{rate}, log scale", "held-out loss")


def sensitivities(data: pd.DataFrame) -> Figure:
    """A row a variant with its interval; `data` is of `sensitivity`."""
    ends = data[["value", "low", "high"]].to_numpy(float)
    limits = padded(min(0.0, float(np.nanmin(ends))), float(np.nanmax(ends)))
    return marks.forest(data, [limits], "learning-rate sensitivity, left is less sensitive")[0]
