"""`ablate export`: what it writes, where, and how it says what a paper needs."""

import os

import numpy as np
import pytest
from click.testing import CliRunner
from made_evidence import study

from ablate.cli import main
from ablate.records.folder import StudyFolder

SPREAD = np.array([0.01, -0.012, 0.008, -0.006, 0.011, -0.011])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The evidence of a study alone: neither store, nor page, nor verdicts."""
    results = tmp_path_factory.mktemp("export") / "results"
    StudyFolder(results, "x_1").save_evidence(
        study({"baseline": 0.8 + SPREAD, "a&b": 0.85 - SPREAD}, margin=0.02)
    )
    return results


def call(results, *arguments):
    words = ["export", *map(str, arguments), "--results", str(results)]
    return CliRunner().invoke(main, words)


def files(folder):
    return sorted(path.name for path in folder.glob("[!.]*"))


@pytest.mark.slow
def test_a_study_becomes_a_table_and_figures_beside_its_results(results):
    done = call(results, "x_1")
    assert done.exit_code == 0, done.output
    paper = results / "x_1" / "paper"
    figures = [f"{name}.{end}" for name in ("forest", "seeds") for end in ("pdf", "svg", "tex")]
    assert files(paper) == sorted(
        [
            "comparisons.tex",
            "methods.md",
            "methods.tex",
            "references.bib",
            "results.tex",
            "summary.pdf",
            "summary.svg",
            *figures,
        ]
    )
    lines = done.output.splitlines()
    assert lines[0].startswith(f"Wrote 13 files to {paper}/")
    inputs = [
        f"\\input{{{paper}/{name}}}" for name in ("results", "comparisons", "methods", "forest", "seeds")
    ]
    assert lines[1:] == inputs
    assert rf"\providecommand{{\ablatemadefigures}}{{{paper}}}" in (paper / "forest.tex").read_text()
    assert r"a\&b &" in (paper / "comparisons.tex").read_text()
    assert files(results / "x_1") == ["curves.parquet", "paper", "trials.parquet"]


@pytest.mark.slow
def test_another_folder_another_width_and_one_figure_of_a_folder(results, tmp_path):
    out = tmp_path / "paper"
    done = call(tmp_path, results / "x_1", "--out", out, "--width", "3.3", "--only", "forest")
    assert done.exit_code == 0, done.output
    assert files(out) == ["forest.pdf", "forest.svg", "forest.tex"]
    assert "237.6" in (out / "forest.svg").read_text()


@pytest.mark.slow
def test_what_export_did_not_write_stays_unless_it_is_told_to_write_over_it(results, tmp_path):
    out = tmp_path / "paper"
    out.mkdir()
    (out / "references.bib").write_text("my own papers")
    words = (results / "x_1", "--out", out, "--only", "methods")

    assert (call(tmp_path, *words).exit_code, files(out)) == (2, ["references.bib"])
    assert (out / "references.bib").read_text() == "my own papers"
    assert call(tmp_path, *words, "--overwrite").exit_code == 0
    written = {name: (out / name).read_text() for name in files(out)}
    assert "@" in written["references.bib"]

    # Its own files, also where one is gone.
    (out / "methods.md").unlink()
    assert call(tmp_path, *words).exit_code == 0
    assert {name: (out / name).read_text() for name in files(out)} == written
    # One that was edited since, and those of another study.
    (out / "methods.tex").write_text("rewritten by hand")
    assert call(tmp_path, *words).exit_code == 2
    assert (out / "methods.tex").read_text() == "rewritten by hand"
    (out / "methods.tex").unlink()
    other = StudyFolder(tmp_path, "other")
    other.save_evidence(study({"baseline": 0.8 + SPREAD, "b": 0.7 - SPREAD}, margin=0.02))
    for folder, code in ((results / "x_1", 0), (other.path, 2)):
        assert call(tmp_path, folder, "--out", out, "--only", "comparisons").exit_code == code
    # A list of files that says nothing is as none.
    (out / ".ablate-export.json").write_text("[" * 100_000)
    assert call(tmp_path, *words).exit_code == 0, "the content is the same"


@pytest.mark.slow
def test_links_are_written_through_and_pipes_are_refused(results, tmp_path):
    out = tmp_path / "paper"
    elsewhere = tmp_path / "elsewhere.tex"
    out.mkdir()
    (out / "methods.tex").symlink_to(elsewhere)
    (tmp_path / "link").symlink_to(out)
    words = (results / "x_1", "--out", tmp_path / "link", "--only", "methods")
    for _ in range(2):
        assert call(tmp_path, *words).exit_code == 0
    assert (out / "methods.tex").is_symlink()
    assert "Statistical methods" in elsewhere.read_text()

    (out / "methods.md").unlink()
    os.mkfifo(out / "methods.md")
    assert call(tmp_path, *words, "--overwrite").exit_code == 2
    assert (out / "methods.md").is_fifo()
    os.mkfifo(tmp_path / "pipe")
    assert call(tmp_path, results / "x_1", "--out", tmp_path / "pipe").exit_code == 2
