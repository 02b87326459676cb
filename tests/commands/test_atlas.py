"""`ablate atlas`: a card for each study that makes claims, on published results."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from harness import ablate_here

PUBLISHED = Path(__file__).parents[2] / "results"


@pytest.mark.slow
def test_a_page_and_a_figure_of_the_users_stay(tmp_path):
    shutil.copytree(PUBLISHED / "digits", tmp_path / "digits")
    for name in ("atlas.svg", "README.md"):
        (tmp_path / name).write_text("mine")
        assert ablate_here("atlas", tmp_path, cwd=tmp_path).returncode == 2
        assert (tmp_path / name).read_text() == "mine"
    (tmp_path / "atlas.svg").unlink()
    (tmp_path / "README.md").unlink()
    (tmp_path / "README.md").symlink_to("page.md")
    for _ in range(2):
        assert ablate_here("atlas", tmp_path, cwd=tmp_path).returncode == 0
    assert "digits" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "README.md").is_symlink()


def test_a_verdict_is_printed_where_repeating_it_gave_the_same(tmp_path):
    for name in ("digits", "stability"):
        shutil.copytree(PUBLISHED / name, tmp_path / name)
    shutil.copytree(PUBLISHED / "digits", tmp_path / "digits@confirm")
    path = tmp_path / "digits@confirm/claims.csv"
    table = pd.read_csv(path)
    decided = table.index[table["verdict"] != "inconclusive"]
    table.loc[decided[0], "verdict"] = "inconclusive"
    table.to_csv(path, index=False)
    done = ablate_here("atlas", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "README.md").read_text()
    digits, stability = re.split("^## ", page, flags=re.MULTILINE)[1:]
    # What is confirmed comes first.
    assert (digits.split()[0], stability.split()[0]) == ("digits", "stability")
    assert (digits.count("▲ supported"), digits.count("| not confirmed |")) == (len(decided) - 1, 1)
    assert ("supported" in stability, stability.count("| not confirmed |")) == (False, 1)
    assert "`ablate run studies/digits.yaml`" in digits
    figure = (tmp_path / "atlas.svg").read_text()
    assert ">not confirmed: 1 of 2<" in figure, "the other is about another metric"
    assert f">supported: {len(decided) - 1} of {len(decided) - 1}<" in figure
