"""A picture of matplotlib as it stands inside a page: in the colours of the page, small, its text still text."""

from __future__ import annotations

import functools
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ablate.report.style import PALETTE

DROPPED = {"metadata", "style", "title"}
"Elements of the source that a page has no use for."
NUMBERS = {"d", "x", "y", "width", "height", "transform", "viewBox"}
"Attributes of which a tenth of a point is finer than any screen shows."

Declarations = dict[str, str]


def inlined(source: str, prefix: str, classes: dict[str, str]) -> str:
    """The SVG `source` as an element of a page.

    Its colours become the variables of `style.css_variables`, its text takes the font of the page, and its
    identifiers begin with `prefix` (a page has several pictures). Styles become classes, which the pictures of a
    page share: `classes` maps declarations to the name of their class, and is added to.
    """
    source = source[source.index("<svg") :]
    source = re.sub(r'\sxmlns="[^"]*"', "", source).replace("xlink:href", "href")
    referred = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', source))
    names = {old: f"{prefix}-{i}" for i, old in enumerate(referred)}
    root = ElementTree.fromstring(source)
    shared = {e.get("id", ""): _declarations(e) for e in root.iter("path") if e.get("id") in names}
    _slim(root, names, shared, classes)
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    return ElementTree.tostring(root, encoding="unicode")


def css(classes: dict[str, str]) -> str:
    """The rules of the classes that `inlined` has collected."""
    return "\n".join(f".{name} {{ {declarations} }}" for declarations, name in classes.items())


def _slim(
    parent: Element, names: dict[str, str], shared: dict[str, Declarations], classes: dict[str, str]
) -> None:
    kept: list[Element] = []
    for child in parent:
        if child.tag in DROPPED or (parent.tag in ("g", "svg") and _invisible(child)):
            continue
        _slim(child, names, shared, classes)
        _attributes(child, names, shared, classes)
        if child.tag in ("g", "defs") and not len(child):
            continue
        kept += list(child) if child.tag == "g" and not child.attrib else [child]
    parent[:] = kept
    if parent.tag != "text":
        parent.text = None
    parent.tail = None


def _attributes(
    element: Element, names: dict[str, str], shared: dict[str, Declarations], classes: dict[str, str]
) -> None:
    declared = _declarations(element)
    # What is used again brings the style of its definition along.
    own = shared.get(element.get("href", "#")[1:], {})
    declared = {key: value for key, value in declared.items() if own.get(key) != value}
    found = dict(element.attrib)
    element.attrib.clear()
    for key, value in found.items():
        if key == "id" and value in names:
            element.set(key, names[value])
        elif key == "href" and value.startswith("data:"):
            element.set(key, value)
        elif key == "href":
            element.set(key, f"#{names[value[1:]]}")
        elif element.tag == "image" and key in NUMBERS:
            # A factor for every cell: a tenth would shift the last one.
            element.set(key, value)
        elif key == "clip-path":
            element.set(key, f"url(#{names[value[5:-1]]})")
        elif key in NUMBERS and element.tag != "image" and not value.startswith("rotate(-0 "):
            element.set(key, _compact(value) if key == "d" else _rounded(value))
    if declared:
        text = "; ".join(f"{key}: {value}" for key, value in declared.items())
        element.set("class", classes.setdefault(text, f"f{len(classes)}"))


def _declarations(element: Element) -> Declarations:
    return dict(_parsed(element.get("style", "")))


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Declarations:
    pairs = [part.split(":", 1) for part in text.split(";") if part.strip()]
    found = {key.strip(): _themed(value.strip()) for key, value in pairs}
    found.pop("font-family", None)
    return found


def _themed(value: str) -> str:
    return next((f"var(--{name})" for name, shade in PALETTE.items() if value == shade.light), value)


def _invisible(element: Element) -> bool:
    declared = _declarations(element)
    return element.tag == "path" and declared.get("fill") == "none" and "stroke" not in declared


def _rounded(value: str) -> str:
    return re.sub(r"-?\d*\.\d+(e-?\d+)?", lambda m: f"{round(float(m[0]), 1):g}", value)


def _compact(path: str) -> str:
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(" ".join(path.split())))
