from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from ablate.report import layout, style, svg


def picture() -> str:
    with style.context():
        figure = layout.figure(3.0, 2.0)
        ax = layout.axes(figure, 0.5, 0.5, 2.0, 1.0)
        ax.plot([0, 1, 2], [0, 1, 0], "o-", color=style.colour("blue"))
        ax.fill_between([0, 1, 2], [0, 0, 0], [1, 2, 1], color=style.colour("band"), alpha=0.5)
        layout.write(figure, 0.1, 0.1, "a < b & c")
        layout.write_upright(figure, 0.1, 1.0, "upwards")
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def test_a_picture_is_small_and_keeps_what_is_seen() -> None:
    source, classes = picture(), {}
    made = svg.inlined(source, "x", classes)
    assert len(made) < len(source) / 2
    root = ElementTree.fromstring(made)
    assert root.get("viewBox") == "0 0 216 144"
    texts = ["".join(e.itertext()) for e in root.iter("text")]
    assert {"a < b & c", "upwards", "0.5"} <= set(texts)
    assert "rotate(-90" in made
    assert len(list(root.iter("use"))) >= 3 + 2, "the points and the ticks"
    assert "metadata" not in made
    assert "font-family" not in svg.css(classes)


def test_colours_are_variables_and_styles_are_shared() -> None:
    classes: dict[str, str] = {}
    first = svg.inlined(picture(), "x", classes)
    before = dict(classes)
    second = svg.inlined(picture(), "y", classes)
    assert classes == before
    assert set(re.findall(r'class="(\w+)"', first + second)) == set(classes.values())
    css = svg.css(classes)
    assert "var(--blue)" in css
    assert "var(--band)" in css
    assert not re.search(r"#[0-9a-f]{6}", css + first)
    assert "style=" not in first


def test_identifiers_begin_with_the_prefix_and_lead_somewhere() -> None:
    made = svg.inlined(picture(), "x", {})
    identifiers = re.findall(r'\sid="([^"]*)"', made)
    assert identifiers
    assert all(name.startswith("x-") for name in identifiers)
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', made)) == set(identifiers)


def test_points_are_where_they_were() -> None:
    source = picture()
    made = svg.inlined(source, "x", {})
    pattern = r"<use [^>]*?x=\"([-\d.]+)\" y=\"([-\d.]+)\""
    exact = {tuple(round(float(v), 1) for v in m) for m in re.findall(pattern, source)}
    assert {tuple(float(v) for v in m) for m in re.findall(pattern, made)} == exact
