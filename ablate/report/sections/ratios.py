"""The time of each variant over that of the baseline: a forest plot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from ablate.base import wording
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.core.speed import LEAST, SpeedFacts
from ablate.report import timing
from ablate.report.draw import style
from ablate.report.draw.hover import named, tell
from ablate.report.draw.marks import Limits, padded, verdict_handles, verdicts
from ablate.report.draw.rows import axes, placed, write_right
from ablate.report.draw.settings import ticks
from ablate.report.palette import DOTTED, EXPLORATORY, colour
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.tables import is_true, rows_of

COPIES = "baseline, second copy"


class Ratios(Section):
    """A figure a task, of the call that matters most at the study's own size."""

    place = 155
    title = "Speed ratios"
    open = True
    needs_trials = False

    def applies(self, material: Material) -> bool:
        return len(material.speeds) > 0

    def blocks(self, material: Material) -> Iterator[Block]:
        facts = material.facts
        call = timing.call_shown(timing.own(rows_of(material.speeds)))
        for task, end, of in by_task(facts):
            data = ratios(facts, material.speeds, task.name, call)
            if len(data) < 2 or data["ratio"].isna().all():
                continue
            said = timing.MEASURES[call]
            margin = speed.margin if (speed := SpeedFacts.of(facts)) else LEAST
            caption = (
                f"Time of {said}, each variant over the baseline, with 95 % intervals; left is faster. Grey: the noise "
                f"floor, how far two copies of the baseline are apart; dotted: ±{wording.in_percent(margin)}. "
                f"{timing.how_measured(material.evidence)}"
            )
            alt = f"Time of {said} of {len(data) - 1} variants over the baseline's{of}."
            title = f"{self.title}{of}"
            yield Picture(f"speed-ratios{end}", title, caption, alt, data, figure, (said, margin))


def ratios(facts: Facts, speeds: pd.DataFrame, task: str, call: str) -> pd.DataFrame:
    """One row a variant on a task, the baseline's second copy first.

    Columns: variant, label, verdict (`baseline` or `exploratory`), said, ratio, low, high, noise (as a ratio).
    """
    names = short_names(facts)
    mine = speeds[(speeds["task"] == task) & (speeds["metric"] == call) & speeds["own"].map(is_true)]
    base = mine["variant"] == mine["baseline"]
    found = pd.DataFrame(
        {
            "variant": mine["variant"],
            "label": mine["variant"].map(names).where(~base, COPIES),
            "verdict": np.where(base, BASELINE, EXPLORATORY),
            "said": [
                "" if is_base else timing.verdict(row)
                for is_base, row in zip(base, rows_of(mine), strict=True)
            ],
            "words": [timing.ratio(row) for row in rows_of(mine)],
            "ratio": mine["ratio"].astype(float),
            "low": mine["ci_low"].astype(float),
            "high": mine["ci_high"].astype(float),
            "noise": 1 + mine["noise_floor"].astype(float),
        }
    )
    return found.reset_index(drop=True)


def figure(data: pd.DataFrame, said: str, margin: float) -> Figure:
    """A row a variant on a log axis; `data` is of `ratios`."""
    heights, labels = placed(data)
    data = data.assign(y=data["variant"].map(heights))
    noise = float(data["noise"].max())
    limits = _limits(data, noise, margin)
    result, (ax,) = axes(
        labels, [limits], f"time of {said} over the {BASELINE}’s, log scale, left is faster", pitch=0.24
    )
    ax.set_xscale("log")
    ax.set(xlim=limits)
    at = max((ticks(*limits, log=log, most=5) for log in (True, False)), key=len)
    ax.set_xticks(at, [f"×{wording.exact(round(tick, 6))}" for tick in at])
    ax.xaxis.set_minor_locator(NullLocator())
    if np.isfinite(noise):
        ax.axvspan(1 / noise, noise, color=colour("band"), lw=0, zorder=0)
    for edge in (1 / (1 + margin), 1 + margin):
        ax.axvline(edge, color=colour("soft"), lw=0.9, ls=DOTTED, zorder=1)
    ax.axvline(1.0, color=colour("ink"), lw=0.8, zorder=1)
    verdicts(ax, data, "ratio", "y", "x", ("low", "high", 1.6))
    words = [
        f"{numbers}{f', {verdict}' * bool(verdict)}"
        for numbers, verdict in zip(data["words"], data["said"], strict=True)
    ]
    told = map(named, data["label"], data["variant"])
    tell(ax, data["ratio"], data["y"], [f"{name}\n{found}" for name, found in zip(told, words, strict=True)])
    if style.width() >= style.WIDTH:
        write_right(ax, dict(zip(data["y"], words, strict=True)), colour("ink"))
    result.legend(handles=_handles(data, noise, margin), loc="outside upper left", ncols=4)
    return result


def _limits(data: pd.DataFrame, noise: float, margin: float) -> Limits:
    ends = np.log(
        [
            *data["low"].fillna(data["ratio"]),
            *data["high"].fillna(data["ratio"]),
            noise,
            1 / noise,
            1 + margin,
        ]
    )
    ends = ends[np.isfinite(ends)]
    low, high = padded(float(min(ends.min(), -np.log1p(margin))), float(ends.max()))
    return float(np.exp(low)), float(np.exp(high))


def _handles(data: pd.DataFrame, noise: float, margin: float) -> list[Any]:
    soft = colour("soft")
    band = [Patch(color=colour("band"), lw=0, label="noise floor")] if np.isfinite(noise) else []
    return [
        *verdict_handles(data["verdict"]),
        Line2D([], [], color=soft, lw=1.6, label="95 % interval"),
        *band,
        Line2D([], [], color=soft, lw=0.9, ls=DOTTED, label=f"±{wording.in_percent(margin)}"),
    ]
