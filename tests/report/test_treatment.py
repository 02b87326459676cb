"""Unequal treatment stands beside the verdict: another budget, tuned or not, at the edge of a grid."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.analysis.length_names import sets_batch, sets_length
from ablate.analysis.treatments import Treatments
from ablate.core.treatment import Treatment
from ablate.pipeline.judging import judge_evidence
from ablate.records.folder import StudyFolder
from ablate.report.sentences.treatment_words import treatment_mark
from ablate.report.tables.verdicts import planned_rows, verdict_tables

LONGER = {
    "name": "longer",
    "task": {"name": "digits"},
    "model": {"d_model": 16, "num_layers": 1, "mixer": {"name": "attention", "num_heads": 2}},
    "training": {"steps": 40, "batch_size": 32, "lr": 0.01, "eval_every": 40},
    "metric": {"name": "accuracy", "margin": 0.05},
    "variants": {
        "long": {"training.steps": 120},
        "batches": {"training.batch_size": 64},
        "own": {"training.lr": 0.02, "model.norm": "batch"},
        "gelu": {"model.feedforward.activation": "gelu"},
    },
    "claims": ["long beats baseline on accuracy"],
    "seeds": 3,
}
TRAIN = """
import random

BEST = {1: 0.2, 2: 0.4, 3: 0.2}

def train(config, seed):
    if config["width"] == 3 and config["rate"] != 0.25:
        return {"score": float("nan")}
    score = 0.8 - abs(config["rate"] - BEST[config["width"]]) + 0.001 * random.Random(seed).random()
    score += 0.0001 * config["width"]  # So that no variant has the numbers of another.
    return {"score": score + 0.1 * (config["epochs"] > 3)}
"""
TUNED = {
    "name": "tuned",
    "workload": {"function": "train.py:train"},
    "config": {"width": 1, "rate": 0.25, "epochs": 3},
    "metrics": {"score": {"direction": "max", "margin": 0.02}},
    "tune": {"over": {"config.rate": {"choice": [0.1, 0.2, 0.4]}}, "sampler": "grid", "seeds": 3},
    "variants": {
        "wide": {"config.width": 2},
        "lost": {"config.width": 3},
        "long": {"config.width": 2, "config.epochs": 9},
    },
    "seeds": 3,
}


def run(study: dict[str, object], folder: Path) -> StudyFolder:
    (folder / "study.yaml").write_text(json.dumps(study))
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    return StudyFolder(folder / "results", str(study["name"]))


def marks(report: StudyFolder) -> dict[str, Treatment | None]:
    return {row["variant"]: Treatment.parse(row["treatment"]) for row in planned_rows(report.comparisons())}


@pytest.mark.slow
def test_a_variant_trained_three_times_as_long_is_better_with_a_word(tmp_path):
    report = run(LONGER, tmp_path)
    rows = {row["variant"]: row for row in planned_rows(report.comparisons())}
    assert rows["long"]["verdict"] == "better"
    assert marks(report) == {
        "long": Treatment("steps", "training.steps", "120", "40"),
        "batches": Treatment("budget", "training.batch_size", "64", "32"),
        "own": Treatment("rate", "", "0.02", "0.01"),
        "gelu": None,
    }
    (claim,) = report.claims()
    assert claim["treatment"] == rows["long"]["treatment"]

    # On the page, in the terminal and in a paper; the FLOPs of the training are a factor.
    (table,) = verdict_tables(report.comparisons(), report.facts())
    shown = {row["title"]: row for row in table.rows}
    assert {name: row["size"] for name, row in shown.items()} == {
        "long": "× 3.00",
        "batches": "× 2.00",
        "own": "× 1.00",
        "gelu": "× 1.00",
    }
    assert {name for name, row in shown.items() if row["treatment"]} == {"long", "batches", "own"}
    again = ablate_here("run", "study.yaml", "--json", cwd=tmp_path)
    verdicts = json.loads(again.stdout)["verdicts"]
    assert [row["treatment"] for row in verdicts if row["variant"] == "long" and not row["exploratory"]] == [
        rows["long"]["treatment"]
    ]
    mark = treatment_mark(rows["long"])
    assert mark in again.stderr.replace("\n", " ").replace("  ", " ")
    assert mark in (report.path / "report.md").read_text()
    ablate_here("export", "longer", "--only", "comparisons", cwd=tmp_path)
    assert mark in (report.path / "paper" / "comparisons.tex").read_text()
    # That nothing tuned the rate does not vanish where one variant sets its own.
    assert any("not tuned" in line and "0.02 for own" in line for line in report.answer())


@pytest.mark.slow
def test_what_one_side_alone_was_given_in_tuning_is_marked(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    report = run(TUNED, tmp_path)
    assert marks(report) == {
        "wide": Treatment("edge", "config.rate", "upper", ""),
        "lost": Treatment("untuned", "", "", "tuned"),
        "long": Treatment("steps", "config.epochs", "9", "3"),
    }
    assert {row["verdict"] for row in planned_rows(report.comparisons())} >= {"better", "worse"}


@pytest.mark.slow
def test_runs_that_exist_say_how_long_they_trained(tmp_path):
    rows = ["variant,seed,steps,warmup_steps,loss"]
    for name, steps in (("a", 100), ("b", 300), ("c", 100.5)):
        rows += [f"{name},{seed},{steps},{steps},{2 + 0.01 * seed - steps / 1000}" for seed in range(4)]
    (tmp_path / "runs.csv").write_text("\n".join(rows))
    words = ("runs.csv", "--baseline", "a", "--metric", "loss", "--direction", "min")
    assert ablate_here("analyse", *words, cwd=tmp_path).returncode == 0
    report = StudyFolder(tmp_path / "results", "runs")
    assert marks(report) == {"b": Treatment("steps", "steps", "300", "100"), "c": None}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("steps", True),
        ("params.max_steps", True),
        ("num_train_epochs", True),
        ("config/total_iterations", True),
        ("warmup_steps", False),
        ("eval_steps", False),
        ("steps_per_epoch", False),
        ("epoch", False),
        ("config.train_tokens", True),
        ("config.total_timesteps", True),
        ("config.passes", True),
        ("config.max_iter", True),
        ("config.frames", False),
        ("config.num_samples", False),
        ("config.n_layers", False),
    ],
)
def test_a_setting_is_a_length_by_its_whole_name(path, expected):
    assert sets_length(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("training.batch_size", True),
        ("optimisation.batch-size", True),
        ("eval_batch_size", False),
        ("batch_size.max", False),
    ],
)
def test_a_setting_is_a_batch_size_by_its_whole_name(path, expected):
    assert sets_batch(path) == expected


def test_a_budget_outweighs_tuning_and_tuning_a_larger_model():
    report = StudyFolder.at(Path(__file__).parents[2] / "results" / "sweep-digits")
    evidence = report.evidence()
    of_winner = Treatments(evidence).between(["winner-4"], ["baseline"], "digits")
    assert of_winner == Treatment("untuned", "", "tuned", "")
    untuned = [replace(variant, tuned={}) for variant in evidence.facts.variants]
    alike = replace(evidence, facts=replace(evidence.facts, variants=untuned))
    assert Treatments(alike).between(["winner-4"], ["baseline"], "digits").kind == "compute"
    counts = {"winner-4": 20, "baseline": 10}
    uneven = [replace(variant, examples={"digits": counts.get(variant.name)}) for variant in untuned]
    examples = replace(evidence, facts=replace(evidence.facts, variants=uneven))
    found = Treatments(examples).between(["winner-4"], ["baseline"], "digits")
    assert found == Treatment("budget", "examples", "20", "10")


def test_what_holds_in_every_row_is_said_once():
    report = StudyFolder.at(Path(__file__).parents[2] / "results" / "sweep-digits")
    data = judge_evidence(report)
    (table,) = verdict_tables(data.comparisons, data.facts)
    assert "treatment" not in [column.key for column in table.columns]
    first = planned_rows(data.comparisons)[0]
    assert table.caption.count(treatment_mark(first)) == 1
    # A placebo is the baseline again, and takes no part in it.
    placebo = next(row for row in planned_rows(data.comparisons) if row["variant"] == "placebo")
    assert treatment_mark(placebo) == ""
