"""How steadily each variant trains: divergence, learning-rate sensitivity, spread of seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from ablate.analysis.stress import rate_curves
from ablate.base.wording import brief, counted, share
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.report.draw import rows as in_rows
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import padded, verdict_handles, verdicts
from ablate.report.draw.panels import axes, beside, legend, lines, looks
from ablate.report.entries import Entry, left_out, panels
from ablate.report.palette import EXPLORATORY, colour
from ablate.report.section import Block, Folded, Material, Picture, Section, Terms, Text, by_task
from ablate.report.steadiness import chance, finding, notable, stability_table
from ablate.report.tables import (
    decimals,
    fixed,
    interval,
    number,
    rows_of,
)

TERMS = {
    "divergence_rate": (
        "share of runs whose loss left the numbers or ended a tenth above that of guessing; of runs lost to memory or "
        "time too; intervals of Clopper and Pearson, p of the exact test of two rates"
    ),
    "lr_sensitivity": (
        "how much loss a wrong learning rate costs: mean over the grid of the loss, at most that at initialisation, "
        "above the best of the grid (Wortsman et al. 2023)"
    ),
    "seed_spread": (
        "standard deviation of the primary metric over seeds; compared from 20 seeds on by the test of Pitman and "
        "Morgan, which holds for normal values"
    ),
}
"""What the metrics mean."""
MAX_TICKS = 6
"""Learning rates that are written at an axis."""


class Stability(Section):
    """What is decided, and where runs diverged; the rest is folded. With `stress:`, two figures a task."""

    place = 270
    title = "Stability"
    open = True

    def applies(self, material: Material) -> bool:
        return material.stability is not None and bool((material.stability["n"] > 0).any())

    def findings(self, material: Material) -> list[str]:
        said = finding(rows_of(material.stability), short_names(material.facts))
        return [said] if said else []

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, rows = material.facts, rows_of(material.stability)
        names = short_names(facts)
        some = notable(rows)
        caption = f"Each variant against the {BASELINE}; exploratory: {chance(rows)}"
        if some:
            yield stability_table(some, caption, names)
        else:
            yield Text(f"No run diverged, and no stability metric differs ({chance(rows)}).")
        for task, end, of in by_task(facts):
            yield from _pictures(material, task.name, end, of)
        terms = Terms([(metric, TERMS[metric]) for metric in TERMS if metric in {r["metric"] for r in rows}])
        if len(some) < len(rows):
            every: list[Block] = [stability_table(rows, caption, names), terms]
            yield Folded(f"Everything that was compared ({len(rows)})", every)
        else:
            yield Folded("What the metrics mean", [terms])


def _pictures(material: Material, task: str, end: str, of: str) -> Iterator[Picture]:
    facts = material.facts
    path = next(iter(facts.features.get("stress", {})), "")
    name = path.rpartition(".")[2]
    data = rate_curves(material.evidence).rename(columns={"value": name})
    data = data[data["task"] == task]
    if data.empty:
        return
    shown = panels(facts, material.comparisons)
    crosses = (
        " A cross: some runs diverged there, as many as it says, and count with the loss at initialisation."
        if data["diverged"].any()
        else ""
    )
    caption = (
        f"Held-out loss at the end by {path}, with the 95 % interval of the mean over seeds; flat is steady."
        f"{crosses}{left_out(facts, shown)}"
    )
    alt = f"Held-out loss by learning rate{of}, the {BASELINE} and the levels of {counted(len(shown), 'factor')}."
    yield Picture(
        f"learning-rates{end}", f"Loss by learning rate{of}", caption, alt, data, curves, (shown, name)
    )
    found = sensitivity(facts, material.stability, task)
    if found["mean"].notna().any():
        caption = (
            "Learning-rate sensitivity with the 95 % interval of its mean over seeds: how much loss a wrong rate of "
            "the grid costs. Left is steadier; exploratory."
        )
        alt = f"Learning-rate sensitivity of {len(found)} variants{of}."
        title = f"Learning-rate sensitivity{of}"
        yield Picture(f"sensitivity{end}", title, caption, alt, found, sensitivities)


def sensitivity(facts: Facts, stability: pd.DataFrame | None, task: str) -> pd.DataFrame:
    """One row a variant, the baseline first: variant, label, verdict (`baseline` or `exploratory`), mean, low, high."""
    assert stability is not None
    mine = stability[(stability["task"] == task) & (stability["metric"] == "lr_sensitivity")]
    mine = mine[mine["n"] > 0]  # one of which no seed has its whole grid yet has no place on an axis
    columns = {f"{of}_{{}}": of for of in ("mean", "low", "high")}
    sides = [
        ("baseline", mine.head(1).assign(label=BASELINE, verdict=BASELINE)),
        ("variant", mine.assign(label=mine["variant"].map(short_names(facts)), verdict=EXPLORATORY)),
    ]
    frames = [
        rows.assign(variant=rows[side])[
            ["variant", "label", "verdict", *(c.format(side) for c in columns)]
        ].rename(columns={c.format(side): of for c, of in columns.items()})
        for side, rows in sides
    ]
    return pd.concat(frames, ignore_index=True)


def curves(data: pd.DataFrame, shown: Mapping[str, Sequence[Entry]], rate: str) -> Figure:
    """In each panel the baseline and the levels of one factor; `data` is of `rate_curves`, with `rate` for `value`."""
    result, found = axes(shown)
    grid = sorted(set(data[rate]))
    for title, ax in found.items():
        of = looks(shown[title])
        ax.set_xscale("log")
        lines(ax, data, of, rate, "loss", marker="o", ms=2.5)
        for row in data[(data["diverged"] > 0) & data["variant"].isin(of)].to_dict("records"):
            look, lost = of[row["variant"]], share(row["diverged"], row["n"])
            ax.plot(row[rate], row["loss"], "X", ms=5.5, color=look.colour, mec="white", mew=0.4, zorder=4)
            ax.annotate(
                lost,
                (row[rate], row["loss"]),
                (0, 5),
                textcoords="offset points",
                ha="center",
                size=style.SMALL - 1,
                color=look.colour,
            )
            tell(
                ax, [row[rate]], [row["loss"]], [f"{named(look.label, row['variant'])}\n{lost} runs diverged"]
            )
        ax.xaxis.set_major_formatter(lambda value, _: brief(value))
        ax.xaxis.set_major_locator(FixedLocator(grid[:: -(-len(grid) // MAX_TICKS)]))
        ax.xaxis.set_minor_locator(NullLocator())
        legend(ax, [look for variant, look in of.items() if variant in set(data["variant"])], beside(found))
    result.supxlabel(f"{rate}, log scale", size=style.SMALL)
    result.supylabel("held-out loss", size=style.SMALL)
    return result


def sensitivities(data: pd.DataFrame) -> Figure:
    """A row a variant with its interval; `data` is of `sensitivity`."""
    heights, labels = in_rows.placed(data)
    data = data.assign(y=data["variant"].map(heights))
    ends = data[["mean", "low", "high"]].to_numpy(float)
    limits = padded(min(0.0, float(np.nanmin(ends))), float(np.nanmax(ends)))
    result, (ax,) = in_rows.axes(labels, [limits], "learning-rate sensitivity, left is steadier", pitch=0.24)
    verdicts(ax, data, "mean", "y", "x", ("low", "high", 1.6))
    told = [_told(*row) for row in data[["mean", "low", "high"]].itertuples(index=False)]
    names = map(named, data["label"], data["variant"])
    tell(ax, data["mean"], data["y"], [f"{name}\n{words}" for name, words in zip(names, told, strict=True)])
    if style.width() >= style.WIDTH:
        in_rows.write_right(ax, dict(zip(data["y"], told, strict=True)), colour("ink"))
    result.legend(handles=verdict_handles(data["verdict"]), loc="outside upper left", ncols=4)
    return result


def _told(mean: float, low: float, high: float) -> str:
    places = decimals(low, high)
    return fixed(mean, places) + ("" if number(low) is None else f" {interval(low, high, places)}")
