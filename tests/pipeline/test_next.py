"""What the terminal says after a report: where it is, and what to do next, as it can be typed."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import study as made
from rich.console import Console

from ablate.core.reason import Reason
from ablate.pipeline.next_steps import print_places
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder

DECIDED = {"baseline": [0.5, 0.6, 0.55, 0.52], "a": [0.8, 0.92, 0.81, 0.88]}
OPEN = {"baseline": [0.5, 0.6, 0.55, 0.52], "a": [0.52, 0.63, 0.54, 0.55]}
HOPELESS = {"baseline": [0.5, 0.6, 0.55, 0.52], "a": [0.51, 0.58, 0.56, 0.52]}


def folder(results, values, name="x", labels=None, **planned):
    evidence = made(values)
    study = StudyFolder(results, name)
    (results / "x.yaml").write_text("name: x\n")
    plan = replace(evidence.facts.plan, **({"source": "../x.yaml"} | planned))
    changed = replace(evidence.facts, study=name, labels=labels or {}, provenance=plan)
    study.save_evidence(replace(evidence, facts=changed))
    write_report(study, pytest.fail)
    return study


def lines(study):
    buffer = io.StringIO()
    print_places(study, study.facts(), Console(file=buffer, width=80))
    return buffer.getvalue().split("\n")[1:-1]


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my results").mkdir()
    return Path("my results")


def test_what_is_decided_is_tested_on_fresh_seeds(results):
    assert lines(folder(results, DECIDED)) == [
        "Report: my results/x/report.html",
        "MLflow: ablate ui --results 'my results'",
        "To repeat this on fresh seeds: ablate run 'my results/x.yaml' --confirm --results 'my results'",
    ]


def test_what_is_open_gets_looks_for_a_study_to_come_and_the_level_of_more_seeds(results):
    study = folder(results, OPEN)
    (row,) = [row for row in study.comparisons() if row["exploratory"] == "False"]
    needed = Reason.parse(row["reason"])
    assert needed is not None
    assert needed.numbers["seeds"] > 4
    seeds = f"--set 'seeds={{from: 4, count: {needed.numbers['seeds']:.0f}}}'"
    to_come, for_this_one = lines(study)[2:]
    found = re.search(r": seeds: \{min: (\d+), max: (\d+)\}$", to_come)
    assert found is not None
    least, most = map(int, found.groups())
    assert most == 4 * least >= needed.numbers["seeds"]
    assert "0.098" in for_this_one
    assert for_this_one.endswith(f": ablate run 'my results/x.yaml' {seeds} --results 'my results'")


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("values", "planned", "name"),
    [
        (HOPELESS, {}, "x"),
        (DECIDED, {"differs": ["seeds=4"]}, "x"),
        (DECIDED, {"source": "gone"}, "x"),
        (DECIDED, {}, "x@confirm"),
    ],
)
def test_nothing_is_advised_where_it_would_not_help(results, values, planned, name):
    assert len(lines(folder(results, values, name, **planned))) == 2


def test_an_answer_is_a_line_whatever_a_label_says_and_damage_is_shown(results):
    study = folder(results, DECIDED, labels={"a": "a\nlabel\u2028of lines"})
    assert study.answer()[0].endswith("with a label of lines.")
    (study.path / "answer.txt").write_bytes(b"Accuracy \xff rises.\n")
    assert study.answer() == ["Accuracy \ufffd rises."]
