"""How steadily each variant trains: divergence, learning-rate sensitivity, spread of seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from ablate.analysis.stress import rate_curves
from ablate.base import wording
from ablate.base.wording import brief, share
from ablate.core.facts import BASELINE, Facts
from ablate.report.draw import rows as in_rows
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import padded
from ablate.report.draw.panels import Look, lines, multiples
from ablate.report.entries import Entry, left_out, panels
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Folded, Material, Picture, Section, Terms, Text, by_task
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals,
    difference,
    fixed,
    interval,
    number,
    rows_of,
    tabulated,
    text,
)
from ablate.report.verdicts import Names, names_of, reason
from ablate.report.words import codes, say

RATE, SENSITIVITY = "divergence_rate", "lr_sensitivity"
MAX_TICKS = 6
"""Learning rates that are written at an axis."""


class Stability(Section):
    """What differs, and where runs diverged; the rest is folded. With `stress:`, two figures a task."""

    place = 270
    title = "Stability"
    inside = "divergence, learning-rate sensitivity and the spread over seeds"

    def applies(self, material: Material) -> bool:
        return material.stability is not None and bool((material.stability["n"] > 0).any())

    def findings(self, material: Material) -> list[str]:
        found = lost(rows_of(material.stability), names_of(material.facts))
        return [say("stability.diverged", found)] if found else []

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, rows = material.facts, rows_of(material.stability)
        names, some = names_of(facts), [row for row in rows if notable(row)]
        yield stability_table(some, rows, names) if some else Text(say("stability.nothing"))
        for task, end, of in by_task(facts):
            yield from _pictures(material, task.name, end, of)
        known = codes("stability") & {row["metric"] for row in rows}
        terms = Terms([(metric, say(f"stability.{metric}")) for metric in sorted(known)])
        if len(some) < len(rows):
            yield Folded(say("stability.every", len(rows)), [stability_table(rows, rows, names), terms])
        else:
            yield Folded(say("stability.meaning"), [terms])


def notable(row: Row) -> bool:
    """Whether its interval excludes 0, or a run diverged."""
    low, high = number(row["ci_low"]), number(row["ci_high"])
    if row["metric"] == RATE:
        return bool(number(row["mean_variant"]) or number(row["mean_baseline"]))
    return low is not None and high is not None and (low > 0 or high < 0)


def lost(rows: Sequence[Row], names: Names) -> list[str]:
    """`2 of 5 with post norm`, for each variant and task of which some run diverged, on the most seeds of any pair."""
    several = len({row["task"] for row in rows}) > 1
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for row in (row for row in rows if row["metric"] == RATE):
        n, task = int(number(row["n"]) or 0), text(row["task"])
        for side in ("variant", "baseline"):
            count = round((number(row[f"mean_{side}"]) or 0.0) * n)
            if count and n > found.get((row[side], task), (0, ""))[0]:
                said = say(
                    "stability.lost", count, n, names.get(row[side], row[side]), task if several else ""
                )
                found[row[side], task] = n, said
    return [said for _, said in found.values()]


def stability_table(rows: Sequence[Row], every: Sequence[Row], names: Names) -> Table:
    """Rows of `analysis.stability`; its caption says how many of `every` would exclude 0 by chance."""
    columns = [
        Column("variant", "Variant", show=lambda row: text(names.get(row["variant"], row["variant"]))),
        Column("task", "Task", varying=True),
        Column("metric", "Metric"),
        Column("mean_variant", "Variant [95 %]", True, show=lambda row: _side(row, "variant")),
        Column("mean_baseline", "Baseline [95 %]", True, show=lambda row: _side(row, "baseline")),
        Column("difference", "Difference [95 %]", True, show=_difference),
        Column("reason", "Reason", below=True, show=lambda row: reason(row, names)),
    ]
    tested = sum(number(row["p"]) is not None for row in every)
    caption = say("stability.caption", tested, wording.exact(round(0.05 * tested, 1)))
    return tabulated(columns, rows, caption, "stability.csv", title="variant")


def _difference(row: Row) -> str:
    return difference(row["diff"], row["ci_low"], row["ci_high"]) if row["kind"] != "rate" else NOTHING


def _side(row: Row, side: str) -> str:
    """`2 of 5 [.05, .85]` of a rate, `.12 [.10, .14]` of anything else."""
    low, high, mean = (number(row[f"{of}_{side}"]) for of in ("low", "high", "mean"))
    if mean is None:
        return NOTHING
    places, n = 2 if row["kind"] == "rate" else decimals(low, high), int(number(row["n"]) or 0)
    shown = say("stability.rate", round(mean * n), n) if row["kind"] == "rate" else fixed(mean, places)
    return shown if low is None or low == high else f"{shown} {interval(low, high, places)}"


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
    found = sensitivity(facts, material.stability, task)
    if found["value"].notna().any():
        title, alt = f"Learning-rate sensitivity{of}", say("figures.sensitivity_alt", len(found), of)
        yield Picture(f"sensitivity{end}", title, say("figures.sensitivity"), alt, found, sensitivities)


def sensitivity(facts: Facts, stability: pd.DataFrame | None, task: str) -> pd.DataFrame:
    """One row a variant, the baseline first: variant, label, verdict (its mark), value, low, high, told."""
    assert stability is not None
    names = names_of(facts)
    rows: list[dict[str, Any]] = []
    for row in rows_of(stability[(stability["task"] == task) & (stability["metric"] == SENSITIVITY)]):
        # One of which no seed has its whole grid yet has no place on an axis.
        for side in ("variant",) if rows else ("baseline", "variant"):
            if row["n"]:
                numbers = {
                    "value": row[f"mean_{side}"],
                    "low": row[f"low_{side}"],
                    "high": row[f"high_{side}"],
                }
                mark = BASELINE if side == "baseline" else EXPLORATORY
                named = {"variant": row[side], "label": names[row[side]], "verdict": mark}
                rows.append(named | numbers | {"told": _side(row, side)})
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
    return in_rows.forest(data, [limits], "learning-rate sensitivity, left is less sensitive")[0]
