"""What `ablate ui` shows of a finished study, in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser import Browser
from harness import ablate
from mlflow_helpers import query

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed"),
]
STUDY = """
name: small
question: Does order matter?
task: {name: recall, vocab_size: 16, seq_len: 10, num_pairs: 1}
model: {d_model: 8, num_layers: 1, mixer: {name: attention, num_heads: 2}}
training: {steps: 6, batch_size: 8, eval_every: 2}
factors: {model.position: [none]}
seeds: 2
"""
TRIALS = {f"{variant} · seed 0{seed}" for variant in ("baseline", "model.position=none") for seed in (0, 1)}
# What the runs page lists: MLflow draws a row in pieces, of which one has the link to the run.
RUNS = """
[...document.querySelectorAll('[role=row] a')].filter(a => a.hash.includes('/runs/')).map(a => a.textContent)
"""
# Every chart that has been drawn: the number of points on its line.
LINES = """
[...document.querySelectorAll('.js-plotly-plot .js-line')].map(line => line.getAttribute('d').split('L').length)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of two variants over two seeds, with curves."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "study.yaml").write_text(STUDY)
    done = ablate("run", "study.yaml", "--jobs", 0, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "results"


@pytest.fixture(scope="module")
def links(results: Path) -> Iterator[dict[str, str]]:
    """What `ablate ui` prints: title → address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "ablate", "ui", "--results", results, "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        lines = [server.stdout.readline().strip() for _ in range(2)]
        yield dict(re.fullmatch(r"(.+): (http\S+).*", line).groups() for line in lines)  # type: ignore[union-attr,misc]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM
    opened = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def run_page(results: Path, links: dict[str, str], name: str, tab: str = "") -> str:
    [(run,)] = query(results, f"SELECT run_uuid FROM runs WHERE name = '{name}'")
    base, _, rest = links["small"].partition("?")
    return f"{base}/{run}{tab}?{rest}"


def show(browser: Browser, page: str, width: int = 1400) -> None:
    # Pages of MLflow differ by what follows '#', which would not load anything anew.
    browser.open("about:blank", width=width)
    browser.open(page, width=width)


def complaints(browser: Browser, page: str) -> list[Any]:
    """Errors that the browser has reported, without those that an MLflow with nothing in it causes as well."""
    found = []
    for event in browser.events:
        about = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            found.append(about["exceptionDetails"])
        elif event.get("method") == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            said = " ".join(str(part.get("value", part.get("description"))) for part in about["args"])
            if "ResizeObserver loop" not in said:
                found.append(said)
        elif event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            url = urlsplit(about["entry"].get("url", page))
            # Without accounts nobody is signed in; without a network nothing from elsewhere is loaded.
            if url.netloc == urlsplit(page).netloc and not url.path.endswith("/users/current"):
                found.append(about["entry"])
    return found


def test_runs_are_nested_under_the_study(browser: Browser, links: dict[str, str]) -> None:
    page = links["small"]
    show(browser, page, width=3000)  # columns out of sight are not in the page
    assert browser.wait_for(f"({RUNS}).length && {RUNS}") == ["small"]
    assert "/runs?" in browser.evaluate("location.href"), "MLflow has led elsewhere"
    # The parent's name stands beside what unfolds it.
    browser.evaluate(
        "document.querySelector('[role=row] a[href*=\"/runs/\"]').closest('[role=gridcell]')"
        ".querySelector('button').click()"
    )
    browser.wait_for(f"({RUNS}).length > 1")
    names = browser.wait_for(f"({RUNS}).length == {1 + len(TRIALS)} && {RUNS}")
    assert names[0] == "small"
    assert set(names[1:]) == TRIALS
    headings = "[...document.querySelectorAll('[role=columnheader]')].map(h => h.textContent.trim())"
    assert {"accuracy", "loss", "parameters", "grad_norm_max"} <= set(browser.evaluate(headings))
    assert complaints(browser, page) == []


def test_the_list_of_studies_names_this_one(browser: Browser, links: dict[str, str], results: Path) -> None:
    page = links[f"MLflow on {results}"]
    show(browser, page)
    browser.wait_for("[...document.querySelectorAll('a')].some(a => a.textContent === 'small')")
    assert complaints(browser, page) == []


def test_the_parent_shows_the_verdicts_as_a_table(
    browser: Browser, links: dict[str, str], results: Path
) -> None:
    page = run_page(results, links, "small")
    show(browser, page)
    rows = "[...document.querySelectorAll('table tr')].map(r => [...r.children].map(c => c.textContent))"
    every = browser.wait_for(f"({rows}).length && {rows}")
    table = every[[row[:2] for row in every].index(["Variant", "Verdict"]) :]
    assert table[1][0] == "no positions"
    assert "|" not in "".join(cell for row in table for cell in row), "Markdown that was not understood"
    links_to_runs = "[...document.querySelectorAll('a')].map(a => a.textContent)"
    browser.wait_for(
        f"{json.dumps(sorted(TRIALS))}.every(name => {links_to_runs}.some(a => a.includes(name)))"
    )
    assert complaints(browser, page) == []


def test_the_report_is_among_the_artifacts_and_opens(
    browser: Browser, links: dict[str, str], results: Path
) -> None:
    page = run_page(results, links, "small", "/artifacts")
    show(browser, page)
    node = "document.querySelector('[artifact-name=\"report.html\"]')"
    browser.wait_for(f"Boolean({node})")
    listed = browser.evaluate("[...document.querySelectorAll('[artifact-name]')].map(n => n.textContent)")
    tables = {"comparisons.csv", "claims.csv", "stability.csv"}
    assert set(listed) == {"figures", "report.html", "report.md", "study.yaml", *tables}
    browser.evaluate(f"{node}.click()")
    browser.wait_for("document.querySelector('iframe')?.clientHeight > 300")
    with browser.frame():
        assert browser.wait_for(
            "document.readyState === 'complete' && document.querySelector('h1').textContent"
        )
        assert browser.evaluate(
            "[...document.querySelectorAll('figure svg')].some(f => f.clientHeight > 100)"
        )
    assert complaints(browser, page) == []


def test_the_curves_of_a_trial_are_drawn(browser: Browser, links: dict[str, str], results: Path) -> None:
    page = run_page(results, links, "baseline · seed 00", "/model-metrics")
    show(browser, page)
    # Charts are drawn as they come into view; 'grad_norm' is one of the first.
    browser.wait_for("document.body.innerText.includes('grad_norm')")
    text = browser.evaluate("document.body.innerText")
    assert text.index("Curves") < text.rindex("Model metrics")
    assert browser.wait_for(f"({LINES}).some(points => points === 3) && {LINES}")
    assert complaints(browser, page) == []
