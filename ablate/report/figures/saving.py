"""Figures as files, and as elements of a page: the same data give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ablate.report.figures.theme import colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 144


def saved(figure: Figure, name: str, kinds: Sequence[str] = ("svg",)) -> dict[str, bytes]:
    """Returns a figure as SVG 1.1 for the page, or as files of other `kinds`, by kind.

    `name` makes the identifiers of the SVG differ from those of other figures in a page.
    """
    from matplotlib import rc_context

    figure.set_dpi(72)  # That of SVG, so that no text is measured twice.
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    # A layout engine of any kind, `"none"` included, would have the figure drawn once more for each file.
    figure.set_layout_engine(None)
    files = {}
    for kind in kinds:
        file = io.BytesIO()
        date = "CreationDate" if kind == "pdf" else "Date"
        with rc_context({"svg.hashsalt": name}):
            if kind == "png":
                figure.savefig(file, format=kind, dpi=PNG_DPI, metadata={"Software": None})
            else:
                figure.savefig(file, format=kind, metadata={"Creator": None, date: None})
        files[kind] = _compact(file.getvalue()) if kind == "svg" else file.getvalue()
    return files


def _compact(source: bytes) -> bytes:
    """Returns an SVG without what is not seen: decimals beyond the second, rotations by 0, and indents."""

    def round_number(number: re.Match[bytes]) -> bytes:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".").encode()

    def round_attribute(attribute: re.Match[bytes]) -> bytes:
        return re.sub(rb"-?\d+\.\d{3,}", round_number, attribute[0])

    source = re.sub(rb' (d|x|y)="[^"]*"', round_attribute, source)
    source = re.sub(rb' transform="rotate\(-?0 [^"]*\)"', b"", source)
    return re.sub(rb"\n +", b"\n", source)


def inlined(source: str) -> str:
    """Returns an SVG as an element of a page: in its font and on its paper, without identifiers of other figures."""
    source = source.replace(f"fill: {colour('paper')}", "fill: none", 1)
    source = re.sub(r'<g id="[^"]*"', "<g", source[source.index("<svg") :])
    source = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", source, flags=re.DOTALL)
    return re.sub(r'font-family: [^;]*; | xmlns(:\w+)?="[^"]*"', "", source).replace("xlink:href", "href")
