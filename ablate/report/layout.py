"""How figures are laid out: axes placed in inches, rows with labels, a closer look where scales differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ablate.report import style
from ablate.report.figure_data import Entry
from ablate.report.tables import shortened, text, wrapped

Limits = tuple[float, float]
Handle = Line2D | Patch

KEY_LINE = 0.19
"Inches from one line of a figure's key to the next."
VIEW_GAP = 0.22
"Inches between two views of the same rows."


@dataclass(frozen=True)
class Line:
    """One line of the rows: a heading, or a variant (an index into the data)."""

    text: list[str]
    index: int | None
    top: float
    "Inches below the top of the rows."
    centre: float
    "Where its data stand, inches below the top of the rows."
    indented: bool = False
    "Below the heading of its group."


def figure(width: float, height: float) -> Figure:
    """An empty figure of that many inches, drawn without a display."""
    result = Figure(figsize=(width, height))
    FigureCanvasAgg(result)
    return result


def axes(fig: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes whose place is given in inches."""
    w, h = fig.get_size_inches()
    result = fig.add_axes((left / w, bottom / h, width / w, height / h))
    # What an axis measures is written by `write`: to look for a place of its own takes a third of the drawing.
    result.xaxis.set_label_coords(0.5, 0.0)
    result.yaxis.set_label_coords(0.0, 0.5)
    return result


def write(fig: Figure, x: float, y: float, content: str, **options: object) -> None:
    """Text at a place given in inches from the lower left."""
    w, h = fig.get_size_inches()
    fig.text(x / w, y / h, text(content), **{"va": "center", "ha": "left", **options})  # type: ignore[arg-type]


def write_upright(fig: Figure, x: float, y: float, content: str) -> None:
    """Text that runs upwards, its middle at a place given in inches."""
    write(fig, x, y, content, ha="center", rotation=90, rotation_mode="anchor")


def characters(width: float) -> int:
    """How many characters fit that many inches."""
    return max(6, int(width / style.CHARACTER))


def rows(
    entries: Sequence[Entry], label_width: float, *, row_height: float, above: bool
) -> tuple[list[Line], float]:
    """Lines from top to bottom and their height in inches.

    Variants of one group share a heading, unless there is only one. `above`: labels stand over the data, for
    a narrow figure, and not beside it.
    """
    sizes: dict[str, int] = {}
    for entry in entries:
        sizes[entry.group] = sizes.get(entry.group, 0) + 1
    lines: list[Line] = []
    top = 0.0
    group = None
    for index, entry in enumerate(entries):
        alone = sizes[entry.group] == 1
        if entry.group != group:
            top += 0.06 if lines else 0.0
            if not alone:
                heading = fitted(entry.group, characters(label_width), 2)
                height = style.LINE_HEIGHT * len(heading) + 0.05
                lines.append(Line(heading, None, top, top + height / 2))
                top += height
        group = entry.group
        label = fitted(entry.variant if alone else entry.label, characters(label_width) - 2 * (not alone), 3)
        height = style.LINE_HEIGHT * len(label)
        if above:
            lines.append(Line(label, index, top, top + height + row_height / 2, not alone))
            top += height + row_height + 0.04
        else:
            height = max(height + 0.06, row_height)
            lines.append(Line(label, index, top, top + height / 2, not alone))
            top += height
    return lines, top


def fitted(name: str, width: int, most: int) -> list[str]:
    """`name` in at most `most` lines of `width` characters, its middle left out if need be."""
    name = text(name)
    found = wrapped(name, width)
    room = width * most
    while len(found) > most:
        found = wrapped(shortened(name, room), width)
        room -= 1
    return found


def write_labels(fig: Figure, lines: Sequence[Line], top: float, *, above: bool) -> None:
    """The labels of `rows`; `top` is the top of the rows, in inches from the bottom of the figure."""
    for line in lines:
        heading = line.index is None
        indent = 0.16 if line.indented else 0.04
        beside = line.centre - style.LINE_HEIGHT * (len(line.text) - 1) / 2
        first = line.top + style.LINE_HEIGHT / 2 if above else beside
        for i, part in enumerate(line.text):
            write(
                fig,
                indent,
                top - first - i * style.LINE_HEIGHT,
                part,
                weight="bold" if heading else "normal",
            )


def padded(low: float, high: float, share: float = 0.06) -> Limits:
    """The limits of an axis around what it shows."""
    if not low < high:
        room = abs(low) * 0.1 or 1.0
        return low - room, high + room
    room = (high - low) * share
    return low - room, high + room


def closer(intervals: Sequence[Limits], always: Limits) -> Limits | None:
    """Limits of a second, closer view, or None where one scale serves all rows.

    `always` is in view. The closer view covers as many rows as fit a quarter of the full range, if those are
    at least two, and a third of all.
    """
    finite = [i for i in intervals if np.isfinite(i).all()]
    if not finite:
        return None
    low, high = always
    reach = sorted(finite, key=lambda i: max(i[1], high) - min(i[0], low))
    full = max([high, *(i[1] for i in finite)]) - min([low, *(i[0] for i in finite)])
    found, inside = None, 0
    for row in reach:
        low, high = min(low, row[0]), max(high, row[1])
        if high - low > full / 4:
            break
        inside += 1
        found = (low, high)
    return found if inside >= max(2, len(finite) / 3) and inside < len(finite) else None


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels near `wanted`, at least `gap` apart, between `low` and `high` if they all fit.

    Labels that collide are centred, as a block, on the mean of what they want.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, list[int]]] = []
    for i in order:
        blocks.append((wanted[i], [i]))
        while len(blocks) > 1 and _end(blocks[-2], gap) + gap > _start(blocks[-1], gap):
            (_, first), (_, second) = blocks[-2:]
            members = first + second
            blocks[-2:] = [(float(np.mean([wanted[k] for k in members])), members)]
            centre, members = blocks[-1]
            half = gap * (len(members) - 1) / 2
            blocks[-1] = (max(low + half, min(high - half, centre)), members)
    places = [0.0] * len(wanted)
    for block in blocks:
        for k, i in enumerate(block[1]):
            places[i] = _start(block, gap) + k * gap
    return places


def label_ends(
    fig: Figure, ax: Axes, ends: Sequence[tuple[float, str, str]], bottom: float, height: float, right: float
) -> None:
    """Names lines at their right end: (value, label, name of a colour) each.

    `bottom` and `height` are those of `ax`, `right` its right edge, all in inches.
    """
    to_axes = ax.transData + ax.transAxes.inverted()
    at = [bottom + height * float(to_axes.transform((ax.get_xlim()[1], value))[1]) for value, _, _ in ends]
    places = apart(at, 0.125, bottom + 0.04, bottom + height - 0.04)
    w, h = fig.get_size_inches()
    for (_, label, name), y, from_y in zip(ends, places, at, strict=True):
        shade = style.colour(name)
        line = Line2D([(right + 0.02) / w, (right + 0.1) / w], [from_y / h, y / h], lw=0.5, color=shade)
        fig.add_artist(line)
        shown = fitted(label, 17, 1)[0]
        write(fig, right + 0.12, y, shown, color=shade, size=style.TEXT_SIZE - 0.8)


def _start(block: tuple[float, list[int]], gap: float) -> float:
    return block[0] - gap * (len(block[1]) - 1) / 2


def _end(block: tuple[float, list[int]], gap: float) -> float:
    return block[0] + gap * (len(block[1]) - 1) / 2


def views(intervals: list[Limits], always: Limits) -> list[Limits]:
    """The limits of the axes: what holds everything and, where that hides the rest, a closer look."""
    finite = [i for i in intervals if np.isfinite(i).all()]
    full = (min([always[0], *(i[0] for i in finite)]), max([always[1], *(i[1] for i in finite)]))
    near = closer(intervals, always)
    return [padded(*full), *([padded(*near)] if near else [])]


def view_axes(
    fig: Figure, limits: Sequence[Limits], left: float, bottom: float, room: float, height: float, label: str
) -> list[tuple[Axes, Limits]]:
    """Axes side by side over the same rows, one for each of `views`, y in inches from the bottom of the rows.

    They share `room` inches from `left` on; `label` names what they measure.
    """
    share = (room - VIEW_GAP * (len(limits) - 1)) / len(limits)
    names = ("full range", "closer") if len(limits) > 1 else (label,)
    result = []
    for i, (name, view) in enumerate(zip(names, limits, strict=True)):
        start = left + i * (share + VIEW_GAP)
        ax = axes(fig, start, bottom, share, height)
        ax.set_xlim(view)
        ax.set_ylim(0, height)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_locator(MaxNLocator(4 if share < 2 else 6, steps=[1, 2, 2.5, 5, 10]))
        write(fig, start + share / 2, bottom - 0.27, name, ha="center")
        result.append((ax, view))
    if len(limits) > 1:
        write(fig, left + room / 2, bottom - 0.44, label, ha="center")
    return result


def strips(lines: Sequence[Line], height: float, row_height: float, stacked: bool) -> list[Limits]:
    """Where reference lines run: from top to bottom or, where labels stand over the data, only between them."""
    if not stacked:
        return [(0.0, height)]
    centres = [height - line.centre for line in lines if line.index is not None]
    return [(y - row_height / 2, y + row_height / 2) for y in centres]


def in_lines(handles: list[Handle], across: int) -> list[list[Handle]]:
    """The handles of a key, `across` to a line."""
    return [handles[i : i + across] for i in range(0, len(handles), across)]


def key_height(keys: Sequence[Sequence[Handle]]) -> float:
    """Inches that the lines of a key take at the top of a figure."""
    return KEY_LINE * len(keys) + 0.1


def write_keys(fig: Figure, keys: Sequence[Sequence[Handle]]) -> None:
    """Writes the lines of a key at the top of a figure."""
    for i, handles in enumerate(keys):
        fig.legend(
            handles=list(handles),
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0 - i * KEY_LINE / fig.get_size_inches()[1]),
            ncol=len(handles),
            frameon=False,
            borderaxespad=0.1,
            borderpad=0.2,
            handlelength=1.7,
            columnspacing=1.4,
            handletextpad=0.6,
        )
