"""The ticks of a finished figure as plain marks and text."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT

from ablate.report.style import SETTINGS


def fix_ticks(figure: Figure) -> None:
    """Draws the major ticks of all axes once and for all, where and as matplotlib would.

    A live tick is five artists, which are placed anew for every format; they take a third of the time of a drawing.
    For a figure whose limits change no more, with its ticks at the bottom and the left.
    """
    for ax in figure.axes:
        for x, axis in ((True, ax.xaxis), (False, ax.yaxis)):
            formatter, places = axis.get_major_formatter(), axis.get_majorticklocs()
            labels = formatter.format_ticks(list(places))
            low, high = sorted(axis.get_view_interval())
            # A tick on the edge may miss it by rounding.
            slack = 1e-10 * (high - low)
            ticks = [
                (float(place), label)
                for place, label in zip(places, labels, strict=True)
                if low - slack <= place <= high + slack
            ]
            # Where the factor that all labels share is written depends on their size: left to matplotlib.
            if not formatter.get_offset():
                axis.set_visible(False)
                if ticks:
                    _draw(ax, x, ticks, axis.get_zorder())


def _draw(ax: Axes, x: bool, ticks: list[tuple[float, str]], zorder: float) -> None:
    of = "xtick" if x else "ytick"
    size = SETTINGS[f"{of}.major.size"]
    places, edge = [place for place, _ in ticks], [0.0] * len(ticks)
    marks = Line2D(
        *((places, edge) if x else (edge, places)),
        transform=ax.get_xaxis_transform("tick1") if x else ax.get_yaxis_transform("tick1"),
        ls="",
        marker=TICKDOWN if x else TICKLEFT,  # type: ignore[arg-type]
        ms=size,
        mew=SETTINGS[f"{of}.major.width"],
        color=SETTINGS[f"{of}.color"],
        clip_on=False,
        zorder=zorder,
    )
    ax.add_artist(marks)
    pad = size + SETTINGS[f"{of}.major.pad"]
    transform, va, ha = ax.get_xaxis_text1_transform(pad) if x else ax.get_yaxis_text1_transform(pad)
    look = {"color": SETTINGS[f"{of}.labelcolor"], "size": SETTINGS[f"{of}.labelsize"]}
    for place, label in ticks:
        at = (place, 0.0) if x else (0.0, place)
        ax.text(*at, label, transform=transform, va=va, ha=ha, zorder=zorder, **look)
