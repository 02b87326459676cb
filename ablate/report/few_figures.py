"""Which figures of a report are drawn, where it could have dozens: of each kind the first, and no more than a dozen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ablate.report.section import Block, Folded, Picture, Text
from ablate.report.sections import Shown, pictures
from ablate.report.words import message

MOST = 12
"""The most figures that are drawn unasked; each takes a second or more."""


def with_few_figures(sections: Sequence[Shown], study: str) -> list[Shown]:
    """Returns sections with the figures that are drawn, and a line on the others of each; `study`: its name."""
    kept = _chosen(pictures(sections))
    few = []
    for section in sections:
        left_out = [picture for picture in section.pictures if picture.name not in kept]
        if left_out:
            line = Text(message("page.more_figures", len(left_out), study), aside=True)
            section = replace(section, blocks=[*_with_kept(section.blocks, kept), line])
        few.append(section)
    return few


def _chosen(found: Sequence[Picture]) -> set[str]:
    """Returns the names of the figures that are drawn: the first of each kind, then others in their order."""
    kinds: dict[object, Picture] = {}
    for picture in found:
        kinds.setdefault(picture.drawing, picture)
    in_turn = [*kinds.values(), *found]
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
