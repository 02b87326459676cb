"""Mistaken studies, and runs that give too little or nothing: a clear error or a clear verdict, never a NaN."""

import re

import pytest
from harness import TOY_STUDY, ablate_here, toy_changed, with_database

from ablate.records.folder import StudyFolder

CLAIMS = """\
metric: {name: accuracy, margin: 0.05}
placebo: on
claims:
  - model.effect=0.2 beats baseline on accuracy
  - model.noise=0.3 matches baseline on accuracy within 0.01
  - model.effect=0.2 beats baseline on seed_spread
"""
VALUE = "value = 0.8 +"
ODD = "value = ({} if model['effect']{} else 0.8) +"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("old", "new", "seeds", "code", "claims"),
    [
        ("", "", 1, "few", ["inconclusive"] * 3),
        ('model["noise"] * float(np.mean(draws))', "0", 3, "", ["supported"] + ["inconclusive"] * 2),
        (VALUE, ODD.format("float('nan')", ""), 2, "incomplete", ["inconclusive"] * 3),
        (VALUE, ODD.format("float('inf')", " and trial.seed"), 3, "incomplete", ["inconclusive"] * 3),
        (
            'training["fault"] if trial.seed ==',
            '"raise" if model["effect"] and trial.seed ==',
            3,
            "incomplete",
            ["inconclusive"] * 3,
        ),
    ],
    ids=["one seed", "constant", "NaN", "infinite on some seeds", "a seed is missing for one variant"],
)
def test_runs_that_give_little_have_a_clear_verdict(old, new, seeds, code, claims, tmp_path):
    text = toy_changed(tmp_path, "altered", (old, new)) if old else TOY_STUDY
    (tmp_path / "study.yaml").write_text(text + CLAIMS)
    with_database(tmp_path / "results/store")
    done = ablate_here("run", "study.yaml", "--jobs", 0, "--seeds", seeds, cwd=tmp_path)
    assert done.returncode == ("raise" in new), done.stderr
    (folder,) = StudyFolder.all(tmp_path / "results")
    rows = folder.comparisons()
    assert rows[0]["variant"] == "model.effect=0.2"
    assert rows[0]["reason"].partition(" ")[0] == code
    assert rows[0]["verdict"] == ("inconclusive" if code else "better")
    assert [row["verdict"] for row in folder.claims()] == claims
    planned = ablate_here("plan", "study.yaml", "--seeds", seeds, cwd=tmp_path)
    for shown in (done.stdout, planned.stdout, (folder.path / "report.md").read_text()):
        assert not re.search(r"\b(nan|inf|[0-9.]+e[-−]1[5-9])\b", shown, re.IGNORECASE), shown
