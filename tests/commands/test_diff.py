"""`ablate diff`: two reports, or two runs of one study, from their folders alone."""

import dataclasses
import itertools
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from made_evidence import claim, study

from ablate.cli import main
from ablate.core.facts import Evidence
from ablate.core.metric import Metric
from ablate.core.over import Over
from ablate.core.provenance import Planned
from ablate.pipeline.diff.sides import Pair
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.report.words import Row

NOISE = np.array([0.004, -0.003, 0.001, -0.002, 0.003, 0.0])
BASE = 0.8 + NOISE
SPREAD = np.array([0.01, -0.012, 0.008, -0.006, 0.011, -0.011])


def evidence(first: float, *, seeds: int = 6, **more: object) -> Evidence:
    """A baseline, `a` that differs from it by `first`, and `same`, which is as good."""
    values = {"baseline": BASE, "a": BASE + first + SPREAD, "same": BASE + SPREAD[::-1] / 10}
    claims = [claim("beats", "a")]
    return study({name: v[:seeds] for name, v in values.items()}, margin=0.02, claims=claims, **more)  # type: ignore[arg-type]


def save(found, path, resolved="name: x\ntraining: {steps: 50}\n", **facts):
    folder = StudyFolder.at(path)
    path.mkdir(parents=True)
    folder.study_file.write_text(resolved)
    folder.save_evidence(dataclasses.replace(found, facts=dataclasses.replace(found.facts, **facts)))  # type: ignore[arg-type]
    write_report(folder, pytest.fail)
    return path


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, a run of it with other seeds and steps whose verdict on `a` differs, and one of another question."""
    results = tmp_path_factory.mktemp("diff") / "results"
    old = {"commit": "a" * 40, "dirty": True, "versions": {"torch": "2.4", "numpy": "2.0"}}
    save(evidence(0.05), results / "x", environment=old)
    new = old | {"commit": "b" * 40, "dirty": False, "versions": {"torch": "2.5", "numpy": "2.0"}}
    changed = "name: x\ntraining: {steps: 80}\nmodel: {norm: {name: batch}}\nnotes: others\n"
    save(
        evidence(0.008, seeds=5),
        results / "x@seeds=5",
        changed,
        environment=new,
        provenance=Planned(differs=["seeds=5"]),
    )
    save(study({"baseline": BASE, "b": BASE + 0.05}), results / "other")
    return results


def call(results: Path, *arguments: object) -> Result:
    words = ["diff", *map(str, arguments), "--results", str(results)]
    return CliRunner().invoke(main, words, env={"COLUMNS": "80"})


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_what_has_changed_between_two_runs(published):
    done = call(published, "x", "x@seeds=5")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == (
        "1 of 2 verdicts and 1 of 1 claim changed; 2 of 2 comparisons have other numbers; 2 settings differ; "
        "the seeds differ."
    )
    assert re.fullmatch(rf"A: {published}/x; seeds 0–5; 18 trials", lines[2])
    assert re.fullmatch(rf"B: {published}/x@seeds=5; seeds 0–4; 15 trials; with seeds=5", lines[3])
    assert max(map(len, lines[4:])) <= 80
    first, second = next((a, b) for a, b in itertools.pairwise(lines) if a.startswith("a  "))
    assert first.split()[:3] == ["a", "A", "better"]
    assert second.split()[:2] == ["B", "inconclusive"]
    assert second.split()[-1] == "apart"
    said = flat(done.output)
    assert "A changed verdict alone is no evidence that an effect has changed" in said
    assert "95 %" not in said  # the interval of each report is at a level of its own
    assert "15 trials of the same variant, task and seed: 10 with the same accuracy" in said
    assert "Settings that differ (A → B) training.steps: 50 → 80 model.norm.name: – → batch" in said
    assert "The baselines differ in training.steps and model.norm.name" in said
    assert "commit: aaaaaaaaaa, with changes → bbbbbbbbbb torch: 2.4 → 2.5" in said
    assert "numpy" not in said
    assert "notes" not in said


def test_the_same_results_at_two_places(published, tmp_path):
    shutil.copytree(published / "x", tmp_path / "old" / "x")
    done = call(published, "x", tmp_path / "old" / "x")
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "Same verdicts, same numbers."
    assert "18 trials of the same variant, task and seed: 18 with the same accuracy, 18 with" in flat(
        done.output
    )
    assert "evidence" not in done.output
    assert "differ (A" not in done.output


def test_nothing_in_common(published):
    done = call(published, "x", "other")
    assert done.exit_code == 0
    first = "No planned comparison is in both; 2 comparisons only in A; 1 comparison only in B"
    assert done.output.startswith(first)
    assert "Comparisons only in A: a; same." in done.output


def test_another_margin_changes_a_verdict_and_no_number(published, tmp_path):
    found = evidence(0.05)
    save(found, tmp_path / "x", margin=0.001)
    done = call(published, "x", tmp_path / "x")
    assert done.output.startswith("1 of 2 verdicts changed, same numbers.")
    row = next(line for line in done.output.splitlines() if line.startswith("same "))
    assert row.split()[:3] == ["same", "A", "equivalent"]


def test_a_loss_keeps_its_sign_and_metrics_and_levels_are_said_in_words(tmp_path):
    tasks = {"t": {"val_loss": Metric("min", 0.0001)}}
    for name, rise in (("x", 0.17), ("y", 0.27)):
        variant = {"model.value=low_rank": BASE + rise + SPREAD / 10}
        made = study({"baseline": BASE, **variant}, tasks=tasks, metric="val_loss")
        changed = dataclasses.replace(made.facts.variants[1], changes={"model.value": "low_rank"})
        save(made, tmp_path / name, variants=[made.facts.variants[0], changed])
    done = call(tmp_path, "x", "y")
    assert "other numbers: validation loss; of validation loss, less is better" in flat(done.output)
    [first, second] = [line for line in done.output.splitlines() if " worse " in line]
    assert (first.split()[:4], "+0.17" in first) == (["low-rank", "values", "A", "worse"], True)
    assert "+0.27" in second


def test_a_folder_without_a_report_one_folder_twice_and_what_cannot_be_read(published, tmp_path):
    (tmp_path / "empty").mkdir()
    done = call(published, "x", tmp_path / "empty")
    assert (done.exit_code, "has no trials.parquet; run the study first" in done.output) == (2, True)
    (tmp_path / "link").symlink_to(published / "x")
    done = call(published, tmp_path / "link", published / "x")
    assert done.exit_code == 2
    assert "are the same folder" in done.output

    shutil.copytree(published / "x", tmp_path / "x")
    file = tmp_path / "x" / "comparisons.csv"
    whole = file.read_text()
    for broken in (whole.replace("verdict,", "word,", 1), re.sub(r",0\.\d+,", ",much,", whole), "", "x\n"):
        file.write_text(broken)
        done = call(published, "x", tmp_path / "x")
        assert done.exit_code == 2
        assert "cannot be read" in done.output


def row(diff: float, low: float | str, high: float | str, verdict: str = "better", **more: object) -> Row:
    """As `comparisons.csv` has it: text."""
    found = {"diff": diff, "ci_low": low, "ci_high": high, "verdict": verdict, **more}
    return {key: str(value) for key, value in found.items()}


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        (row(0.02, 0.01, 0.03), False),
        # Two digits of a half-width of 0.010 are 0.001: half of that is rounding.
        (row(0.0204, 0.0104, 0.0304), False),
        (row(0.0206, 0.0106, 0.0306), True),
        (row(0.02, 0.005, 0.035), True),
        (row(0.02, "", ""), True),
    ],
)
def test_a_number_has_changed_when_it_would_be_read_otherwise(other, changed):
    first = row(0.02, 0.01, 0.03)
    assert Pair(first, other).numbers_changed == Pair(other, first).numbers_changed == changed


@pytest.mark.parametrize(
    ("bounds", "apart"),
    [
        ((0.031, 0.05), True), ((0.03, 0.05), False), ((-0.1, 0.1), False), ((-0.1, 0.009), True),
        (("", ""), None),
    ],
)  # fmt: skip
def test_intervals_lie_apart_when_they_share_no_point(bounds, apart):
    pair = Pair(row(0.02, 0.01, 0.03), row(0.04, *bounds))
    assert pair.apart is apart
    assert Pair(pair.b, pair.a).apart is apart


@pytest.mark.slow
def test_a_claim_on_the_mean_over_conditions_is_not_held_against_one_on_every_condition(tmp_path):
    values = {
        "baseline": {"easy": BASE, "hard": BASE},
        "a": {"easy": BASE + 0.05 + SPREAD, "hard": BASE + SPREAD[::-1] / 10},
    }
    tasks = {name: {"accuracy": Metric("max")} for name in ("easy", "hard")}
    found = study(values, tasks=tasks, claims=[claim("beats", "a")])
    save(found, tmp_path / "mean", over=Over("mean"))
    save(found, tmp_path / "every", over=Over("every"))
    done = CliRunner().invoke(main, ["diff", str(tmp_path / "mean"), str(tmp_path / "every")])
    words = " ".join(done.output.split())
    assert "Claim only in A: a beats baseline on accuracy (mean" in words
    assert "Claim only in B: a beats baseline on accuracy (hard" in words
    assert "apart" not in words
