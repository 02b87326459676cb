"""`ablate guide`: pages that ship with the package, in the terminal and as HTML."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from harness import ablate

from ablate.cli import main
from ablate.commands import guide
from ablate.commands.guide import about, html, topics


class Links(HTMLParser):
    """What a page refers to, and which identifiers it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src"):
                self.targets.append(str(value))
            if name == "id":
                self.ids.append(str(value))


def test_topics_are_listed_with_a_line_each(tmp_path: Path) -> None:
    done = ablate("guide", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[: len(topics())]] == topics()
    assert max(map(len, lines)) <= 80
    assert {"verdicts", "study", "fair", "own-parts", "results", "mlflow", "faq", "cite"} < set(topics())


@pytest.mark.parametrize("topic", topics())
def test_a_page_begins_with_its_title_and_a_line_about_it_and_is_shown_whole(topic: str) -> None:
    text = guide.text_of(topic)
    title, empty, line, blank = text.splitlines()[:4]
    assert (title[:2], empty, blank, line, line[-1]) == ("# ", "", "", about(topic), ".")
    assert len(re.findall("^# ", re.sub("```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)) == 1
    shown = guide.rendered(text, 80)
    assert shown.count("…") == text.count("…")
    code = "".join(re.findall(r"```\w*\n(.*?)```", text, re.DOTALL))
    assert {line.strip() for line in code.splitlines()} <= {line.strip() for line in shown.splitlines()}


def test_a_new_page_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.md").write_text("# Mine\n\nA page of mine.\n\nSee [this](https://example.org).\n")
    monkeypatch.setattr(guide, "PAGES", tmp_path)
    assert topics() == ["mine"]
    assert about("mine") == "A page of mine."
    assert '<a href="https://example.org">this</a>' in html(["mine"])


def test_a_page_is_shown_without_escape_sequences_where_nobody_reads(tmp_path: Path) -> None:
    done = ablate("guide", "verdicts", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\033" not in done.stdout
    assert "inconclusive" in done.stdout
    assert "Bouthillier" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("call", "message"),
    [(["verdict"], "'verdict' is not one of "), (["cite", "--html", "no/page.html"], "no/page.html")],
)
def test_what_cannot_be_is_refused(tmp_path: Path, call: list[str], message: str) -> None:
    done = ablate("guide", *call, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_html_needs_no_other_file(tmp_path: Path) -> None:
    done = ablate("guide", "--html", "all.html", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Wrote all.html\n", "")
    text = (tmp_path / "all.html").read_text()
    links = Links(text)
    assert [link.removeprefix("#") for link in links.targets if link.startswith("#")] == topics()
    assert links.ids == topics()
    assert all(link.startswith(("#", "https://", "data:")) for link in links.targets)
    assert any(link.startswith("data:image/svg+xml;base64,") for link in links.targets)
    assert "<table>" in text
    assert "```" not in text


def test_a_page_is_opened_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is a script that keeps the address."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/address\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = ablate("guide", "cite", "--open", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = Path((tmp_path / "address").read_text().strip().removeprefix("file://"))
    assert "How to cite" in page.read_text()


def test_topics_complete() -> None:
    completed = ShellComplete(main, {}, "ablate", "_ABLATE_COMPLETE").get_completions(["guide"], "ver")
    assert [item.value for item in completed] == ["verdicts"]
