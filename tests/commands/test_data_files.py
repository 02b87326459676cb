"""Files of data are part of what a trial is: an edit trains anew, and old and new are never paired."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
from harness import ablate, prepare

from ablate.base.errors import StudyError
from ablate.study.files import resolved_text

READER = Path(__file__).parents[1] / "reader.py"
STUDY = """
name: read
workload: reader
plugins: [reader.py]
task: {numbers: data/numbers.txt}
factors: {model.effect: [1.0]}
seeds: 3
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "data").mkdir(parents=True)
    shutil.copy(READER, folder / "reader.py")
    (folder / "offset.txt").write_text("0")
    (folder / "data/numbers.txt").write_text("1 2 3")
    (folder / "study.yaml").write_text(STUDY)
    return folder


def ids(study: Path, *sets: str) -> list[str]:
    return [cell.id for cell in prepare(study, sets).cells()]


@pytest.mark.parametrize("file", ["data/numbers.txt", "offset.txt"])
def test_an_edit_of_a_file_changes_every_id_and_its_place_changes_none(home, file):
    before = ids(home / "study.yaml")
    times = (home / file).stat()
    (home / file).write_text("1 2 4"[: times.st_size])
    os.utime(home / file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    after = ids(home / "study.yaml")
    assert set(before).isdisjoint(after)
    moved = home.rename(home.parent / "elsewhere")
    assert ids(moved / "study.yaml") == after


def test_a_list_that_holds_files_counts_for_the_rest_of_it(home):
    plugin, study = home / "reader.py", home / "study.yaml"
    plugin.write_text(
        plugin.read_text().replace("numbers: DataFile", "numbers: list[list[DataFile | float]]")
    )
    mix = "numbers: [[data/numbers.txt, 0.5]]"
    study.write_text(STUDY.replace("numbers: data/numbers.txt", mix))
    before = ids(study)
    assert set(before).isdisjoint(ids(study, "task.numbers=[[data/numbers.txt, 0.6]]"))
    assert ids(home.rename(home.parent / "elsewhere") / "study.yaml") == before


def test_a_link_leads_to_the_same_trials(home):
    """A folder of results on another disk, and data behind a link."""
    elsewhere = home.parent / "disk/deep/results"
    elsewhere.mkdir(parents=True)
    (home / "results").symlink_to(elsewhere)
    (home / "data/numbers.txt").rename(home.parent / "v1.txt")
    (home / "data/numbers.txt").symlink_to(home.parent / "v1.txt")
    experiment = prepare(home / "study.yaml")
    resolved = home / "results/read/study.yaml"
    resolved.parent.mkdir()
    resolved.write_text(resolved_text(experiment, resolved.parent))
    assert ids(resolved) == ids(home / "study.yaml")


def test_levels_may_be_files_and_are_named_as_the_study_writes_them(home):
    (home / "data/more.txt").write_text("7 8 9")
    study = home / "study.yaml"
    study.write_text(STUDY.replace("model.effect: [1.0]", "task.numbers: [data/more.txt, data/numbers.txt]"))
    experiment = prepare(study)
    assert [variant.name for variant in experiment.variants] == ["baseline", "task.numbers=data/more.txt"]
    (home / "data/more.txt").unlink()
    with pytest.raises(StudyError, match=r"study.yaml:6: .*does not exist; given 'data/more.txt'"):
        prepare(study)


def run(home: Path) -> str:
    """What a run prints."""
    done = ablate("run", "study.yaml", "--jobs", "1", cwd=home)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow
def test_after_an_edit_all_trials_are_trained_again_and_none_is_paired_with_an_old_one(home):
    run(home)
    assert "Nothing to train" in run(home)
    before = pd.read_parquet(home / "results/read/trials.parquet")
    copy = Path(shutil.copytree(home, home.parent / "copy"))
    (home / "data/numbers.txt").write_text("5 6 7")
    assert "6 trials to train" in run(home)
    after = pd.read_parquet(home / "results/read/trials.parquet")
    assert set(before["id"]).isdisjoint(after["id"])
    assert after["accuracy"].to_list() == pytest.approx((before["accuracy"] + 4).to_list())
    record = json.loads((home / f"results/store/trials/{after['id'][0]}.json").read_text())
    files = [name for name in record["data"] if name.startswith("file ")]
    assert files == [f"file {home}/data/numbers.txt", f"file {home}/offset.txt"]
    # The resolved study runs from its own folder, and has no absolute path.
    resolved = home / "results/read/study.yaml"
    assert str(home) not in resolved.read_text()
    assert ids(resolved) == ids(home / "study.yaml")
    # The report of a copied study follows the data of the copy, and that of a moved one its trials.
    moved = copy.rename(home.parent / "moved")
    printed = run(moved)
    assert "Nothing to train" in printed or "all 6 trials are in the store" in printed
    (moved / "data/numbers.txt").write_text("9 9 9")
    assert "6 trials to train" in run(moved)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.slow
def test_a_file_that_changes_while_it_is_read_fails_the_trial(home):
    line = "        noise = "
    edit(home / "reader.py", line, f"        Path(trial.config['task']['numbers']).write_text('0')\n{line}")
    done = ablate("run", "study.yaml", "--jobs", "1", cwd=home)
    assert done.returncode == 1
    assert "numbers.txt changed while the study ran; run the study again" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
