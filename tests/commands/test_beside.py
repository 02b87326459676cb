"""A finished report is never replaced by a run that differs from it, nor by another study of its name."""

import ast
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from harness import TOY_STUDY, ablate_without
from searching import PEAK_STUDY

from ablate.base.errors import StudyError
from ablate.records.folder import StudyFolder
from ablate.records.named_folder import report_folder

TUNE = "tune: {over: {training.lr: {choice: [1e-3, 1e-2, 1e-1]}}, trials: 2}\n"
MADE = STUDY = TOY_STUDY + "claims: [model.effect=0.2 beats baseline on accuracy]\n"


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"seeds": 2, "sets": ["model.noise=0.2"]}, "toy@model.noise=0.2,seeds=2"),
        ({"only": ["model.effect=0.2"], "seed": 1}, "toy@only=model.effect=0.2,seed=1"),
    ],
)
def test_a_run_that_differs_gets_a_folder_of_its_own(run, ran, options, name):
    before = content(ran / "toy")
    outcome, printed = run(STUDY, **options)
    assert outcome.folder == ran / name
    assert content(ran / "toy") == before
    line = "This run differs from the study as written, in "
    assert line in printed
    assert f": it reports in {outcome.folder}/." in printed
    facts = StudyFolder.at(outcome.folder).facts()
    assert facts.study == outcome.folder.name
    assert facts.plan.differs
    # The same again has nothing to do, and says where that is.
    if "only" not in options:
        _, again = run(STUDY, **options)
        assert f"Nothing to train: {outcome.folder} is up to date" in again
        assert line in again


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", pytest.param(TUNE, marks=pytest.mark.slow)])
def test_a_run_that_differs_keeps_dates_rates_and_settings_of_its_study(run, write, text):
    claim = "claims: [model.kind=wide beats baseline on score]\n"
    study = write(PEAK_STUDY + "factors: {model.kind: [wide]}\n" + claim + text)
    outcome, _ = run(study)
    more, _ = run(study, seeds=5)
    assert more.trained == 2 * 2  # the new seeds alone: a search finds the same settings
    (first,), (second,) = (StudyFolder.at(each.folder).claims() for each in (outcome, more))
    assert (first["declared"], first["exploratory"]) == (second["declared"], second["exploratory"])
    assert first["exploratory"] == "False"


def test_another_study_of_the_same_name_is_refused_with_both_paths(run, made, write):
    before = content(made)
    other = write(TOY_STUDY.replace("[0.2]", "[0.4]"), "other.yaml")
    for options in ({}, {"seeds": 2}, {"fresh": True}):
        with pytest.raises(StudyError, match="is the name of another study") as caught:
            run(other, results=made / "results", **options)
        assert f"{other}:2: name: " in str(caught.value)
        assert str(made / "study.yaml") in str(caught.value)
    assert content(made) == before


@pytest.mark.slow
def test_the_fast_path_finds_a_report_beside_without_torch(run, ran, tmp_path, monkeypatch):
    run(STUDY, seeds=2)
    # A name is that of a study in the results, also where a folder of reports is called so.
    shutil.copytree(ran / "toy", tmp_path / "toy@seeds=2")
    assert report_folder(tmp_path / "toy@seeds=2", ran).path == tmp_path / "toy@seeds=2"
    monkeypatch.chdir(tmp_path)
    assert report_folder(Path("toy@seeds=2"), ran).path == ran / "toy@seeds=2"
    words = ["run", "study.yaml", "--results", ran, "--seeds", 2, "--json", "--strict"]
    done = ablate_without({"torch", "pandas", "mlflow"}, *words, cwd=tmp_path)
    assert "/toy@seeds=2 is up to date" in done.stderr.replace("\n", "")
    assert json.loads(done.stdout)["study"] == "toy@seeds=2"


@pytest.mark.slow
def test_the_fast_path_reads_the_study_once_and_neither_records_nor_the_package(run, ran, tmp_path):
    run(STUDY)
    absent = {"torch", "pandas", "mlflow", "numpy", "pyarrow", "scipy", "matplotlib", "seaborn"}
    done = ablate_without(absent, "run", "study.yaml", "--results", ran, cwd=tmp_path)
    assert "is up to date" in done.stdout.replace("\n", " ")
    opened = [Path(file) for file in ast.literal_eval(done.stderr.splitlines()[-1])]
    times = Counter(file.name for file in opened if file.suffix in (".yaml", ".json", ".npz", ".parquet"))
    assert times == {"study.yaml": 1, "toy.json": 1}, times
    assert not [file for file in opened if file.name == "attention.py"]
