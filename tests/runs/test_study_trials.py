"""The files that `ablate run` writes, given to `ablate analyse`: the trials are judged as the study judged them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_evidence import LOSS, study

import ablate
from ablate.base.errors import Invalid
from ablate.core.facts import NAMELESS_TASK
from ablate.core.metric import Sampling
from ablate.core.other_looks import SupersededRuns
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder

PUBLISHED = Path(__file__).parents[2] / "results"
NUMBERS = [
    "variant",
    "n",
    "mean_variant",
    "mean_baseline",
    "diff",
    "ci_low",
    "ci_high",
    "level",
    "p",
    "verdict",
]
VALUES = {
    "baseline": [0.80, 0.82, 0.81, 0.79],
    "config.lr=0.2": [0.85, 0.86, 0.87, 0.86],
    "config.lr=0.3": [0.80, 0.81, 0.82, 0.80],
}


def folder(results, evidence):
    found = StudyFolder(results, "s")
    found.save_evidence(replace(evidence, facts=replace(evidence.facts, study="s")))
    write_report(found, pytest.fail)
    return found


def planned(results):
    rows = results.comparisons
    return rows[~rows["exploratory"].astype(bool)][NUMBERS].reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["", "trials.parquet"])
@pytest.mark.parametrize(
    "tasks", [{NAMELESS_TASK: {"loss": LOSS}}, {"": {"loss": LOSS}}, {"digits": {"loss": LOSS}}]
)
def test_trials_are_judged_as_their_study_judged_them(tmp_path, file, tasks):
    evidence = study(
        VALUES, metric="loss", tasks=tasks, margin=0.03, statuses={("config.lr=0.3", 2): "diverged"}
    )
    found = folder(tmp_path, evidence)
    judged = ablate.analyse(found.path / file)
    pd.testing.assert_frame_equal(planned(judged), planned(ablate.load(found.path)))
    assert judged.evidence.facts.margin == 0.03


@pytest.mark.slow
def test_test_examples_count_as_in_the_study(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.random((5, 40)) < 0.7
    better = base | (rng.random((5, 40)) < 0.2)
    examples = {"baseline": base.astype(float), "a": better.astype(float)}
    values = {name: outcomes.mean(axis=1) for name, outcomes in examples.items()}
    found = folder(tmp_path, study(values, examples=examples, sampling=Sampling("held_out", 40)))
    pd.testing.assert_frame_equal(planned(ablate.analyse(found.path)), planned(ablate.load(found.path)))


@pytest.mark.slow
def test_frames_of_a_study_can_be_judged(tmp_path):
    found = ablate.load(folder(tmp_path, study(VALUES, metric="loss", tasks={"": {"loss": LOSS}})).path)
    judged = ablate.analyse(found.trials, baseline="baseline", metric="loss", direction="min")
    pd.testing.assert_frame_equal(planned(judged), planned(found))


@pytest.mark.slow
def test_another_metric_takes_nothing_that_is_declared_of_the_judged_one(tmp_path):
    others = {"other": {name: np.add(values, 1) for name, values in VALUES.items()}}
    tasks = {"": {"loss": LOSS, "other": LOSS}}
    found = folder(tmp_path, study(VALUES, metric="loss", tasks=tasks, others=others, margin=0.03))
    judged = ablate.analyse(found.path, metric="other", direction="min")
    assert judged.evidence.facts.margin is None
    assert judged.evidence.facts.metric == "other"


@pytest.mark.slow
def test_what_the_report_counts_beside_is_said():
    facts = ablate.analyse(PUBLISHED / "quickstart").evidence.facts
    assert any(
        "its claims and runner-up settings too: ablate report" in caution for caution in facts.cautions
    )


@pytest.mark.slow
def test_warnings_of_the_report_and_marks_of_its_rows_are_said(tmp_path):
    evidence = study(VALUES, metric="loss", tasks={"digits": {"loss": LOSS}}, margin=0.03)
    longer = [
        replace(variant, examples={"digits": 900 if variant.name == "config.lr=0.2" else 300})
        for variant in evidence.facts.variants
    ]
    again = {"config.lr=0.3": SupersededRuns(0, 2, {"digits": [1, 2]})}
    changed = replace(evidence.facts, variants=longer, superseded=again, cautions=["inputs cannot be seen"])
    found = folder(tmp_path, replace(evidence, facts=changed))
    words = "\n".join(ablate.analyse(found.path).evidence.facts.cautions)
    assert (
        "The report of the study says: Trained again after another result: config.lr=0.3 on seeds 1–2."
        in words
    )
    assert "The report of the study says: Inputs cannot be seen" in words
    assert "says of config.lr=0.2: trained on 900 examples against 300: unequal training budgets" in words


@pytest.mark.slow
def test_a_report_without_warnings_adds_none(tmp_path):
    found = folder(tmp_path, study(VALUES, metric="loss", tasks={"": {"loss": LOSS}}, margin=0.03))
    assert not [
        caution for caution in ablate.analyse(found.path).evidence.facts.cautions if "says" in caution
    ]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "file", ["comparisons.csv", "claims.csv", "curves.parquet", "report.md", "answer.txt"]
)
def test_files_without_runs_are_refused_with_the_way_on(tmp_path, file):
    found = folder(tmp_path, study(VALUES, metric="loss", tasks={"": {"loss": LOSS}}))
    with pytest.raises(Invalid, match=r"ablate analyse \S+/s"):
        ablate.analyse(found.path / file)


@pytest.mark.slow
def test_folders_of_others_are_none_of_a_study(tmp_path):
    for name in ("trials", "store"):
        place = tmp_path / name
        place.mkdir()
        for variant in ("a", "b"):
            (place / f"{variant}.csv").write_text("seed,acc\n0,0.71\n1,0.72\n")
        assert len(ablate.analyse(place, baseline="a").trials) == 4
    assert len(ablate.analyse(tmp_path / "trials", baseline="a").trials) == 4
