"""How fast variants are beside the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ablate.base.wording import brief
from ablate.report.figures.rows import draw_interval, panels_of_rows, placed, write_right
from ablate.report.figures.scales import Limits, round_ticks
from ablate.report.figures.theme import Mark, colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLOWER = Mark("o", "orange", "")
FASTER = Mark("o", "blue", "")
ALIKE = Mark("o", "soft", "")


def speed_ratios(data: pd.DataFrame, axis_label: str, slack: float) -> Figure:
    """Draws the time of each variant over the baseline's with its interval, on a logarithmic axis.

    `data` has a row a variant: label, value (the ratio), low, high, told. Grey is what two copies of the baseline may
    differ by, 1 ± `slack`; what lies beyond has a colour.
    """
    rows, headings = placed(data)
    band = 1 / (1 + slack), 1 + slack
    least = min(band[0], float(data[["value", "low"]].min(axis=None)))
    most = max(band[1], float(data[["value", "high"]].max(axis=None)))
    room = (most / least) ** 0.06
    figure, (ax,) = panels_of_rows(rows, headings, [(least / room, most * room)], axis_label)
    ax.set_xscale("log")
    ticks = round_ticks(least / room, most * room, log=True, most=5)
    ax.set_xticks(ticks, [f"×{brief(tick)}" for tick in ticks])
    ax.xaxis.minorticks_off()
    ax.axvspan(*band, color=colour("band"), lw=0, zorder=0)
    ax.axvline(1.0, color=colour("ink"), lw=0.8, zorder=1)

    marks = [_mark(low, high, band) for low, high in data[["low", "high"]].to_numpy(float)]
    for row, mark in zip(rows.to_dict("records"), marks, strict=True):
        draw_interval(ax, row, mark)
    write_right(
        ax,
        dict(zip(rows["y"], rows["told"], strict=True)),
        dict(zip(rows["y"], [mark.colour for mark in marks], strict=True)),
    )
    return figure


def _mark(low: float, high: float, band: Limits) -> Mark:
    """Returns the mark of a ratio by whether its interval lies beyond the band, and on which side."""
    if low > band[1]:
        return SLOWER
    return FASTER if high < band[0] else ALIKE
