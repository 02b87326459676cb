"""The page in a real browser."""

from __future__ import annotations

import io
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Browser
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")]
WIDTHS = [1400, 380]
BOXES = """
[...document.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect());
    return {
        left: box.left, right: box.right, width: box.width, height: box.height,
        textLeft: Math.min(...texts.map(t => t.left)), textRight: Math.max(...texts.map(t => t.right)),
        fontSize: Math.min(...[...svg.querySelectorAll("text")].map(t =>
            parseFloat(getComputedStyle(t).fontSize) * box.width / svg.viewBox.baseVal.width)),
    };
})
"""
HEADINGS = """
[...document.querySelectorAll("h1, h2, h3, h4")].filter(h => h.offsetParent).map(h => +h.tagName[1])
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM
    opened = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    return folder / "report.html"


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_complained_of_and_nothing_is_requested(
    browser: Browser, report: Path, width: int
) -> None:
    browser.open(report, width=width)
    browser.screenshot()
    complaints = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
    assert [event for event in browser.events if event["method"] in complaints] == []
    requests = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert requests == [report.resolve().as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_in_view_once(browser: Browser, report: Path, width: int) -> None:
    browser.open(report, width=width)
    shown = browser.evaluate(BOXES)
    assert len(shown) == 6
    for box in shown:
        assert box["height"] > 100
        assert box["left"] >= 0
        assert box["right"] <= width
        # In the font of this machine, which is not the one that the figure was laid out with.
        assert box["textLeft"] >= box["left"] - 1
        assert box["textRight"] <= box["right"] + 1
        assert box["fontSize"] > 6, "the smallest text of a figure is legible"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_never_scrolls_sideways(browser: Browser, report: Path, width: int) -> None:
    browser.open(report, width=width)
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("width", WIDTHS)
def test_light_and_dark(browser: Browser, report: Path, width: int) -> None:
    pictures = {}
    for theme in ("light", "dark"):
        browser.open(report, width=width, theme=theme)
        picture = Image.open(io.BytesIO(browser.screenshot())).convert("L")
        pictures[theme] = np.asarray(picture)
    light, dark = pictures["light"], pictures["dark"]
    assert light.shape == dark.shape
    assert np.median(light) > 250
    assert np.median(dark) < 40
    assert light.min() < 60
    assert dark.max() > 200
    # What a figure draws is told from its paper in both.
    assert (np.abs(light.astype(int) - np.median(light)) > 60).mean() > 0.01
    assert (np.abs(dark.astype(int) - np.median(dark)) > 60).mean() > 0.01


def test_keyboard_and_landmarks(browser: Browser, report: Path) -> None:
    browser.open(report, width=1400)
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the findings"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().top >= 0")
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.id") == "main"
    for landmark in ("header", "main", "nav[aria-label]"):
        assert browser.evaluate(f"document.querySelectorAll('{landmark}').length") == 1
    levels = browser.evaluate(HEADINGS)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    wide = "[...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0 && e.ariaLabel)"
    assert browser.evaluate(wide)


def test_tables_too_wide_for_a_phone_scroll_by_themselves(browser: Browser, report: Path) -> None:
    browser.open(report, width=380)
    found = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.offsetParent)"
        ".map(e => [e.scrollWidth > e.clientWidth, e.getBoundingClientRect().right])"
    )
    assert any(overflows for overflows, _ in found)
    assert all(right <= 380 for _, right in found)


def test_nothing_is_clipped_on_paper(browser: Browser, report: Path) -> None:
    browser.open(report, width=1400, theme="dark")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 3
    # What a sheet shows: A4 less its margins, at 96 pixels to the inch.
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    width = round((210 - 2 * 16) / 25.4 * 96)
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 254)"
    assert len([box for box in browser.evaluate(BOXES) if box["width"]]) == 6
    tables = "[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect())"
    boxes = browser.evaluate(f"{tables}.map(b => [b.width, b.right])")
    assert boxes
    assert all(wide > 0 and right <= width + 1 for wide, right in boxes), boxes
