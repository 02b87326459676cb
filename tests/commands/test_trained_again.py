"""Runs that failed before, and results that were replaced, are counted where their numbers differ between sides."""

import json
import shutil
from pathlib import Path

import pytest
from harness import ablate_here

from ablate.core.other_looks import SupersededRuns
from ablate.records.folder import StudyFolder

# Each run draws anew, as on a machine that does not repeat itself; where told, a bad run of gelu fails.
TRAIN = """\
import os, random, sys
act, seed = sys.argv[1:3]
value = 0.8 + random.SystemRandom().gauss(0, 0.01)
if act == "gelu" and value < float(os.environ.get("LEAST", "0")):
    sys.exit("the run went badly")
print("acc", value)
"""
STUDY = """\
name: own
workload: {command: "python train.py {act} {seed}", read: {acc: 'acc (\\S+)'}}
config: {act: relu}
factors: {config.act: [gelu]}
metrics: {acc: max}
seeds: 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.setenv("LEAST", "2")
    return tmp_path


def run(folder: Path, *options: object) -> tuple[int, str]:
    done = ablate_here("run", "study.yaml", "--jobs", 0, "--json", *options, cwd=folder)
    return done.returncode, " ".join(json.loads(done.stdout).get("answer", ()))


def superseded(folder: Path) -> dict[str, SupersededRuns]:
    return StudyFolder(folder / "results", "own").facts().superseded


def records(folder: Path, variant: str) -> list[Path]:
    rows = [row for _, row in StudyFolder(folder / "results", "own").rows()]
    return [
        folder / f"results/store/trials/{row['id']}.json" for row in rows if row["variant"].endswith(variant)
    ]


@pytest.mark.slow
def test_runs_that_failed_until_they_went_well_are_counted(here, monkeypatch):
    for _ in range(2):
        code, words = run(here)
        assert code == 1
        assert "failed before" not in words  # Without a result, nothing stands in for them.
    monkeypatch.setenv("LEAST", "0")
    code, words = run(here)
    assert code == 0
    assert superseded(here) == {"config.act=gelu": SupersededRuns(failed=6, replaced=0)}
    assert "act GELU 6; baseline 0" in words
    # They still are when the report is written again, also from a folder alone.
    _, words = run(here, "--fresh")
    assert "act GELU 6; baseline 0" in words
    shutil.rmtree(here / "results/store")
    assert ablate_here("report", "own", cwd=here).returncode == 0
    assert "act GELU 6; baseline 0" in (here / "results/own/report.md").read_text()


@pytest.mark.slow
def test_failures_of_a_record_that_was_removed_are_known_by_the_report(here, monkeypatch):
    run(here)
    (here / "results/store/superseded.jsonl").unlink()
    for path in records(here, "gelu"):
        path.unlink()
    monkeypatch.setenv("LEAST", "0")
    run(here)
    assert superseded(here) == {"config.act=gelu": SupersededRuns(failed=3, replaced=0)}


@pytest.mark.slow
def test_results_that_were_removed_and_trained_again_are_counted_each_time(here, monkeypatch):
    monkeypatch.setenv("LEAST", "0")
    _, words = run(here)
    assert superseded(here) == {}
    for times in (1, 2):
        first, *_ = records(here, "gelu")
        first.unlink()
        _, words = run(here)
        (count,) = superseded(here).values()
        assert count == SupersededRuns(failed=0, replaced=times, replaced_on={"": [0] * times})
        assert f"act GELU {times}; baseline 0" in words
    # Of all sides alike, no number is unequal, and each time is another chance.
    _, words = run(here, "--fresh")
    assert superseded(here)["baseline"] == SupersededRuns(0, 3, {"": [0, 1, 2]})


@pytest.mark.slow
def test_all_runs_trained_again_are_another_chance(here, monkeypatch):
    monkeypatch.setenv("LEAST", "0")
    _, words = run(here)
    for rate in (1 - 0.95**2, 1 - 0.95**3):
        assert "probability up to" not in words
        _, words = run(here, "--fresh")
        assert f"probability up to {rate:.2g}" in words
        words = ""


@pytest.mark.slow
def test_pairs_that_were_trained_again_are_named_however_often(here, monkeypatch):
    monkeypatch.setenv("LEAST", "0")
    run(here)
    for _ in range(3):
        run(here, "--fresh", "--seed", 1)
    _, words = run(here)
    assert "Trained again after another result: baseline on seed 1; act GELU on seed 1." in words
    assert "probability up to" not in words  # Three trainings of a side, and not of all its runs.
    assert "not counted: own@seed=1" not in words

    # A whole repetition is another chance; what was chosen before stays a choice.
    _, words = run(here, "--fresh")
    assert "baseline on seed 1; act GELU on seed 1." in words
    assert f"probability up to {1 - 0.95**2:.2g}" in words


def test_a_damaged_list_ends_the_run_and_is_named(here):
    run(here)
    path = here / "results/store/superseded.jsonl"
    path.write_text(path.read_text().replace("failed", "replaced", 1))
    done = ablate_here("run", "study.yaml", "--jobs", 0, cwd=here)
    assert done.returncode == 2
    assert "superseded.jsonl" in done.stderr


@pytest.mark.slow
def test_runs_that_are_kept_for_later_code_keep_their_failures(here, monkeypatch):
    run(here)
    monkeypatch.setenv("LEAST", "0")
    run(here)
    for comment in ("one", "two"):
        (here / "train.py").write_text(f"# {comment}\n{TRAIN}")
        _, words = run(here, "--keep-finished")
        assert superseded(here) == {"config.act=gelu": SupersededRuns(failed=3, replaced=0)}
        assert "act GELU 3; baseline 0" in words


@pytest.mark.slow
def test_code_that_was_edited_after_failures_does_not_forget_them(here, monkeypatch):
    run(here)
    (here / "train.py").write_text(TRAIN.replace("0.01", "0.02"))
    monkeypatch.setenv("LEAST", "0")
    run(here, "--retrain")
    assert superseded(here) == {"config.act=gelu": SupersededRuns(failed=3, replaced=0)}


@pytest.mark.slow
def test_each_training_with_other_code_is_a_comparison(here, monkeypatch):
    monkeypatch.setenv("LEAST", "0")
    for number in range(4):
        (here / "train.py").write_text(f"{TRAIN}\nnumber = {number}\n")
        _, words = run(here, "--retrain")
    others = StudyFolder(here / "results", "own").facts().plan.other_runs
    assert others.comparisons == 4
    assert others.level == pytest.approx(1 - 0.95**4, abs=0.006)
    assert "4 comparisons in this store" in words


CRASHING = """\
import random, sys
act, seed = sys.argv[1:3]
if act == "gelu" and seed in ("2", "4"):
    sys.exit("the run went badly")
print("acc", 0.8 + random.Random(f"{act}{seed}").gauss(0, 0.01))
"""
LEFT_OUT = "Runs failed on seeds that are left out here: act GELU on seeds 2, 4."


@pytest.mark.slow
@pytest.mark.parametrize("how", ["option", "name", "name alone", "file", "range"])
def test_seeds_that_are_left_out_since_runs_crashed_on_them_are_named(here, how):
    (here / "train.py").write_text(CRASHING)
    study = here / "study.yaml"
    study.write_text(STUDY.replace("seeds: 3", "seeds: 6"))
    code, words = run(here)
    assert code == 1
    assert "left out" not in words
    if how == "name alone":
        shutil.rmtree(here / "results/own")
    if how in ("name", "name alone"):
        study.write_text(study.read_text().replace("name: own", "name: final"))
    if how == "file":
        study.write_text(STUDY.replace("seeds: 3", "seeds: [0, 1, 3, 5]"))
    options = ["--seeds", "0,1,3,5"] if how in ("option", "name", "name alone") else []
    if how == "range":  # All other seeds, none of which was left over.
        options = ["--seeds", "10,11,12"]
    code, words = run(here, *options)
    assert code == 0
    assert (LEFT_OUT in words) == (how != "range")


@pytest.mark.slow
def test_further_seeds_leave_none_out_and_nor_does_what_fails_alike(here):
    (here / "train.py").write_text(CRASHING.replace('act == "gelu" and ', ""))
    (here / "study.yaml").write_text(STUDY.replace("seeds: 3", "seeds: 5"))
    run(here)
    _, words = run(here, "--seeds", "0,1,3")
    assert "left out" not in words
    (here / "train.py").write_text(CRASHING)
    run(here, "--retrain")
    _, words = run(here, "--seeds", 7)
    assert "left out" not in words
    assert run(here, "--seed", 0)[1].count("left out") == 0  # A single seed has no verdict.
    (here / "train.py").write_text(CRASHING.replace('"2", "4"', '"none"'))
    run(here, "--retrain")
    (here / "study.yaml").write_text(STUDY.replace("seeds: 3", "seeds: [0, 1, 3]"))
    _, words = run(here)
    assert "left out" not in words  # The same runs went well with later code.
