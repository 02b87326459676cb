"""`ablate export`: what it writes, where, and how it says what a paper needs."""

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
    return sorted(path.name for path in folder.iterdir())


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
    assert rf"\providecommand{{\ablatefolder}}{{{paper}}}" in (paper / "forest.tex").read_text()
    assert r"a\&b &" in (paper / "comparisons.tex").read_text()
    assert files(results / "x_1") == ["curves.parquet", "paper", "trials.parquet"]


def test_another_folder_another_width_and_one_figure_of_a_folder(results, tmp_path):
    out = tmp_path / "paper"
    done = call(tmp_path, results / "x_1", "--out", out, "--width", "3.3", "--only", "forest")
    assert done.exit_code == 0, done.output
    assert files(out) == ["forest.pdf", "forest.svg", "forest.tex"]
    assert "237.6" in (out / "forest.svg").read_text()
