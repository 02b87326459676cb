"""A finished report is never replaced by a run that differs from it, nor by another study of its name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from drivers import records
from harness import TOY_STUDY, ablate_here, report_here
from searching import PEAK_STUDY

from ablate.base.errors import StudyError
from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.route.options import Outcome

Run = Callable[..., tuple[Outcome, str]]
TUNE = "tune: {over: {training.lr: {choice: [1e-3, 1e-2, 1e-1]}}, trials: 2, untuned: off}\n"
MADE = STUDY = TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\n"


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(results: Path) -> list[str]:
    return [folder.name for folder in StudyFolder.all(results)]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"seeds": 2, "sets": ["model.noise=0.2"]}, "toy@model.noise=0.2,seeds=2"),
        ({"only": ["model.effect=0.2"], "seed": 1}, "toy@only=model.effect=0.2,seed=1"),
    ],
)
def test_a_run_that_differs_gets_a_folder_of_its_own(
    run: Run, ran: Path, options: dict[str, object], name: str
) -> None:
    before = content(ran / "toy")
    outcome, printed = run(STUDY, **options)
    assert outcome.folder == ran / name
    assert content(ran / "toy") == before
    line = "This run differs from the study as written, in "
    assert line in printed
    assert f": it reports in {outcome.folder}/." in printed
    facts = StudyFolder.at(outcome.folder).facts()
    assert facts.study == outcome.folder.name
    assert facts.differs
    # The same again has nothing to do, and says where that is.
    if "only" not in options:
        _, again = run(STUDY, **options)
        assert f"Nothing to train: {outcome.folder} is up to date" in again
        assert line in again


@pytest.mark.parametrize("text", ["", pytest.param(TUNE, marks=pytest.mark.slow)])
def test_a_run_that_differs_keeps_dates_rates_and_settings_of_its_study(
    run: Run, write: Callable[..., Path], text: str
) -> None:
    claim = "claims: [model.kind=wide beats baseline on score]\n"
    study = write(PEAK_STUDY + "factors: {model.kind: [wide]}\n" + claim + text)
    outcome, _ = run(study)
    more, _ = run(study, seeds=5)
    assert more.trained == 2 * 2  # the new seeds alone: a search finds the same settings
    (first,), (second,) = (StudyFolder.at(each.folder).claims() for each in (outcome, more))
    assert (first["declared"], first["exploratory"]) == (second["declared"], second["exploratory"])
    assert first["exploratory"] == "False"


def test_another_study_of_the_same_name_is_refused_with_both_paths(
    run: Run, made: Path, write: Callable[..., Path]
) -> None:
    before = content(made)
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    for options in ({}, {"seeds": 2}, {"fresh": True}):
        with pytest.raises(StudyError, match="is that of another study") as caught:
            run(other, results=made / "results", **options)
        assert f"{other}:2: name: " in str(caught.value)
        assert str(made / "study.yaml") in str(caught.value)
    assert content(made) == before


@pytest.mark.slow
def test_files_of_one_study_take_its_place(run: Run, ran: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "study.yaml").rename(tmp_path / "elsewhere" / "moved.yaml")
    moved.write_text(TOY_STUDY.replace("[0.2]", "[0.4]"))
    # Its resolved file, and that of a run that differs from it, belong to it.
    for study, options, name in (
        (moved, {}, "toy"),
        (ran / "toy/study.yaml", {}, "toy"),
        (ran / "toy/study.yaml", {"seeds": 2}, "toy@seeds=2"),
        (ran / "toy@seeds=2/study.yaml", {}, "toy@seeds=2"),
        (moved, {"seeds": 2}, "toy@seeds=2"),
    ):
        assert run(study, results=ran, **options)[0].folder == ran / name
        sources = {folder.facts().source for folder in StudyFolder.all(ran)}
        assert sources == {"../../elsewhere/moved.yaml"}


@pytest.mark.slow
def test_the_other_commands_take_the_name_of_such_a_report(run: Run, ran: Path, tmp_path: Path) -> None:
    outcome, _ = run(STUDY, seeds=2)
    folder = StudyFolder.at(outcome.folder)
    page = folder.report_file.read_bytes()
    folder.report_file.unlink()
    report_here(Path("toy@seeds=2"), ran)
    assert folder.report_file.read_bytes() == page
    assert b"Differs from the study" in page
    shown = show(next(iter(folder.ids())), ran, print)
    assert f"ablate run {folder.study_file} --only" in shown
    command = next(line for line in shown.splitlines() if str(folder.study_file) in line).split()
    before = content(ran / "toy") | content(folder.path)
    done = ablate_here(*command[1:], "--jobs", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(ran / "toy") | content(folder.path) == before
    assert len(StudyFolder.all(ran)) == 3
    for arguments in (["plan", folder.study_file], ["clean", "--yes"], ["list", "results"]):
        done = ablate_here(*arguments, "--results", ran, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "toy@seeds=2" in done.stdout
    assert len(records(tmp_path)) == 9


def test_the_fast_path_finds_a_report_beside_without_torch(run: Run, ran: Path, tmp_path: Path) -> None:
    run(STUDY, seeds=2)
    code = "import sys\nfrom ablate.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "assert 'torch' not in sys.modules\n"
    call = [sys.executable, "-c", code, "run", str(tmp_path / "study.yaml"), "--results", str(ran)]
    call += ["--seeds", "2", "--json", "--strict"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "/toy@seeds=2 is up to date" in done.stderr.replace("\n", "")
    assert json.loads(done.stdout)["study"] == "toy@seeds=2"
