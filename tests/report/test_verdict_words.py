"""An equivalence that also excludes 0 says so: in the terminal, on the page and in the answer, never in the data."""

import json

import pytest
from harness import ablate_here

from ablate.records.folder import StudyFolder
from ablate.report.sentences.verdict_words import apart_from_zero

TRAIN = """
def train(config, seed):
    wobble = ((7 * seed) % 5 - 2) * 0.001
    return {"score": 0.5 + config["gain"] + (wobble if config["gain"] else -wobble)}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "gain", "word"), [("max", 0.01, "better"), ("min", 0.01, "worse")])
def test_an_equivalence_that_excludes_zero_says_so(direction, gain, word, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "train.py").write_text(TRAIN)
    study = {
        "name": "near",
        "workload": {"function": "train.py:train"},
        "config": {"gain": 0.0},
        "metrics": {"score": {"direction": direction, "margin": 0.02}},
        "factors": {"config.gain": [gain]},
        "seeds": 5,
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=tmp_path)
    folder = StudyFolder(tmp_path / "results", "near")
    (row,) = folder.comparisons()
    assert row["verdict"] == "equivalent"
    low, high = sorted(abs(float(row[end])) for end in ("ci_low", "ci_high"))
    said = f"equivalent ({word} by 0.0100 [{low:.4f}, {high:.4f}], within 0.02)"
    for text in (done.stdout, (folder.path / "report.md").read_text().replace("\\", "")):
        assert said in " ".join(text.split())
    assert (
        said.replace("equivalent", "</span>", 1).split(" (")[1] in (folder.path / "report.html").read_text()
    )
    assert any(f"({word} by 0.0100 [" in line for line in folder.answer())


@pytest.mark.parametrize(
    ("low", "high", "word"), [(0.01, 0.03, "better"), (-0.03, -0.01, "worse"), (-0.01, 0.03, "")]
)
def test_what_is_apart_has_its_distance(low, high, word):
    row = {"diff": (low + high) / 2, "ci_low": low, "ci_high": high}
    assert apart_from_zero(row) == (f"{word} by 0.020 [0.010, 0.030]" if word else "")
    assert apart_from_zero(row | {"ci_low": None}) == ""
