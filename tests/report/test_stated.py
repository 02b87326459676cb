"""What nobody told us of a study's data is not asserted: by the report, the methods of a paper, a confirmation."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from harness import ablate_here
from test_golden import RESULTS

from ablate.core.data_statement import NOT_STATED
from ablate.pipeline.judging import judge_evidence
from ablate.records.folder import StudyFolder
from ablate.report.export.paper_methods import methods
from ablate.report.sections.runs import provenance
from ablate.report.sentences.data_words import (
    chosen_by_judged,
    pairs_share_data,
    pool_codes,
    split_codes,
    stated_of,
)
from ablate.report.summary import summary_picture

TRAIN = """
import random

def train(config, seed):
    score = 0.5 + 0.01 * config["width"] + 0.1 * config["rate"] + 0.01 * random.Random(seed).random()
    return {"score": score, "validation_score": score - 0.1}
"""
ASSERTED = r"no run trains|drawn anew|same data|common initial|share their data|on test data|validation"


def written(folder: Path, **changes: object) -> None:
    (folder / "train.py").write_text(TRAIN)
    study = {
        "name": "own",
        "workload": {"function": "train.py:train"},
        "config": {"width": 1, "rate": 0.5},
        "metrics": {"score": {"direction": "max", "margin": 0.02}},
        "factors": {"config.width": [2]},
        "seeds": 3,
    }
    (folder / "study.yaml").write_text(json.dumps(study | changes))


def run(folder: Path) -> StudyFolder:
    done = ablate_here("run", "study.yaml", "--jobs", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    return StudyFolder(folder / "results", "own")


def said(report: StudyFolder) -> str:
    """Report, answer and methods as one text."""
    page = (report.path / "report.md").read_text()
    html = re.sub(r"<(style|script).*?</\1>", "", (report.path / "report.html").read_text(), flags=re.DOTALL)
    return " ".join([page, html, *report.answer(), methods(judge_evidence(report))])


@pytest.mark.slow
def test_of_own_code_nothing_is_asserted_but_what_the_study_states(tmp_path):
    written(tmp_path)
    report = run(tmp_path)
    facts = report.facts()
    assert (pool_codes(facts), split_codes(facts)) == (["not_stated"], ["split_not_stated"])
    assert not re.search(ASSERTED, said(report))
    assert facts.variants[0].parameters == {}
    plan = json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)
    assert {row["parameters"] for row in plan["variants"]} == {None}
    # What ablate ran with, the code need not have; nor does it say what its steps are, or on how many cores it runs.
    assert ("Versions" in dict(provenance(report.evidence()))) is False
    picture = summary_picture(judge_evidence(report))
    assert not re.search(r"after \d|parameters ·|of one core", " ".join(map(str, picture.options)))

    # What is stated trains nothing anew.
    written(tmp_path, data={"test": "held_out", "split": "fixed"})
    assert json.loads(ablate_here("plan", "study.yaml", "--json", cwd=tmp_path).stdout)["to_train"] == 0
    report = run(tmp_path)
    facts = report.facts()
    assert (pool_codes(facts), split_codes(facts)) == (["stated_held_out"], ["split_fixed"])
    assert len(re.findall("[Aa]s the study states", said(report))) >= 4
    (row,) = report.comparisons()
    assert row["verdict"] == "equivalent"


@pytest.mark.parametrize(
    "data", [{"test": "validation"}, {"split": "random"}, {"tests": "held_out"}, ["data"]]
)
def test_another_statement_is_refused(data, tmp_path):
    written(tmp_path, data=data)
    done = ablate_here("plan", "study.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert ": data" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "metrics", [["score"], pytest.param(["score", "validation_score"], marks=pytest.mark.slow)]
)
def test_tuning_on_the_number_that_is_judged_is_named(metrics, tmp_path):
    tune = {"over": {"config.rate": {"choice": [0.1, 0.5]}}, "sampler": "grid", "seeds": 3}
    of = {name: {"direction": "max"} for name in metrics}
    written(tmp_path, tune=tune, metrics=of, seeds=2)
    report = run(tmp_path)
    by_judged = len(metrics) == 1
    assert chosen_by_judged(report.evidence()) == by_judged
    assert any("the number that is judged" in line for line in report.answer()) == by_judged


@pytest.mark.slow
def test_a_study_that_tunes_on_what_it_states_to_be_held_out_is_contradicted(tmp_path):
    tune = {"over": {"config.rate": {"choice": [0.1, 0.5]}}, "sampler": "grid", "seeds": 3}
    written(tmp_path, tune=tune, seeds=2, data={"test": "held_out"})
    report = run(tmp_path)
    assert any("though the study states" in line for line in report.answer())
    assert "though the study states" in methods(judge_evidence(report))


@pytest.mark.slow
def test_of_runs_that_exist_nothing_is_asserted(tmp_path, monkeypatch):
    # The command that reports show is that of this process, which may name anything.
    monkeypatch.setattr(sys, "argv", ["ablate", "analyse"])
    rows = [
        f"{name},{seed},{0.8 + 0.001 * seed + 0.02 * (name == 'b')}" for name in "ab" for seed in range(4)
    ]
    (tmp_path / "runs.csv").write_text("\n".join(["variant,seed,score", *rows]))
    words = ("runs.csv", "--baseline", "a", "--metric", "score", "--direction", "max")
    assert ablate_here("analyse", *words, cwd=tmp_path).returncode == 0
    report = StudyFolder(tmp_path / "results", "runs")
    facts = report.facts()
    assert (pool_codes(facts), split_codes(facts)) == (["not_stated"], ["split_not_stated"])
    assert not re.search(rf"{ASSERTED}|No run diverged|planned", said(report))


def test_of_a_built_in_study_data_are_known():
    report = StudyFolder.at(RESULTS / "quickstart")
    facts = report.facts()
    assert stated_of(facts) is None
    assert pairs_share_data(facts)
    other_task = replace(facts.variants[1], levels={"task.train_size": 100})
    assert not pairs_share_data(replace(facts, variants=[facts.variants[0], other_task]))
    assert (pool_codes(facts), split_codes(facts)) == (["held_out"], ["split_builtin"])
    untold = replace(facts, tasks=[replace(task, split=NOT_STATED) for task in facts.tasks])
    assert split_codes(untold) == [], "as in the folder of an older version"


@pytest.mark.slow
@pytest.mark.parametrize(("split", "code"), [("held_out", "split_builtin"), ("fixed", "split_builtin_fixed")])
def test_how_a_built_in_study_divides_its_data_is_as_its_runs_had_them(split, code, tmp_path):
    study = {
        "name": "split",
        "task": {"name": "digits", "split": split},
        "model": {"d_model": 8, "num_layers": 1},
        "training": {"steps": 4, "batch_size": 8, "eval_every": 4},
        "factors": {"model.norm": ["batch"]},
        "seeds": 2,
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = StudyFolder(tmp_path / "results", "split").facts()
    assert (pool_codes(facts), split_codes(facts)) == (["held_out"], [code])


@pytest.mark.slow
def test_models_compared_by_document_are_not_said_to_be_crossed_with_runs(tmp_path):
    rows = ["variant,example,score"]
    rows += [f"{name},{i},{(7 * i) % 5 / 5 + 0.1 * (name == 'b')}" for name in "ab" for i in range(12)]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    words = ("runs.csv", "--baseline", "a", "--metric", "score", "--direction", "max")
    assert ablate_here("analyse", *words, cwd=tmp_path).returncode == 0
    report = StudyFolder(tmp_path / "results", "runs")
    assert pool_codes(report.facts()) == ["by_example"]
    paragraph = methods(judge_evidence(report))
    assert "over documents" in paragraph
    assert "crossed" not in paragraph
