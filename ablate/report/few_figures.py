"""The choice of a dozen figures, of the many that a report could have: the first of each kind before others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ablate.report.section import Block, Folded, Picture, Text
from ablate.report.sections import Shown, pictures
from ablate.report.words import message

MOST = 12
"""The most figures that are drawn unasked; each takes a second or more."""


def with_few_figures(sections: Sequence[Shown], study: str, *, one_a_kind: bool = False) -> list[Shown]:
    """Returns the sections without the figures that are not drawn.

    A section that lost some ends with a line on how many, and the command that draws all. study: its name, for that.
    one_a_kind: of each kind the first alone, where the others would show the same in other conditions.
    """
    kept = _chosen(pictures(sections), one_a_kind=one_a_kind)
    few = []
    for section in sections:
        left_out = [picture for picture in section.pictures if picture.name not in kept]
        if left_out:
            line = Text(message("page.more_figures", len(left_out), study), aside=True)
            section = replace(section, blocks=[*_with_kept(section.blocks, kept), line])
        few.append(section)
    return few


def _chosen(found: Sequence[Picture], *, one_a_kind: bool) -> set[str]:
    """Returns the names of the `MOST` figures that are drawn: the first of each kind, then others in their order.

    Figures that one function draws are of one kind. one_a_kind: without the others.
    """
    kinds: dict[object, Picture] = {}
    for picture in found:
        kinds.setdefault(picture.drawing, picture)
    in_turn = [*kinds.values()] if one_a_kind else [*kinds.values(), *found]
    return {*[*dict.fromkeys(picture.name for picture in in_turn)][:MOST]}


def _with_kept(blocks: Sequence[Block], kept: Collection[str]) -> list[Block]:
    """Returns blocks without the figures that are not drawn, and without folded blocks that then are empty."""
    left: list[Block] = []
    for block in blocks:
        if isinstance(block, Folded):
            inside = _with_kept(block.blocks, kept)
            left += [replace(block, blocks=inside)] if inside else []
        elif not isinstance(block, Picture) or block.name in kept:
            left.append(block)
    return left
