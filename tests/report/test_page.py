import dataclasses
import io
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from rich.console import Console
from synthetic import UGLY, study

from ablate.core.facts import Evidence
from ablate.core.metric import Metric
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.report.section import Items, Text
from ablate.report.sections import differences
from ablate.report.sections.runs import Incidents, prose
from ablate.report.sentences.reason_words import because
from ablate.report.terminal import print_verdicts

SMALL = {"model.norm": {"layer": 0.0, "batch": -0.03}}
VOID = {"meta", "link", "img", "br", "wbr", "hr", "input"}


class Page(HTMLParser):
    """Elements, text and nesting of a page."""

    def __init__(self, source):
        super().__init__()
        self.elements = []
        self.text = self.script = ""
        self.open = []
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.script += data
        elif "style" not in self.open:
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def source(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


def test_names_of_the_study_are_text(page):
    assert len(page.all("script")) == 1, "its own, in which nothing of a study stands"
    assert "alert" not in page.script
    assert not page.all("b")
    assert page.text.count(UGLY) >= 4
    assert 'is "<b>norm</b>" one of them?' in page.text


def test_nothing_is_loaded(source, page, folder):
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", source)
    for tag, attributes in page.elements:
        assert not {"src", "onload", "onclick"} & set(attributes), tag
        href = attributes.get("href") or "#"
        assert href.startswith("#") or (folder / href).is_file(), "its own places, and files beside it"


def test_identifiers_are_unique_and_references_lead_somewhere(source, page):
    identifiers = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert [name for name, n in identifiers.items() if n > 1] == []
    referred = {a["href"][1:] for _, a in page.elements if (a.get("href") or "").startswith("#")}
    referred |= set(re.findall(r"url\(#([^)]*)\)", source))
    referred |= {str(a["aria-labelledby"]) for _, a in page.elements if "aria-labelledby" in a}
    assert referred <= set(identifiers)


def test_figures_and_tables_are_described(page):
    figures = [a for a in page.all("div") if a.get("role") == "img"]
    assert len(figures) == 5
    assert all(len(a["aria-label"] or "") > 30 for a in figures)
    assert page.all("th")
    assert all(a.get("scope") in ("col", "row") for a in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert page.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")


def test_what_a_busy_reader_needs_is_open_and_the_rest_is_folded(source):
    folded = re.findall(r'<details>\n<summary><h2 id="([^"]*)"', source)
    opened = [name for name in re.findall(r'<h2 id="([^"]*)"', source) if name not in folded]
    assert opened == ["headline", "forest", "verdicts", "claims"]
    assert {"notes", "stability", "seeds", "curves", "cost", "comparisons", "provenance"} <= set(folded)
    summaries = re.findall(r"<summary>(<h2.*?)</summary>", source)
    assert len(summaries) == len(folded)
    assert all('class="inside"' in summary for summary in summaries), "the title says what is inside"


def test_tables_link_their_files_and_names_have_their_paths(page, source):
    files = {a["href"] for a in page.all("a") if "download" in a}
    assert {"comparisons.csv", "claims.csv", "trials.parquet"} <= files
    assert '<th scope="row" title="model.position=none">no positions</th>' in source


@pytest.mark.slow
def test_a_reason_names_variants_for_readers(publish):
    evidence = study(factors=SMALL | {"a.lr": {"1": 0.0, "0.02": 0.0}}, named={}, claims=False, num_seeds=2)
    folder = publish(with_status(evidence, "failed", of="a.lr=0.02"))
    source = (folder / "report.html").read_text()
    assert because("incomplete pairs=0 missing=2") in source
    assert "incomplete pairs=0 missing=2" in (folder / "comparisons.csv").read_text()
    assert "learning rate 0.02" in source
    assert "0.<wbr>" not in source, "no line breaks inside a number"


@pytest.mark.slow
def test_notes_are_running_text(publish):
    evidence = study(factors=SMALL, named={}, claims=False, num_seeds=2)
    notes = "one\nline\n\n- an item\n  of two lines\n- <b>another</b>\n"
    folder = publish(
        Evidence(dataclasses.replace(evidence.facts, notes=notes), evidence.trials, evidence.curves)
    )
    source = (folder / "report.html").read_text()
    assert '<p class="text">one line</p>' in source
    assert "<li>an item of two lines</li>" in source
    assert "- an item of two lines\n- &lt;b&gt;another&lt;/b&gt;\n" in (folder / "report.md").read_text()


def test_the_markdown_says_the_same(folder):
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "<" not in text
    assert "&lt;script&gt;" in text
    assert "\\# not a heading &#124; nor a cell" in text
    shown = re.findall(r"!\[[^\]]{30,}\]\((.*?)\)", text)
    assert shown
    assert text.count("figures/") == len(shown), "folded sections are in the page for a browser"
    assert all((folder / picture).is_file() for picture in shown)


@pytest.mark.slow
def test_the_same_evidence_gives_the_same_bytes(publish):
    evidence = study(factors=SMALL, named={}, claims=False, num_seeds=3)
    first, second = publish(evidence, "a"), publish(evidence, "b")
    for path in sorted(p for p in first.rglob("*") if p.is_file()):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes(), path.name


@pytest.mark.slow
def test_pictures_of_an_earlier_report_go(publish):
    evidence = study(factors=SMALL, named={}, claims=False, num_seeds=3, placebo=False)
    folder = publish(evidence)
    without = Evidence(evidence.facts, evidence.trials, evidence.curves.iloc[:0])
    (folder / "figures" / "notes.txt").write_text("kept")
    (folder / "figures" / "mine.svg").write_text("not of the report")
    (folder / "figures" / "mine.png").write_text("not of the report")
    publish(without)
    names = {path.name for path in (folder / "figures").iterdir()}
    kept = {f"{name}.svg" for name in ("forest", "seeds", "cost")}
    assert names == {*kept, "forest.png", "notes.txt", "mine.svg", "mine.png"}


def test_a_study_without_trials(publish):
    evidence = study(factors=SMALL, named={}, claims=False, num_seeds=2)
    folder = publish(Evidence(evidence.facts, evidence.trials.iloc[:0], evidence.curves.iloc[:0]))
    assert "No baseline run has an outcome" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_nothing_that_controls_or_deceives_is_in_a_page_a_picture_or_the_terminal(publish):
    bad = "\x1b[31mred\x1b[2J\x07\u202eesrever\u2066\u200b\ufeff\x85"
    kept = "e\u0301 שלום\u200f 👩\u200d👧"
    found = study(factors=SMALL, named={bad: -0.1}, claims=False, num_seeds=3)
    facts = dataclasses.replace(found.facts, question=f"Q {bad} {kept}", notes=f"N {bad} {kept}")
    folder = publish(Evidence(facts, found.trials.assign(reason=f"R {bad}"), found.curves))
    written = {
        path.name: path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in (".html", ".md", ".svg")
    }
    buffer = io.StringIO()
    reported = StudyFolder.at(folder)
    print_verdicts(reported, reported.facts(), Console(file=buffer, width=200))
    for name, text in {**written, "terminal": buffer.getvalue()}.items():
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", text), (
            name
        )
    for name in ("report.html", "report.md"):
        assert kept in written[name]
        assert r"\u202eesrever" in written[name].replace("\\\\", "\\")


@pytest.mark.slow
def test_a_figure_that_is_seen_without_unfolding_is_a_png_file_too(publish, evidence):
    folder = publish(evidence)
    [image] = folder.rglob("*.png")
    assert image == folder / "figures/forest.png"
    assert image.read_bytes().startswith(b"\x89PNG")
    assert 'href="figures/forest.png"' in (folder / "report.html").read_text()


def with_status(evidence, status, of=""):
    """All trials of one variant, or of every one, end with this status, and have no numbers."""
    trials = evidence.trials.copy()
    rows = trials["variant"].eq(of) if of else trials["seed"].ge(0)
    trials.loc[rows, "status"] = status
    trials.loc[rows, ["accuracy", "loss"]] = float("nan")
    return Evidence(evidence.facts, trials, evidence.curves)


def without_floors(evidence):
    def bare(task):
        return dataclasses.replace(
            task, metrics={name: Metric(m.direction) for name, m in task.metrics.items()}
        )

    facts = dataclasses.replace(evidence.facts, tasks=list(map(bare, evidence.facts.tasks)))
    return Evidence(facts, evidence.trials, evidence.curves)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["diverged", "failed", "pruned"])
def test_a_study_without_any_result_has_a_report(publish, status):
    few = with_status(study(factors=SMALL, num_seeds=2, named={}), status)
    bare = without_floors(few)
    for name, evidence in {
        "curves": few,
        "nothing": Evidence(bare.facts, bare.trials, bare.curves.iloc[:0]),
    }.items():
        folder = publish(evidence, name)
        assert "model.norm=batch" in (folder / "comparisons.csv").read_text()
        assert status in (folder / "report.md").read_text()


@pytest.mark.slow
def test_one_seed_one_trial_or_numbers_that_are_not_finite_are_drawn(publish):
    one = study(factors=SMALL, num_seeds=1)
    publish(one, "a")
    publish(Evidence(one.facts, one.trials.iloc[:1], one.curves), "b")
    publish(Evidence(one.facts, one.trials.assign(accuracy=float("inf")), one.curves), "c")
    publish(Evidence(one.facts, one.trials, one.curves.assign(value=float("nan"))), "d")


@pytest.mark.slow
def test_a_figure_that_cannot_be_drawn_is_a_line_of_the_page_and_a_warning(tmp_path, monkeypatch):
    folder, warnings, judged = StudyFolder.at(tmp_path / "far"), [], []

    def fail(*given):
        judged.append((folder.path / "comparisons.csv").exists())
        raise ValueError("broken <b>")

    monkeypatch.setattr(differences, "seed_differences", fail)
    folder.save_evidence(study(factors=SMALL, num_seeds=1, named={}, placebo=False))
    write_report(folder, warnings.append)
    assert judged == [True], "verdicts are written before anything is drawn"
    said = "The figure “Every seed” could not be drawn: ValueError: broken "
    assert warnings == [f"{folder.report_file}: {said}<b>"]
    page = (folder.path / "report.html").read_text(encoding="utf-8")
    assert said in page
    assert "seeds.svg" not in page
    assert "seeds.svg" not in (folder.path / "report.md").read_text(encoding="utf-8")
    assert (folder.path / "figures/forest.svg").exists()


@pytest.mark.slow
def test_a_section_that_fails_is_a_line_of_the_page_and_a_warning(tmp_path, evidence, monkeypatch):
    def fail(*given):
        raise ValueError("broken <b>")

    monkeypatch.setattr(Incidents, "blocks", fail)
    monkeypatch.setattr(Incidents, "findings", fail)
    folder, warnings = StudyFolder.at(tmp_path / "x"), []
    folder.save_evidence(evidence)
    write_report(folder, warnings.append)
    said = "“Runs without a result” {} ValueError: broken <b>"
    assert warnings == [
        f"{folder.report_file}: What {said.format('has found could not be drawn:')}",
        f"{folder.report_file}: The section {said.format('could not be drawn:')}",
    ]
    page = Page((folder.path / "report.html").read_text(encoding="utf-8"))
    assert page.text.count("ValueError: broken <b>") == 2
    assert "Differences" in page.text


LONG = "a line that goes on to the edge of the file,"


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("one line\nand its end\n  \n\nanother\n", [Text("one line and its end"), Text("another")]),
        (" \n", []),
        (
            f"{LONG}\nand ends.\n{LONG}\nno end\nhere.",
            [Text(f"{LONG} and ends."), Text(f"{LONG} no end here.")],
        ),
        (
            "First:\n- a\n  goes on\n* b\n\nThen\nall",
            [Text("First:"), Items(["a goes on", "b"]), Text("Then all")],
        ),
    ],
)
def test_running_text_has_paragraphs_and_lists(text, blocks):
    assert prose(text) == blocks
