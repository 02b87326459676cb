"""Reports as text, whole: published studies and made ones, against those in `golden/`.

`ABLATE_GOLDEN=write pytest tests/report/test_golden.py` writes them again; read the difference before it is committed.
"""

import os
import re
from pathlib import Path

import pytest
from markupsafe import Markup
from reports import MADE

from ablate.pipeline.judging import judge_evidence
from ablate.records.folder import StudyFolder
from ablate.report.page import markdown_line, written
from ablate.report.section import Text, unfolded
from ablate.report.sections import pictures, shown
from ablate.report.terminal import summary

GOLDEN = Path(__file__).parent / "golden"
PUBLISHED = ["quickstart", "stability", "atlas/02-cost", "sweep-digits"]
RESULTS = Path(__file__).parents[2] / "results"


def report(folder):
    """The page as markdown, and what the terminal and MLflow show; figures are not drawn."""
    found = judge_evidence(folder)
    sections = shown(found)
    blocks = list(unfolded(block for section in sections for block in section.blocks))
    failed = [block.words for block in blocks if isinstance(block, Text) and block.fault]
    assert not failed
    return written("report.md", found, sections, {picture.name: Markup() for picture in pictures(sections)})


@pytest.mark.fast_cases(14)
@pytest.mark.parametrize("name", [*PUBLISHED, *MADE])
def test_a_report_says_what_it_said(name, tmp_path):
    folder = StudyFolder.at(RESULTS / name) if name in PUBLISHED else StudyFolder.at(tmp_path / name)
    if name in MADE:
        folder.save_evidence(MADE[name]())
    text, path = report(folder).replace(str(tmp_path), "RESULTS"), GOLDEN / f"{Path(name).name}.md"
    if os.environ.get("ABLATE_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.md")), ids=lambda path: path.stem)
def test_a_report_reads_well(path):
    """Numbers are written one way; nothing is left of a template, of an unknown number, or of words that went."""
    text = path.read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    text = text.split("## How it was run")[0]
    for line in text.splitlines():
        assert "nan" not in re.split(r"\W+", line.lower()), line
        assert "{{" not in line, line
        assert not re.search(r"[a-z]\.[A-Z]", re.sub(r"`[^`]*`", "", line)), line
    # The notes of a study are the user's own words.
    assert not re.findall(r"(?<![\w.])\.\d+", re.sub(r"(?s)\n## Notes\n.*?(?=\n## )", "", text))
    text = text.replace("\n", " ")
    for went in (
        "none that there can be",
        "nothing that is judged",
        "at the level of the family",
        "as near as it can",
    ):
        assert went not in text


def test_mlflow_and_the_terminal_show_the_first_screen(folder):
    shown = StudyFolder.at(folder)
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert [line for line in shown.answer() if markdown_line(line) not in page] == []
    for table in summary(shown, shown.facts()):
        assert sum(not column.below for column in table.columns) <= 8
        assert table.caption.split(";")[0] in page
