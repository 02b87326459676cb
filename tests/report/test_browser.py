"""The page in a real browser."""

import io
import itertools
import re
import shutil

import numpy as np
import pytest
from browser import Browser
from PIL import Image

from ablate.base import wording

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")]
WIDTHS = [1400, 400]
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
UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true })"
COLUMN = """
[...document.querySelector('{table}').tBodies]
    .map(b => b.rows[0].cells[{column}].textContent.replaceAll('\\u00a0', ' '))
"""
HEADINGS = """
[...document.querySelectorAll("h1, h2, h3, h4")].filter(h => h.offsetParent).map(h => +h.tagName[1])
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    assert CHROMIUM
    opened = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def report(folder):
    return folder / "report.html"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_complained_of_and_nothing_is_requested(browser, report, width):
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


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_in_view_once(browser, report, width):
    browser.open(report, width=width)
    browser.evaluate(UNFOLD)
    shown = browser.evaluate(BOXES)
    assert len(shown) == 5
    for box in shown:
        assert box["height"] > 100
        assert box["left"] >= 0
        # On a narrow screen a figure scrolls.
        assert box["right"] <= max(width, 600)
        # In the font of this machine, which is not the one that the figure was laid out with.
        assert box["textLeft"] >= box["left"] - 1
        assert box["textRight"] <= box["right"] + 1
        assert box["fontSize"] > 6, "the smallest text of a figure is legible"


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_never_scrolls_sideways(browser, report, width):
    browser.open(report, width=width)
    browser.evaluate(UNFOLD)
    assert browser.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("width", "some"), [(1300, ".scroll"), (1000, ".scroll"), (900, ".scroll:has(.many)")]
)
def test_no_column_of_a_table_is_cut_in_a_window_of_a_usual_width(browser, report, width, some):
    browser.open(report, width=width)
    browser.evaluate(UNFOLD)
    tables = f"[...document.querySelectorAll('{some}')]"
    assert browser.evaluate(f"{tables}.length") > 0
    assert (
        browser.evaluate(f"{tables}.filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel)") == []
    )


def test_a_claim_takes_few_lines_on_a_narrow_screen(browser, report):
    browser.open(report, width=400)
    claims = "[...document.querySelectorAll('section[aria-labelledby=claims] tbody th')]"
    heights = browser.evaluate(f"{claims}.map(t => t.getBoundingClientRect().height)")
    assert heights
    assert max(heights) < 90


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_light_and_dark(browser, report, width):
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


def test_keyboard_and_landmarks(browser, report):
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


@pytest.mark.slow
def test_nothing_is_clipped_on_paper(browser, report):
    browser.open(report, width=1400, theme="dark")
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 3
    # What a sheet shows: A4 less its margins, at 96 pixels to the inch.
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    width = round((210 - 2 * 14) / 25.4 * 96)
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 254)"
    assert len([box for box in browser.evaluate(BOXES) if box["width"]]) == 5
    tables = "[...document.querySelectorAll('table')].map(t => [t, t.getBoundingClientRect()])"
    boxes = browser.evaluate(f"{tables}.map(([t, b]) => [b.width, b.right, t.closest('.wide') !== null])")
    assert {across for _, _, across in boxes} == {True, False}
    # A table of many columns has a sheet of its own, on its side.
    side = round((297 - 2 * 14) / 25.4 * 96)
    for wide, right, across in boxes:
        assert wide > 0
        assert right <= (side if across else width) + 1
    browser.evaluate("document.querySelectorAll('.wide').forEach(e => e.remove())")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_busy_reader_sees_the_answer_the_figure_the_verdicts_and_the_claims(browser, report):
    browser.open(report, width=1400)
    tops = browser.evaluate(
        "[...document.querySelectorAll('h2')].map(h => [h.id, h.getBoundingClientRect().top])"
    )
    top = dict(tops)
    assert top["forest"] == pytest.approx(top["headline"], abs=30), "the figure stands beside the answer"
    assert max(top[name] for name in ("headline", "forest", "verdicts", "claims", "notes")) < 2000
    folded = "[...document.querySelectorAll('.folded > details')].every(d => !d.open)"
    assert browser.evaluate(folded)
    browser.open(report, width=400)
    assert browser.evaluate("document.getElementById('forest').getBoundingClientRect().left") < 40


@pytest.mark.slow
def test_a_link_unfolds_the_section_that_it_leads_to(browser, report):
    browser.open(report, width=1400)
    seeds = "document.getElementById('seeds').closest('details').open"
    assert not browser.evaluate(seeds)
    browser.evaluate("document.querySelector('nav a[href=\"#seeds\"]').click()")
    browser.wait_for(seeds)
    browser.wait_for("Math.abs(document.getElementById('seeds').getBoundingClientRect().top) < 100")
    browser.evaluate("document.getElementById('seeds').closest('details').open = false")
    browser.evaluate("document.querySelector('nav a[href=\"#seeds\"]').click()")
    browser.wait_for(seeds)
    browser.evaluate("document.querySelector('nav button').click()")
    assert browser.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    browser.open("about:blank", width=1400)
    browser.open(f"{report.resolve().as_uri()}#figure-cost", width=1400)
    browser.wait_for("document.getElementById('cost').closest('details').open")


def test_without_scripts_links_lead_to_what_unfolds(browser, report):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report, width=1400)
        missing = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash).offsetParent)"
        assert browser.evaluate(f"{missing}.map(a => a.hash)") == []
        assert browser.evaluate("document.querySelectorAll('thead button, nav button').length") == 0
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_tables_are_sorted_by_value_with_the_mouse_and_the_keyboard(browser, report):
    browser.open(report, width=1400)
    table, column = "section[aria-labelledby=verdicts] table", COLUMN

    def cells(index):
        return browser.evaluate(column.format(table=table, column=index))

    def order(index):
        return browser.evaluate(
            f"document.querySelectorAll('{table} thead th')[{index}].getAttribute('aria-sort')"
        )

    def value(cell):
        return float(cell.split(" [")[0].replace("−", "-").strip("~ +"))

    before, differences = cells(0), cells(2)
    browser.evaluate(f"document.querySelectorAll('{table} thead button')[2].focus()")
    browser.press("Enter")
    assert order(2) == "ascending"
    assert cells(2) == sorted(differences, key=value) != differences
    assert "−0.46" in cells(2)[0]
    notes = browser.evaluate(f"[...document.querySelector('{table}').tBodies].map(b => b.rows.length)")
    assert max(notes) == 2, "a note stays with its row"
    browser.press("Enter")
    assert (order(2), cells(2)) == ("descending", sorted(differences, key=value, reverse=True))
    browser.evaluate(f"document.querySelectorAll('{table} thead button')[0].click()")
    assert (order(0), order(2)) == ("ascending", None)
    assert cells(0) == sorted(before, key=str.casefold)
    for _ in range(2):
        browser.evaluate(f"document.querySelectorAll('{table} thead button')[0].click()")
    assert (order(0), cells(0)) == (None, before)


@pytest.mark.slow
def test_ratios_times_and_counts_are_sorted_by_what_they_stand_for(browser, report):
    browser.open(report, width=1400)
    cells = [
        "×1.905 [1.898, 1.912]", "×0.806", "923 µs", "3.60 ms", "12.0 s", "569k", "1.86M", "4.2 MB", "812 B",
        "5 of 5",
    ]  # fmt: skip
    found = browser.evaluate(f"{cells}.map(numberIn)")
    expected = [1.905, 0.806, 923e-6, 3.6e-3, 12, 569e3, 1.86e6, 4.2e6, 812, 5]
    assert found == pytest.approx(expected)
    assert wording.seconds(923e-6) == cells[2], "the same micro sign"
