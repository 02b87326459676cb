"""Trials as jobs: the commands of a plan, each trained alone, and what the next run makes of what they leave."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from drivers import wait_for, workers_of
from harness import TOY_CLAIMED, TOY_STUDY, ablate_here, content, run_here, stored, toy_changed
from own import OWN, own_study
from rich.console import Console

from ablate.base.errors import AblateError
from ablate.pipeline.jobs.alone import JobFailed, train_alone
from ablate.pipeline.jobs.batch import Batch
from ablate.pipeline.jobs.commands import write_commands
from ablate.records.inbox import Damaged, Inbox
from ablate.records.store import Store
from ablate.session.options import Options

LOOKS = TOY_STUDY.replace("seeds: 3", "seeds: {min: 3, max: 6}") + "metric: {name: accuracy, margin: 0.05}\n"
SWEEP = (
    TOY_STUDY
    + "search: {over: {model.effect: {float: [0.0, 1.0]}}, trials: 4, batch: 2, seeds: 1, winners: 1}\n"
)


class Jobs:
    """A study, its plan as jobs, and its jobs in this process."""

    def __init__(self, study: Path, **options: Any) -> None:
        self.study = study
        self.options = Options(results=study.parent / "results", jobs=0, **options)
        self.said = io.StringIO()
        self.console = Console(file=self.said, width=1000)
        self.file = study.parent / "results" / "commands.txt"

    def plan(self) -> Batch:
        return write_commands(self.study, self.options, self.file, self.console)

    def train(self, trial_id: str) -> None:
        train_alone(self.study, trial_id, self.options, self.console)

    def train_all(self) -> int:
        batch = self.plan()
        for cell in batch.cells:
            self.train(cell.id)
        return len(batch.cells)

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.options.results_folder / "store")

    @property
    def store(self) -> Store:
        return Store(self.options.results_folder / "store")


@pytest.fixture
def jobs(write: Callable[..., Path]) -> Callable[..., Jobs]:
    return lambda text, **options: Jobs(write(text), **options)


def contents(store: Store, ids: Sequence[str]) -> dict[str, object]:
    return {trial_id: content(store.load(trial_id)) for trial_id in ids}


@pytest.mark.slow
def test_a_run_adopts_what_jobs_have_trained_with_the_numbers_of_a_run_and_trains_nothing(jobs, tmp_path):
    found = jobs(TOY_CLAIMED)
    assert found.train_all() == 12
    assert not stored(tmp_path / "results")
    assert {path.suffix for path in found.inbox.folder.iterdir()} == {".zip"}

    outcome, printed = run_here(found.study)
    assert (outcome.trained, outcome.missing, outcome.failed) == (0, 0, [])
    assert "12 trials from" in printed
    assert not found.inbox.files()
    ids = stored(tmp_path / "results")
    run_here(found.study, results=tmp_path / "other")
    assert stored(tmp_path / "other") == ids
    assert contents(found.store, ids) == contents(Store(tmp_path / "other/store"), ids)


def exploratory_claims(folder: Path) -> list[bool]:
    rows = csv.DictReader((folder / "claims.csv").read_text().splitlines())
    return [row["exploratory"] == "True" for row in rows]


@pytest.mark.slow
def test_claims_that_the_plan_has_dated_before_its_jobs_are_not_post_hoc(jobs, tmp_path):
    found = jobs(TOY_CLAIMED)
    found.train_all()
    run_here(found.study)
    assert exploratory_claims(tmp_path / "results/toy") == [False, False]


@pytest.mark.slow
def test_claims_on_jobs_without_a_dated_plan_are_post_hoc(jobs, tmp_path):
    found = jobs(TOY_CLAIMED)
    batch = found.plan()
    for cell in batch.cells:
        found.train(cell.id)
    shutil.rmtree(tmp_path / "results/toy")
    run_here(found.study)
    assert exploratory_claims(tmp_path / "results/toy") == [True, True]


@pytest.mark.slow
def test_a_line_is_run_by_a_shell_with_the_options_of_the_plan(write, tmp_path):
    write(TOY_STUDY, "my study.yaml")
    words = (
        "--set",
        "training.steps=4",
        "--set",
        "training.note=it's here",
        "--seeds",
        "0,2",
        "--results",
        "my results",
    )
    done = ablate_here("plan", "my study.yaml", "--commands", "commands.txt", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 trials to train now" in done.stdout
    first, *others = (tmp_path / "commands.txt").read_text().splitlines()
    assert len(others) == 5
    place = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    call = subprocess.run(
        ["sh", "-c", first], cwd=tmp_path, env={**os.environ, "PATH": place}, capture_output=True, text=True
    )
    assert call.returncode == 0, call.stderr
    (file,) = (tmp_path / "my results/store/inbox").iterdir()
    record = Inbox(tmp_path / "my results/store").read(file)
    assert record.config["training"]["steps"] == 4
    assert record.id in first
    assert "training under seed" in record.output


def test_json_names_the_trials(write, tmp_path):
    write(TOY_STUDY)
    done = ablate_here("plan", "study.yaml", "--commands", "c.txt", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (len(found["trials"]), found["left"], found["file"]) == (9, 0, "c.txt")


WAITS_ONCE = """if not os.path.exists(training["note"]):
            open(training["note"], "w").close()
            time.sleep(3600)
        for step in range(training["steps"]):"""


def test_a_job_that_is_killed_leaves_nothing_half_and_its_repetition_is_whole(write, tmp_path):
    began = tmp_path / "began"
    text = toy_changed(tmp_path, "waiting", ('for step in range(training["steps"]):', WAITS_ONCE))
    found = Jobs(write(f"{text}training: {{note: {began}}}\n"))
    trial_id = found.plan().cells[0].id
    words = [sys.executable, "-m", "ablate", "trial", "study.yaml", trial_id]
    job = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: job.poll() is not None or began.exists())
    job.kill()
    job.communicate()
    wait_for(lambda: not workers_of(tmp_path))
    assert not found.inbox.files()
    assert not stored(tmp_path / "results")
    found.train(trial_id)
    assert found.inbox.load(trial_id).status == "completed"
    assert run_here(found.study)[0].trained == 8


@pytest.mark.slow
def test_a_trial_that_is_trained_already_is_not_trained_again_in_inbox_or_store(jobs, tmp_path):
    found = jobs(TOY_STUDY)
    trial_id = found.plan().cells[0].id
    found.train(trial_id)
    before = found.inbox.file(trial_id).stat().st_mtime_ns
    found.train(trial_id)
    assert found.inbox.file(trial_id).stat().st_mtime_ns == before
    assert "trained already" in found.said.getvalue()
    run_here(found.study)
    found.train(trial_id)
    assert f"{trial_id}.json" in found.said.getvalue()
    assert not found.inbox.files()


@pytest.mark.slow
def test_what_the_store_has_already_is_not_stored_again(jobs, tmp_path):
    found = jobs(TOY_STUDY)
    trial_id = found.plan().cells[0].id
    found.train(trial_id)
    copy = tmp_path / "copy.zip"
    shutil.copy(found.inbox.file(trial_id), copy)
    run_here(found.study)
    before = (found.store.trials / f"{trial_id}.json").stat().st_mtime_ns
    shutil.copy(copy, found.inbox.file(trial_id))
    run_here(found.study, fresh=False, seeds=2)
    assert (found.store.trials / f"{trial_id}.json").stat().st_mtime_ns == before
    assert not found.inbox.files()


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("damage", ["cut", "changed", "text", "named", "empty"])
def test_a_damaged_file_is_named_left_and_not_adopted(jobs, tmp_path, damage):
    found = jobs(TOY_STUDY)
    first, second = [cell.id for cell in found.plan().cells[:2]]
    found.train(first)
    found.train(second)
    file = found.inbox.file(first)
    whole = file.read_bytes()
    if damage == "named":
        file = file.rename(found.inbox.folder / "0123456789abcdef.zip")
    else:
        place = whole.index(b'"metrics"')
        bad = {
            "cut": whole[: len(whole) // 2],
            "changed": whole[:place] + whole[place:].replace(b"0.", b"1.", 1),
            "text": b"not an archive",
            "empty": b"",
        }
        file.write_bytes(bad[damage])
    left = file.read_bytes()
    with pytest.raises(Damaged):
        found.inbox.read(file)
    outcome, printed = run_here(found.study)
    assert outcome.trained == 8
    assert file.name in printed
    assert file.read_bytes() == left
    assert found.inbox.files() == [file]


@pytest.mark.slow
def test_a_trial_of_other_code_is_named_left_and_not_adopted(jobs, tmp_path):
    found = jobs(toy_changed(tmp_path, "mine"))
    trial_id = found.plan().cells[0].id
    found.train(trial_id)
    plugin = tmp_path / "mine.py"
    plugin.write_text(plugin.read_text().replace("0.8 + model", "0.7 + model"))
    changed = Jobs(found.study)
    with pytest.raises(AblateError, match="is no trial that the study lacks now"):
        changed.train(trial_id)
    outcome, printed = run_here(found.study)
    assert outcome.trained == 9
    assert f"{trial_id}.zip: of another study, or of other code" in printed
    assert changed.inbox.file(trial_id).is_file()


def test_an_unknown_id_is_refused_with_the_nearest_and_how_to_list_them(write, tmp_path):
    study = write(TOY_STUDY)
    found = Jobs(study)
    trial_id = found.plan().cells[0].id
    done = ablate_here("trial", "study.yaml", f"{trial_id[:-1]}x", "--seeds", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert trial_id in done.stderr
    assert "ablate plan study.yaml --seeds 2 --commands FILE" in done.stderr


@pytest.mark.slow
def test_a_failed_trial_leaves_its_record_and_is_counted_as_one_of_a_run(jobs, tmp_path):
    found = jobs(TOY_STUDY + "training: {fault: raise}\n")
    for cell in found.plan().cells:
        if cell.seed == 0:
            with pytest.raises(JobFailed, match="the toy broke") as failure:
                found.train(cell.id)
            assert failure.value.exit_code == 1
            assert found.inbox.load(cell.id).status == "failed"
        else:
            found.train(cell.id)
    outcome, _ = run_here(found.study, keep_going=True)
    # As after a run, what failed is tried again.
    assert (outcome.trained, len(outcome.failed)) == (3, 3)
    lines = (tmp_path / "results/store/superseded.jsonl").read_text().splitlines()
    assert len(lines) == 6


@pytest.mark.slow
def test_looks_give_one_batch_after_the_other(jobs):
    found = jobs(LOOKS)
    first = found.plan()
    assert len(first.cells) == 9
    assert first.left > 0
    assert {cell.seed for cell in first.cells} == {0, 1, 2}
    for cell in first.cells:
        found.train(cell.id)
    second = found.plan()
    assert {cell.seed for cell in second.cells} <= {3, 4, 5}
    for cell in second.cells:
        found.train(cell.id)
    while found.train_all():
        pass
    assert run_here(found.study)[0].trained == 0


@pytest.mark.slow
def test_a_search_gives_one_batch_after_the_other_and_the_same_settings_as_a_sweep(jobs, tmp_path):
    found = jobs(SWEEP, sweep=True)
    batches = [found.train_all()]
    while batches[-1]:
        batches.append(found.train_all())
    assert batches[0] == 2
    assert len(batches) > 3
    assert run_here(found.study, sweep=True)[0].trained == 0
    ids = stored(tmp_path / "results")
    run_here(found.study, sweep=True, results=tmp_path / "other")
    assert stored(tmp_path / "other") == ids


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("kind", ["function", "command", "script"])
def test_own_code_is_trained_alone_with_the_numbers_of_a_run(tmp_path, kind):
    by_jobs = tmp_path / "jobs"
    by_run = tmp_path / "run"
    for folder in (by_jobs, by_run):
        shutil.copytree(OWN, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "study.yaml").write_text(json.dumps(own_study(kind)))
    found = Jobs(by_jobs / "study.yaml")
    assert found.train_all() == 6
    assert run_here(found.study)[0].trained == 0
    run_here(by_run / "study.yaml")
    ids = stored(by_run / "results")
    assert stored(by_jobs / "results") == ids
    assert contents(found.store, ids) == contents(Store(by_run / "results/store"), ids)


@pytest.mark.slow
def test_own_code_that_is_tuned_is_trained_alone_with_the_settings_of_its_tuning(tmp_path):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    tune = {"over": {"config.rate": {"choice": [0.25, 1.0]}}, "sampler": "grid", "trials": 2, "seeds": 3}
    study = own_study("command", seeds=4, tune=tune)
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    found = Jobs(tmp_path / "study.yaml")
    batches = [found.train_all()]
    while batches[-1]:
        batches.append(found.train_all())
    assert len(batches) > 2
    assert run_here(found.study)[0].trained == 0


@pytest.mark.slow
def test_a_file_of_commands_that_would_count_as_code_is_refused(tmp_path):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    (tmp_path / "study.yaml").write_text(json.dumps(own_study("command")))
    found = Jobs(tmp_path / "study.yaml")
    found.file = tmp_path / "commands.txt"
    with pytest.raises(AblateError, match="would count as code of the study"):
        found.plan()
    assert not found.file.exists()


@pytest.mark.slow
def test_a_job_of_a_study_with_kept_weights_brings_them(jobs, tmp_path):
    small = """
name: kept
task: recall
model: {d_model: 8, num_layers: 1, mixer: {num_heads: 2}}
training: {steps: 2}
factors: {model.mixer.score: [additive]}
seeds: 1
checkpoint: final
save_every: 1
"""
    found = jobs(small)
    assert found.train_all() == 2
    assert {path.suffix for path in found.inbox.folder.iterdir()} == {".zip"}
    assert run_here(found.study)[0].trained == 0
    assert len([*found.store.trials.glob("*.safetensors")]) == 2


def test_the_state_of_an_interrupted_job_is_taken_up(jobs):
    found = jobs(TOY_STUDY)
    trial_id = found.plan().cells[0].id
    found.inbox.states.save_state(trial_id, b"state")
    assert found.inbox.states.load_state(trial_id) == b"state"
    assert not found.inbox.files()
    found.train(trial_id)
    assert found.inbox.states.load_state(trial_id) is None
