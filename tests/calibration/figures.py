"""The figures of the report, drawn from the table of checks and the frames that parts keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ablate.report.draw import style
from ablate.report.draw.marks import verdict_handles, verdicts
from ablate.report.palette import DASHES, DOTTED, LEVELS, colour

from .check import OWN
from .power import SEEDS, WHAT, noncentral

Frames = Mapping[str, pd.DataFrame]
MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Drawn:
    """A figure of the report."""

    title: str
    caption: str
    draw: Callable[[pd.DataFrame, Frames], Figure]
    part: str = ""
    "The part that it is of; empty: of all."


def settings(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column for each part of their setting, numbers as numbers."""
    pairs = rows["setting"].str.split(", ").map(lambda words: dict(word.rsplit(" ", 1) for word in words))
    found = pd.DataFrame(list(pairs), index=rows.index)
    for name in found:
        number = pd.to_numeric(found[name], errors="coerce")
        found[name] = found[name] if number.isna().any() else number
    return rows.join(found)


def false_positives(table: pd.DataFrame, frames: Frames) -> Figure:
    """A row a check, with all its settings and its band; wrong rules beside it."""
    rows = table[table["error"]]
    names = list(dict.fromkeys(rows["what"]))
    figure = style.new_figure(0.42 * len(names) + 0.9)
    ax = figure.subplots()
    for place, name in enumerate(names):
        of = rows[rows["what"] == name]
        own, wrong = of[of["rules"] == OWN], of[of["rules"] != OWN]
        edge = own["high"].max()
        low = own["low"].clip(lower=0).min()
        ax.barh(place, edge - low, left=low, height=0.66, color=colour("band"), lw=0, zorder=0)
        for data, shade, mark in ((own, "blue", "o"), (wrong, "orange", "x")):
            ax.scatter(
                data["value"],
                np.full(len(data), place),
                s=14,
                marker=mark,
                color=colour(shade),
                alpha=0.7,
                lw=0.8,
            )
    ax.axvline(0.05, color=colour("soft"), lw=0.7, ls=DOTTED, zorder=0)
    ax.set(xscale="symlog", ylim=(len(names) - 0.4, -0.6), xlim=(-0.002, 0.8), xlabel="share of studies")
    ax.set_xscale("symlog", linthresh=0.1, linscale=2)
    ticks = [0, 0.025, 0.05, 0.1, 0.2, 0.4]
    ax.set_xticks(ticks, [f"{tick:g}".replace("0.", ".") for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_yticks(range(len(names)), [_in_lines(name) for name in names])
    handles = [
        Line2D([], [], ls="", marker="o", ms=4, color=colour("blue"), label="the package"),
        Line2D([], [], ls="", marker="x", ms=4, color=colour("orange"), label="wrong rules"),
        Line2D([], [], lw=6, color=colour("band"), label="band"),
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=3)
    return figure


def _in_lines(text: str, width: int = 44) -> str:
    lines = [""]
    for word in text.replace("`", "").split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}"
    return "\n".join(line.strip() for line in lines)


def coverage(table: pd.DataFrame, frames: Frames) -> Figure:
    """By number of seeds, a line a distribution."""
    rows = settings(table[(table["part"] == "coverage") & (table["rules"] == OWN)])
    figure = style.new_figure(2.4)
    ax = figure.subplots()
    for name, shade, dashes, mark in zip(rows["differences"].unique(), LEVELS, DASHES, MARKERS, strict=False):
        of = rows[rows["differences"] == name]
        line = (0, dashes) if dashes else "-"
        ax.plot(of["n"], of["value"], color=colour(shade), ls=line, marker=mark, ms=3.5, label=name)
    for value in (0.94, 0.95):
        ax.axhline(value, color=colour("soft"), lw=0.7, ls=DOTTED if value > 0.94 else "-", zorder=0)
    ax.text(
        20,
        0.94,
        "promised for normal and t3",
        size=style.SMALL - 0.5,
        color=colour("soft"),
        ha="right",
        va="top",
    )
    ax.set(xlabel="seeds", ylabel="coverage", xticks=sorted(rows["n"].unique()))
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def power(table: pd.DataFrame, frames: Frames) -> Figure:
    """Measured, over the noncentral t."""
    rows = settings(table[(table["what"] == WHAT) & (table["rules"] == OWN)])
    figure = style.new_figure(2.8)
    ax = figure.subplots()
    effects = np.linspace(0.02, rows["d_z"].max(), 80)
    for n, shade, dashes, mark in zip(SEEDS, LEVELS, DASHES, MARKERS, strict=False):
        of = rows[rows["n"] == n]
        line = (0, dashes) if dashes else "-"
        ax.plot(effects, [noncentral(effect, n) for effect in effects], color=colour(shade), ls=line, lw=1)
        measured = of["value"] + [noncentral(effect, n) for effect in of["d_z"]]
        ax.plot(of["d_z"], measured, ls="", marker=mark, ms=4, color=colour(shade), label=f"{n:g}")
    ax.set(xlabel="true difference in standard deviations (d_z)", ylabel="power", ylim=(0, 1.02))
    figure.legend(loc="outside right center", title="seeds")
    return figure


def p_values(table: pd.DataFrame, frames: Frames) -> Figure:
    """The share of p in each twentieth on accuracy: a panel a task and kind, a line a number of seeds."""
    found = frames["p_values"].query("metric == 'accuracy'")
    panels = list(dict.fromkeys(zip(found["task"], found["kind"], strict=True)))
    figure = style.new_figure(3.8)
    axes = figure.subplots(-(-len(panels) // 2), 2, sharex=True, sharey=True)
    width = 1 / found["from"].nunique()
    for ax, (task, kind) in zip(axes.flat, panels, strict=False):
        of = found[(found["task"] == task) & (found["kind"] == kind)]
        for (n, rows), shade, dashes in zip(of.groupby("n"), LEVELS, DASHES, strict=False):
            edges, line = [*rows["from"], 1.0], (0, dashes) if dashes else "-"
            ax.stairs(rows["share"] / width, edges, color=colour(shade), ls=line, lw=1, label=f"{n} seeds")
        ax.axhline(1, color=colour("ink"), lw=0.8, ls=DOTTED)
        ax.set_title(f"{task}, {kind}", size=style.SMALL)
        ax.set_xlim(0, 1)
        ax.label_outer()
    axes.flat[0].set_ylim(bottom=0)
    for ax in axes[..., 0].flat if axes.ndim > 1 else axes[:1]:
        ax.set_ylabel("density")
    for ax in axes[-1] if axes.ndim > 1 else axes:
        ax.set_xlabel("p of no difference")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def planted(table: pd.DataFrame, frames: Frames) -> Figure:
    """Differences from the baseline, with their 95 % intervals."""
    rows = frames["planted"].reset_index(drop=True).assign(place=lambda found: range(len(found)))
    figure = style.new_figure(0.3 * len(rows) + 0.9)
    ax = figure.subplots()
    room = 0.1 * (rows["ci_high"].max() - rows["ci_low"].min())
    ax.set(
        xlim=(rows["ci_low"].min() - room, max(0, rows["ci_high"].max()) + room), ylim=(len(rows) - 0.5, -0.5)
    )
    verdicts(ax, rows.rename(columns={"ci_low": "low", "ci_high": "high"}), "diff", "place")
    ax.axvline(0, color=colour("soft"), lw=0.7, zorder=0)
    ax.set_yticks(rows["place"], rows["variant"] + ", " + rows["study"])
    ax.set(xlabel="difference in accuracy from the baseline", ylabel="")
    figure.legend(handles=verdict_handles(rows["verdict"]), loc="outside lower right", ncols=3)
    return figure


FIGURES = {
    "false_positives": Drawn(
        "False verdicts",
        "Each point is a setting, each grey bar the band of its check: two-sided where the test is exact, else up to "
        "its upper edge. The dotted line is .05; the axis is linear to .1.",
        false_positives,
    ),
    "coverage": Drawn(
        "Coverage of the 95 % interval over seeds",
        "At least .94 is promised for normal and t3 differences. Where they are skewed, few seeds do not show it, and "
        "the interval holds less than it says.",
        coverage,
        "coverage",
    ),
    "power": Drawn(
        "Power",
        "Points: the share of simulated studies in which a difference is found. Lines: the noncentral t distribution.",
        power,
        "power",
    ),
    "p_values": Drawn(
        "p of trained runs that do not differ",
        "The distribution of p over fictitious studies of real trainings, on accuracy; dotted: uniform. The height of "
        "the first step is the false-positive rate as a multiple of .05.",
        p_values,
        "runs",
    ),
    "planted": Drawn(
        "Planted effects",
        "Mean paired difference in test accuracy with its 95 % interval, and the verdict.",
        planted,
        "planted",
    ),
}


def drawable(table: pd.DataFrame) -> dict[str, Drawn]:
    """The figures of the parts that the table has."""
    return {name: figure for name, figure in FIGURES.items() if figure.part in ("", *table["part"])}
