"""A finished report is never replaced by a run that differs from it, nor by another study of its name."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from drivers import records
from harness import TOY_STUDY, ablate_here, with_database
from rich.console import Console
from searching import PEAK_STUDY

from ablate.base.errors import StudyError
from ablate.commands.report import rebuild
from ablate.commands.run import execute
from ablate.commands.show import show
from ablate.records.folder import StudyFolder
from ablate.route.options import Options, Outcome

Run = Callable[..., tuple[Outcome, str]]
TUNE = "tune: {over: {training.lr: {choice: [1e-3, 1e-2, 1e-1]}}, trials: 2, untuned: off}\n"
CLAIM = "claims: [model.effect=0.2 beats baseline on accuracy]\n"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy study, and its results."""
    folder = tmp_path_factory.mktemp("beside")
    (folder / "study.yaml").write_text(TOY_STUDY + CLAIM)
    with_database(folder / "results/store")
    options = Options(results=folder / "results", jobs=0)
    execute(folder / "study.yaml", options, Console(file=io.StringIO()))
    return folder


@pytest.fixture
def toy_study(write: Callable[..., Path]) -> Path:
    return write(TOY_STUDY + CLAIM)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    with_database(tmp_path / "results/store")
    return tmp_path / "results"


@pytest.fixture
def ran(once: Path, results: Path) -> None:
    """The toy study has run here already."""
    shutil.copytree(once / "results", results, dirs_exist_ok=True)


@pytest.fixture
def run(results: Path, toy_study: Path) -> Run:
    def run(study: Path = toy_study, **options: object) -> tuple[Outcome, str]:
        console = Console(file=io.StringIO(), width=300)
        outcome = execute(study, Options(**{"results": results, "jobs": 0} | options), console)  # type: ignore[arg-type]
        return outcome, console.file.getvalue()  # type: ignore[attr-defined]

    return run


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
    run: Run, ran: None, results: Path, options: dict[str, object], name: str
) -> None:
    before = content(results / "toy")
    outcome, printed = run(**options)
    assert outcome.folder == results / name
    assert content(results / "toy") == before
    line = "This run differs from the study as written, in "
    assert line in printed
    assert f": it reports in {outcome.folder}/." in printed
    facts = StudyFolder.at(outcome.folder).facts()
    assert facts.study == outcome.folder.name
    assert facts.differs
    # The same again has nothing to do, and says where that is.
    if "only" not in options:
        _, again = run(**options)
        assert f"Nothing to train: {outcome.folder} is up to date" in again
        assert line in again


def test_a_run_that_differs_never_reports_in_the_place_of_its_study(run: Run, results: Path) -> None:
    outcome, printed = run(seeds=2)
    assert outcome.folder == results / "toy@seeds=2"
    assert (
        f"This run differs from the study as written, in seeds=2: it reports in {outcome.folder}/." in printed
    )
    outcome, printed = run()
    assert outcome.folder == results / "toy"
    assert "as written" not in printed
    assert names(results) == ["toy", "toy@seeds=2"]


@pytest.mark.parametrize("text", ["", pytest.param(TUNE, marks=pytest.mark.slow)])
def test_a_run_that_differs_keeps_dates_rates_and_settings_of_its_study(
    run: Run, results: Path, write: Callable[..., Path], text: str
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
    run: Run, once: Path, write: Callable[..., Path]
) -> None:
    before = content(once)
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    for options in ({}, {"seeds": 2}, {"fresh": True}):
        with pytest.raises(StudyError, match="is that of another study") as caught:
            run(other, results=once / "results", **options)
        assert f"{other}:2: name: " in str(caught.value)
        assert str(once / "study.yaml") in str(caught.value)
    assert content(once) == before


@pytest.mark.slow
def test_files_of_one_study_take_its_place(run: Run, results: Path, toy_study: Path, tmp_path: Path) -> None:
    run()
    (tmp_path / "elsewhere").mkdir()
    moved = toy_study.rename(tmp_path / "elsewhere" / "moved.yaml")
    moved.write_text(TOY_STUDY.replace("[0.2]", "[0.4]"))
    assert run(moved)[0].folder == results / "toy"
    # Its resolved file, and that of a run that differs from it, belong to it.
    assert run(results / "toy/study.yaml")[0].folder == results / "toy"
    assert run(results / "toy/study.yaml", seeds=2)[0].folder == results / "toy@seeds=2"
    assert run(results / "toy@seeds=2/study.yaml")[0].folder == results / "toy@seeds=2"
    sources = {StudyFolder(results, name).facts().source for name in names(results)}
    assert sources == {"../../elsewhere/moved.yaml"}
    assert run(moved, seeds=2)[0].folder == results / "toy@seeds=2"


def test_names_with_an_at_are_the_programs_own(run: Run, results: Path, write: Callable[..., Path]) -> None:
    study = write(TOY_STUDY.replace("name: toy\n", "name: toy@seeds=2\n", 1))
    with pytest.raises(
        StudyError, match="name: names a run that differs from a study, which `ablate run` does"
    ):
        run(study)
    for name in ("atlas", "bench", "calibration", "torture", "Store"):
        with pytest.raises(
            StudyError, match=f"name: is kept for the harness; given '{name}'; allowed: any other"
        ):
            run(write(TOY_STUDY.replace("name: toy\n", f"name: {name}\n", 1)))
    assert names(results) == []


@pytest.mark.slow
def test_the_other_commands_take_the_name_of_such_a_report(run: Run, results: Path, toy_study: Path) -> None:
    run()
    outcome, _ = run(seeds=2)
    folder = StudyFolder.at(outcome.folder)
    page = folder.report_file.read_bytes()
    folder.report_file.unlink()
    rebuild(Path("toy@seeds=2"), results, Console(file=io.StringIO()))
    assert folder.report_file.read_bytes() == page
    assert b"Differs from the study" in page
    shown = show(next(iter(folder.ids())), results, print)
    assert f"ablate run {folder.study_file} --only" in shown
    command = next(line for line in shown.splitlines() if str(folder.study_file) in line).split()
    before = content(results / "toy") | content(folder.path)
    done = ablate_here(*command[1:], "--jobs", "0", cwd=toy_study.parent)
    assert done.returncode == 0, done.stderr
    assert content(results / "toy") | content(folder.path) == before
    assert len(names(results)) == 3
    for arguments in (["plan", folder.study_file], ["clean", "--yes"], ["list", "results"]):
        done = ablate_here(*arguments, "--results", results, cwd=toy_study.parent)
        assert done.returncode == 0, done.stderr
    assert "toy@seeds=2" in done.stdout
    assert len(records(toy_study.parent)) == 9


def test_the_fast_path_finds_a_report_beside_without_torch(
    run: Run, ran: None, results: Path, toy_study: Path
) -> None:
    run(seeds=2)
    code = "import sys\nfrom ablate.cli import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    code += "assert 'torch' not in sys.modules\n"
    call = [sys.executable, "-c", code, "run", str(toy_study), "--results", str(results), "--seeds", "2"]
    call += ["--json", "--strict"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "/toy@seeds=2 is up to date" in done.stderr.replace("\n", "")
    assert json.loads(done.stdout)["study"] == "toy@seeds=2"
