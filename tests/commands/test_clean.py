"""`ablate clean`: what goes, what stays, and when nothing may be touched."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock
from harness import TOY_STUDY, ablate, ablate_here, run_here, stored
from harness import clean_here as cleaned

from ablate.base.errors import AblateError, StoreError
from ablate.commands.show import show
from ablate.core.record import Record
from ablate.records.store import Store
from ablate.session.options import RunOutcome

MADE = TOY_STUDY


def run_in(folder: Path, **options: object) -> RunOutcome:
    return run_here(folder / "study.yaml", **options)[0]


def strange(results: Path, *ids: str) -> None:
    """Trials that belong to no study."""
    for trial in ids or ("0123456789abcdef",):
        environment = {"command": "ablate run old.yaml"}
        record = Record(trial, {}, 0, "completed", environment=environment, finished_at="2026-01-02T03:04:05")
        Store(results / "store").save(record)


@pytest.mark.slow
def test_weights_and_states_go_with_their_trial(ran):
    store = Store(ran / "store")
    strange(ran)
    for trial in ("0123456789abcdef", *stored(ran)):
        record = store.load(trial)
        assert record is not None
        record.kept, record.weights = ["final"], b"weights"
        store.save(record)
    store.save_state("0123456789abcdef", b"of another run")
    store.save_state("fedcba9876543210", b"of a trial that never finished")
    kept = stored(ran) - {"0123456789abcdef"}
    cleaned(ran)
    assert {path.stem for path in (ran / "store/trials").glob("*.safetensors")} == kept
    assert not list((ran / "store/trials").glob("*.state"))


def test_only_trials_of_no_study_go_and_none_without_consent(ran):
    kept, trials = stored(ran), ran / "store/trials"
    strange(ran, "0123456789abcdef", "fedcba9876543210")
    before = {path: path.read_bytes() for path in trials.iterdir()}
    said, _ = cleaned(ran, agree=False)
    assert said.startswith("2 of 11 trials do not belong to any study (toy): ")
    assert "Removed" not in said
    assert {path: path.read_bytes() for path in trials.iterdir()} == before
    said, warned = cleaned(ran)
    assert (stored(ran), {path.stem for path in trials.glob("*.npz")}, warned) == (kept, kept, "")
    assert "Removed; " in said
    assert cleaned(ran)[0].endswith("nothing to remove; all 9 trials belong to a study.")


@pytest.mark.slow
def test_what_another_version_of_the_study_has_left_goes(ran):
    old = stored(ran)
    study = ran.parent / "study.yaml"
    study.write_text(study.read_text() + "model: {width: 5}\n")
    run_in(ran.parent)
    assert cleaned(ran)[0].startswith("9 of 18 trials")
    assert not stored(ran) & old
    assert run_in(ran.parent).trained == 0


@pytest.mark.parametrize("lost", ["store/studies/toy.json", "toy/trials.parquet"])
def test_table_and_list_each_keep_the_trials_unless_one_cannot_be_read(ran, lost):
    kept = stored(ran)
    strange(ran)
    (ran / lost).write_text("half a fi")
    with pytest.raises(AblateError, match=f"{lost}: .*[Rr]un .* again"):
        cleaned(ran)
    assert len(stored(ran)) == 10
    (ran / lost).unlink()
    # Nothing is planned again: the study may be broken by now, and its sources others.
    (ran / "toy/study.yaml").write_text("name: [\n")
    assert not cleaned(ran)[1]
    assert stored(ran) == kept


@pytest.mark.slow
def test_trials_that_came_after_the_last_report_stay(ran):
    table = ran / "toy/trials.parquet"
    before = table.read_bytes()
    study = ran.parent / "study.yaml"
    study.write_text(study.read_text().replace("seeds: 3", "seeds: 5"))
    run_in(ran.parent)
    table.write_bytes(before)
    strange(ran)
    cleaned(ran)
    assert len(stored(ran)) == 15


@pytest.mark.slow
def test_what_cannot_be_told_is_not_cleaned(ran):
    """As if the study had been killed before its first report."""
    (ran / "toy/trials.parquet").unlink()
    (ran / "store/studies/toy.json").unlink()
    strange(ran)
    with pytest.raises(
        AblateError, match=r"the trials of toy are unknown.*Nothing was removed\. Run toy again"
    ):
        cleaned(ran)
    assert len(stored(ran)) == 10
    assert run_in(ran.parent).trained == 0
    cleaned(ran)
    assert len(stored(ran)) == 9


def test_a_study_whose_folder_is_gone_keeps_its_trials_until_it_is_given_up(ran):
    shutil.rmtree(ran / "toy")
    state = ran / "store/studies/toy.json"
    _, warned = cleaned(ran)
    assert warned == f"{ran / 'toy'} is missing; to give up its trials, remove {state} as well"
    assert len(stored(ran)) == 9
    state.unlink()
    said, _ = cleaned(ran)
    assert "9 of 9 trials do not belong to any study" in said
    assert not stored(ran)


def test_broken_and_unfinished_files_go(ran):
    kept = stored(ran)
    trials = ran / "store/trials"
    trial = "0123456789abcdef"
    gone = [trials / f"{trial}.corrupt-1", trials / f"{trial}.corrupt-1.npz"]
    gone += [trials / f".{trial}.json.ablate-abcdefgh.part"]
    gone += [ran / "toy/.report.html.ablate-abcdefgh.part"]
    being_written = trials / f".{trial}.json.ablate-hgfedcba.part"
    for path in [*gone, being_written]:
        path.write_text("half")
    for path in gone:
        os.utime(path, (0, 0))
    said, _ = cleaned(ran)
    assert "2 set-aside files: 8 B" in said
    assert "2 incomplete files: 8 B" in said
    assert "Removed; 16 B freed." in said
    assert not any(path.exists() for path in gone)
    assert being_written.exists()
    assert stored(ran) == kept


@pytest.mark.slow
def test_files_of_the_user_in_the_store_stay(ran):
    trials = ran / "store/trials"
    strange(ran)
    names = "notes.json notes.corrupt-1 .env.99999999-prod .notes.2024-05-01.md 0123456789abcdef.txt"
    names += " 0123456789ABCDEF.json fedcba9876543210.json"
    mine = [trials / name for name in names.split()]
    for path in mine[:-1]:
        path.write_text("{}")
    mine[-1].symlink_to("notes.json")
    said, _ = cleaned(ran)
    assert "1 of 10 trials" in said
    assert [path for path in mine if not path.exists()] == []
    run_in(ran.parent, seeds=4)
    assert [path for path in mine if not path.exists()] == []
    with pytest.raises(AblateError, match="matches no trial"):
        show("notes", ran, pytest.fail)


def test_nothing_is_touched_while_a_study_is_run_or_begins_before_the_answer(ran):
    strange(ran)
    for study in ("toy", "another"):
        with (
            FileLock(ran / f"store/locks/{study}.lock"),
            pytest.raises(StoreError, match=f"{study} is running; nothing was removed"),
        ):
            cleaned(ran)
    with pytest.raises(StoreError, match="new is running"):
        cleaned(ran, lambda: (ran / "store/locks/new.lock").touch() is None)
    assert len(stored(ran)) == 10
    cleaned(ran)
    assert len(stored(ran)) == 9


@pytest.mark.slow
def test_on_the_command_line_it_asks_or_wants_yes(ran, tmp_path):
    strange(ran)
    done = ablate("clean", cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "1 of 10 trials" in done.stdout
    assert done.stdout.endswith("Nothing was removed; add --yes to remove these files.\n")
    assert len(stored(ran)) == 10
    for answer, left in (("n", 10), ("y", 9)):
        terminal, end = pty.openpty()
        os.write(terminal, f"{answer}\n".encode())
        done = ablate("clean", cwd=tmp_path, stdin=end)
        os.close(end)
        os.close(terminal)
        assert done.returncode == 0, done.stderr
        assert "Remove these files? Trials can only be trained again, not restored [y/N]" in done.stdout
        assert len(stored(ran)) == left
    strange(ran)
    done = ablate_here("clean", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(stored(ran)) == 9
    assert run_in(tmp_path).trained == 0
