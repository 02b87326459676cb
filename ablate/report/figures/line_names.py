"""The names of lines at their ends, right of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ablate.report.figures.theme import NARROW, SMALL, figure_width
from ablate.report.words import in_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED_LINES = 3  # Lines of a panel that are named at their ends; of more, a legend has the names.
TEXT_LINE = 0.125  # Inches from one line of text to the next.
LETTERS = 15  # Of a line of a name, which has at most two.
FEW_LETTERS = 11  # The same in a column of a paper.


@dataclass(frozen=True)
class LineEnd:
    """The place along y where a line ends, its name, and its colour as matplotlib takes it."""

    y: float
    name: str
    colour: str


def write_names_at_ends(ax: Axes, ends: Sequence[LineEnd], height: float) -> None:
    """Writes names at the right of a panel, `height` inches high, as near to the ends of their lines as all have room.

    The limits of the panel are final. An end beyond them has its name at the edge.
    """
    letters = LETTERS if figure_width() >= NARROW else FEW_LETTERS
    named = sorted(ends, key=lambda end: end.y)
    names = [in_lines(end.name, letters, 2) for end in named]
    sizes = [TEXT_LINE * (1 + name.count("\n")) / height for name in names]
    low, high = ax.yaxis.get_transform().transform(ax.get_ylim())
    places = (ax.yaxis.get_transform().transform([end.y for end in named]) - low) / (high - low)
    inside = np.clip(places, 0.0, 1.0).tolist()
    for end, name, place in zip(named, names, moved_apart(inside, sizes), strict=True):
        ax.annotate(
            name,
            (1, place),
            (4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            size=SMALL - 0.5,
            color=end.colour,
            linespacing=1.0,
            annotation_clip=False,
        )


def moved_apart(places: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Returns rising places moved apart until each has room for its size, those in one another's way about their mean.

    All lie from 0 to 1, unless they need more room.
    """
    groups: list[list[int]] = []
    centres: list[float] = []
    for index in range(len(places)):
        group = [index]
        centre = _centre(group, places, sizes)
        while groups and centres[-1] + _half(groups[-1], sizes) > centre - _half(group, sizes):
            group = groups.pop() + group
            centres.pop()
            centre = _centre(group, places, sizes)
        groups.append(group)
        centres.append(centre)

    moved = []
    for group, centre in zip(groups, centres, strict=True):
        bottom = centre - _half(group, sizes)
        for member in group:
            moved.append(bottom + sizes[member] / 2)
            bottom += sizes[member]
    return moved


def _centre(group: Sequence[int], places: Sequence[float], sizes: Sequence[float]) -> float:
    """Returns the mean of the places of a group, from which its first and last member lie from 0 to 1."""
    lowest = _half(group, sizes) - sizes[group[0]] / 2
    highest = 1 - _half(group, sizes) + sizes[group[-1]] / 2
    mean = sum(places[member] for member in group) / len(group)
    return min(max(mean, lowest), max(lowest, highest))


def _half(group: Sequence[int], sizes: Sequence[float]) -> float:
    """Returns half of the room that the members of a group take up."""
    return sum(sizes[member] for member in group) / 2
