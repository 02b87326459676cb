"""The speed of a study from the command line: alone, after training, cut short, made again, and refused."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from harness import TOY, TOY_STUDY, ablate_here, run_here, with_database
from harness import ablate as typed

import ablate.stages.speed.methods
from ablate.pipeline.preregister.claims import WAITING
from ablate.pipeline.reports.cache import current_report
from ablate.pipeline.reports.place import report_place
from ablate.records.folder import StudyFolder
from ablate.session.options import Options
from ablate.study.document import read_document

FASTER, BETTER = (
    "baseline beats model.width=40 on step_seconds by 0.5",
    "model.width=40 beats baseline on accuracy",
)
FACTORS = "model.effect: [0.2]\n  model.noise: [0.1, 0.3]"
PLAIN = TOY_STUDY.replace(FACTORS, "model.width: [40]") + "placebo: on\n"
STUDY = f"{PLAIN}speed: {{processes: 5}}\nclaims: [{FASTER}, {BETTER}]\n"
JUDGED = ("supported", "refuted", "inconclusive")
"""Which of them it is depends on the machine."""
BUDGET = 0.005


@pytest.fixture(autouse=True)
def _measurements_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablate.stages.speed.methods, "BUDGET", BUDGET)


def current(study: Path, options: Options) -> bool:
    document = read_document(study)
    return current_report(report_place(document, options)[0], document, options) is not None


def kept(folder: Path) -> list[list[str]]:
    """When each process of each group that is kept has measured."""
    files = sorted((folder / "results/store/speed").glob("*.json"))
    return [[one["measured"] for one in json.loads(file.read_text())["processes"]] for file in files]


def said(*arguments: object, cwd: Path, code: int = 0) -> str:
    """What a command prints."""
    done = ablate_here(*arguments, "--results", cwd / "results", cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was timed before it was ever run, and what was printed."""
    folder = tmp_path_factory.mktemp("timed")
    (folder / "study.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ablate.stages.speed.methods, "BUDGET", BUDGET)
        printed = said("bench", "study.yaml", cwd=folder)
    with_database(folder / "results/store")
    (folder / "printed").write_text(printed)
    return folder


@pytest.fixture
def copy(timed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(timed, tmp_path / "copy"))


@pytest.mark.slow
def test_a_study_is_timed_before_it_is_trained(timed):
    folder = StudyFolder(timed / "results", "toy")
    evidence = folder.evidence()
    assert len(evidence.trials) == 0
    assert {"id", "variant", "task", "seed", "status", "accuracy"} <= set(evidence.trials)
    assert set(evidence.frames["speed"].variant) == {"baseline", "model.width=40"}
    assert evidence.facts.features["speed"]["processes"] == 5
    claims = {row["claim"]: row for row in folder.claims()}
    assert claims[FASTER]["verdict"] in JUDGED
    assert (claims[BETTER]["verdict"], claims[BETTER]["reason"]) == ("", WAITING)
    assert all(row["declared"] and row["exploratory"] == "False" for row in claims.values())
    printed = (timed / "printed").read_text()
    assert "width 40" in printed
    assert "on step seconds" in " ".join(printed.split())
    assert "Report: " in printed
    assert "on accuracy" not in printed
    assert "Speed" in (folder.path / "report.md").read_text()


@pytest.mark.slow
def test_other_commands_know_a_study_without_trials(copy):
    before = kept(copy)
    assert "0 of 9 trials" in said("list", "results", cwd=copy)
    said("report", "toy", cwd=copy)
    said("export", "toy", cwd=copy)
    planned = json.loads(said("plan", "study.yaml", "--json", cwd=copy).splitlines()[0])
    assert {planned["speed"][key] for key in ("processes", "kept")} == {5}
    assert "has no report that could be confirmed" in said("run", "study.yaml", "--confirm", cwd=copy, code=2)
    assert "holds no trials" in said("show", "toy", cwd=copy, code=2)
    shutil.copytree(copy / "results/toy", copy / "results/twin")
    assert "A: " in said("diff", "toy", "twin", cwd=copy)
    said("clean", "--yes", cwd=copy)
    printed = json.loads(said("bench", "toy", "--trust", "--json", cwd=copy).splitlines()[0])
    assert {row["metric"] for row in printed["speed"]} == {"forward_seconds", "step_seconds"}
    assert (printed["trained"], printed["exit_code"]) == (0, 0)
    assert kept(copy) == before


@pytest.mark.slow
def test_a_claim_that_another_study_has_measured_already_is_late(copy):
    (copy / "study.yaml").write_text(STUDY.replace("name: toy", "name: again"))
    before = kept(copy)
    said("bench", "study.yaml", cwd=copy)
    assert kept(copy) == before
    late = {row["claim"]: row["exploratory"] for row in StudyFolder(copy / "results", "again").claims()}
    assert late == {FASTER: "True", BETTER: "False"}


@pytest.mark.slow
def test_a_run_trains_and_keeps_what_was_timed(copy, monkeypatch):
    study, folder, before = copy / "study.yaml", StudyFolder(copy / "results", "toy"), kept(copy)
    speed, dates = (
        folder.evidence().frames["speed"],
        {row["claim"]: row["declared"] for row in folder.claims()},
    )
    assert run_here(study)[0].trained == 9
    assert kept(copy) == before
    evidence = folder.evidence()
    pd.testing.assert_frame_equal(evidence.frames["speed"], speed)
    assert len(evidence.trials) == 9
    assert {row["claim"]: row["declared"] for row in folder.claims()} == dates
    assert {row["exploratory"] for row in folder.claims()} == {"False"}
    # Without its measurement, or elsewhere, there is something to do.
    options = Options(results=folder.results)
    assert current(study, options)
    (measurement,) = (copy / "results/store/speed").iterdir()
    text = measurement.read_text()
    measurement.unlink()
    assert not current(study, options)
    measurement.write_text(text)
    assert current(study, options)
    with monkeypatch.context() as patch:
        patch.setattr("ablate.records.environment.machine", lambda: "another")
        assert not current(study, options)
    # A study that no longer asks for speed keeps what it has, and a part of a study measures nothing.
    study.write_text(PLAIN)
    assert run_here(study)[0].trained == 0
    pd.testing.assert_frame_equal(folder.evidence().frames["speed"], speed)
    study.write_text(STUDY.replace("[40]", "[40, 50]"))
    run_here(study, only=["model.width=50"], seed=0)
    assert kept(copy) == before


@pytest.mark.slow
def test_after_a_run_speed_is_added_to_its_report(write, tmp_path):
    text = f"{PLAIN}claims: [{BETTER}]\n"
    study, folder = write(text), StudyFolder(tmp_path / "results", "toy")
    run_here(study)
    trials, claims = folder.evidence().trials, folder.claims()
    said("bench", "toy", "--trust", "--processes", 5, cwd=tmp_path)
    pd.testing.assert_frame_equal(folder.evidence().trials, trials)
    assert folder.claims() == claims
    (five,) = kept(tmp_path)
    said("bench", "study.yaml", "--processes", 6, cwd=tmp_path)
    (six,) = kept(tmp_path)
    assert (len(six), six[:5]) == (6, five)
    # A claim that comes after the report is exploratory.
    run_here(write(STUDY))
    added = {row["claim"]: row for row in folder.claims()}
    assert added[FASTER]["verdict"] in JUDGED
    assert added[FASTER]["exploratory"] == "True"
    assert added[BETTER]["exploratory"] == "False"
    assert kept(tmp_path) == [six]
    said("bench", "study.yaml", "--fresh", cwd=tmp_path)
    assert not set(kept(tmp_path)[0]) & set(six)
    write(STUDY.replace("[40]", "[40, 50]"))
    assert "differs from the study that" in said("bench", "study.yaml", cwd=tmp_path, code=2)


@pytest.mark.slow
def test_what_is_timed_is_what_was_trained_or_it_is_said(write, tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(TOY.read_text())
    write(PLAIN.replace(str(TOY), str(plugin)).replace("seeds: 3", "seeds: 1"))

    def alone(*arguments: object) -> str:
        # In a process of its own: in this one, `toy` is the plugin of other tests.
        done = typed(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return " ".join(f"{done.stdout} {done.stderr}".split())

    alone("run", "study.yaml")
    assert "trained with other sources" not in alone("bench", "toy", "--trust", "--processes", 5)
    plugin.write_text(TOY.read_text().replace("100 * width", "101 * width"))
    printed = alone("bench", "toy", "--trust", "--processes", 5)
    assert "baseline, model.width=40, placebo: was trained with other sources" in printed


@pytest.mark.slow
def test_a_confirmation_is_about_seeds_and_leaves_speed_out(copy):
    study = copy / "study.yaml"
    text = STUDY.replace("model.width: [40]", "model.width: [40]\n  model.effect: [0.5]")
    study.write_text(text)
    run_here(study)
    before = kept(copy)
    run_here(study, confirm=True)
    folder = StudyFolder(copy / "results", "toy@confirm")
    assert (folder.evidence().frames, folder.claims()) == ({}, [])
    assert kept(copy) == before
    said("bench", "toy@confirm", "--trust", cwd=copy)
    assert len(folder.evidence().frames["speed"])
