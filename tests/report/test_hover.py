"""Titles over the points of a figure."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ablate.core.facts import Evidence
from ablate.report.draw import style

SVG = "{http://www.w3.org/2000/svg}"


def told(path: Path) -> list[str]:
    """The titles of the points of a drawing; those of one place are several."""
    circles = ElementTree.parse(path).iter(f"{SVG}circle")
    titles = [circle.findtext(f"{SVG}title") or "" for circle in circles]
    return [words for title in titles for words in title.split(style.NEXT)]


def test_a_title_lies_where_the_point_is_drawn_and_at_the_edge_for_one_outside() -> None:
    with style.context():
        figure = style.new_figure(2.0)
        ax = figure.subplots()
        ax.plot([1, 10], [0, 1], "s", ms=5)
        ax.set(xscale="log", xlim=(0.5, 20), ylim=(-0.5, 1.5))
        style.tell(
            ax, [1, 10, 10, 10, float("nan")], [0, 1, 1, 99, 0], ["a < b & c", "d", "e", "far", "lost"]
        )
        _, source = style.saved(figure, "x")
    drawing = ElementTree.fromstring(source)
    circles = drawing.iter(f"{SVG}circle")
    found = {c.findtext(f"{SVG}title"): (float(c.get("cx", "")), float(c.get("cy", ""))) for c in circles}
    drawn = [(float(use.get("x", "")), float(use.get("y", ""))) for use in drawing.iter(f"{SVG}use")]
    assert list(found) == ["a < b & c", "d\n\ne", "far"]
    for words in ("a < b & c", "d\n\ne"):
        assert any(found[words] == pytest.approx(place, abs=0.1) for place in drawn), words
    top = min(y for _, y in found.values())
    assert found["far"][1] == top > 0


def test_every_run_tells_its_variant_seed_and_value(folder: Path, evidence: Evidence) -> None:
    said = set(told(folder / "figures" / "seeds.svg"))
    for row in evidence.trials.dropna(subset=["accuracy"]).itertuples():
        name = {"model.position=none": "no positions (model.position=none)", "placebo": "placebo"}.get(
            row.variant
        )
        if name:
            assert f"{name}\nseed {row.seed}: accuracy {style.short(row.accuracy)}" in said
    assert any(words.startswith("batch norm (model.norm=batch)\n") for words in said)


@pytest.mark.parametrize("name", ["forest", "cost"])
def test_every_figure_tells_its_points(folder: Path, name: str) -> None:
    said = told(folder / "figures" / f"{name}.svg")
    assert any("no positions (model.position=none)" in words for words in said)
    assert all(re.search(r"\d", words) for words in said)
