"""Runs of MLflow where they lie: its folder, its database, its server; read, and never written."""

import importlib.util
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from harness import ablate_here, with_database

from ablate.records.folder import StudyFolder
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read
from ablate.runs.sources import find_runs

RECORDED = Path(__file__).parent / "recorded" / "mlflow"
SWEEP = "305949902855092327"
CALL = ("--baseline", "adamw", "--metric", "val_loss")


def state(folder):
    return {path: path.lstat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def copied(folder):
    return Path(shutil.copytree(RECORDED / "mlruns", folder / "mlruns"))


def comparison(folder, name):
    (row,) = [
        row for row in StudyFolder(folder / "results", name).comparisons() if row["metric"] != "seconds"
    ]
    return row


@pytest.mark.slow
def test_a_folder_is_read_and_left_as_it_is(tmp_path):
    mlruns = copied(tmp_path)
    before = state(mlruns)
    done = ablate_here("analyse", "mlruns", *CALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "experiment 'sweep' of MLflow: 6 runs, 2 × 3 seeds" in done.stdout + done.stderr
    row = comparison(tmp_path, "mlruns")
    last = [
        float(path.read_text().split()[-2])
        for path in mlruns.glob("*/*/metrics/val_loss")
        if (path.parents[1] / "params" / "optimizer").read_text() == "lion"
    ]
    assert (int(row["n"]), float(row["mean_variant"])) == (3, pytest.approx(sum(last) / 3))
    assert state(mlruns) == before
    assert "MLFLOW_ALLOW_FILE_STORE" not in os.environ


def test_metrics_have_their_own_names_and_those_of_mlflow():
    mlruns = str(RECORDED / "mlruns")
    plain = find_runs(mlruns, AnalysisOptions(metric="val_loss"))
    assert plain.metrics == ["test_acc", "val_loss"]
    both = find_runs(mlruns, AnalysisOptions(metric="metrics.val_loss", at="best val_loss"))
    assert both.table["metrics.val_loss"].tolist() == both.table["val_loss"].tolist()
    assert both.roles["step"] == ["step"]
    assert len(both.table) == 6 * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "place"), [("last", -1), ("best val_loss", 1), ("step 0", 0)], ids=["last", "best", "step"]
)
def test_the_step_that_counts_comes_from_the_histories(tmp_path, at, place):
    done = ablate_here("analyse", RECORDED / "mlruns", *CALL, "--at", at, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values = [
        float(path.read_text().splitlines()[place].split()[1])
        for path in (RECORDED / "mlruns").glob("*/*/metrics/val_loss")
    ]
    row = comparison(tmp_path, "mlruns")
    assert float(row["mean_variant"]) + float(row["mean_baseline"]) == pytest.approx(sum(values) / 3)


@pytest.mark.slow
def test_a_metric_that_is_logged_once_is_of_each_step(tmp_path):
    call = ("--baseline", "adamw", "--metric", "test_acc", "--at", "best val_loss")
    done = ablate_here("analyse", RECORDED / "mlruns", *call, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert comparison(tmp_path, "mlruns")["n"] == "3"


@pytest.mark.slow
def test_one_of_several_experiments_is_picked_by_name_or_by_its_folder(tmp_path):
    mlruns = copied(tmp_path)
    other = Path(shutil.copytree(mlruns / SWEEP, mlruns / "77"))
    for path in other.rglob("meta.yaml"):
        path.write_text(path.read_text().replace(SWEEP, "77").replace("name: sweep", "name: again"))
    done = ablate_here("analyse", "mlruns", *CALL, cwd=tmp_path)
    assert (done.returncode, "again" in done.stderr, "sweep" in done.stderr) == (2, True, True)
    for runs in (("mlruns", "--experiment", "again"), ("mlruns/77",)):
        done = ablate_here("analyse", *runs, *CALL, cwd=tmp_path)
        assert (done.returncode, "'again'" in done.stdout + done.stderr) == (0, True), done.stderr
    for name, words in {"agian": "Did you mean 'again'?", "empty": "without runs"}.items():
        done = ablate_here("analyse", "mlruns", "--experiment", name, *CALL, cwd=tmp_path)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def nested(mlruns, parent, metrics, *, number=0):
    """Adds a run to those of the recorded sweep that is nested in another, with metrics and no parameters."""
    identity = f"{number:031x}a"
    run = mlruns / SWEEP / identity
    shutil.copytree(parent, run, ignore=shutil.ignore_patterns("params", "metrics"))
    (run / "meta.yaml").write_text((parent / "meta.yaml").read_text().replace(parent.name, identity))
    (run / "tags" / "mlflow.parentRunId").write_text(parent.name)
    (run / "metrics").mkdir()
    for name, value in metrics.items():
        (run / "metrics" / name).write_text(f"1700000000000 {value} 0\n")
    return run


def recorded_run(mlruns, optimizer):
    """Returns a run of an optimizer, and its last val_loss."""
    for run in sorted((mlruns / SWEEP).iterdir()):
        if run.is_dir() and (run / "params" / "optimizer").read_text() == optimizer:
            return run, float((run / "metrics" / "val_loss").read_text().split()[-2])
    raise AssertionError(optimizer)


@pytest.mark.slow
def test_a_run_with_a_nested_evaluation_counts(tmp_path):
    """It was replaced by the run that is nested in it."""
    mlruns = copied(tmp_path)
    options = AnalysisOptions(baseline="adamw", metric="val_loss")
    before = find_runs(str(mlruns), options).table
    run, _ = recorded_run(mlruns, "lion")
    nested(mlruns, run, {"robustness": 0.4})
    found = find_runs(str(mlruns), options)
    assert found.table["val_loss"].tolist() == before["val_loss"].tolist()
    assert any(note.startswith("Passed over as parts of the runs") for note in found.notes)
    # With the metric it may be a run of its own: nothing says of which optimizer.
    nested(mlruns, run, {"val_loss": 0.123}, number=1)
    assert len(find_runs(str(mlruns), options).table) == len(before) + 1


@pytest.mark.parametrize("summary", ["best", "mean", "none"])
def test_a_parent_that_sums_up_a_sweep_is_no_run(tmp_path, summary):
    mlruns = copied(tmp_path)
    options = AnalysisOptions(baseline="adamw", metric="val_loss")
    before = find_runs(str(mlruns), options).table
    runs = [run for run in sorted((mlruns / SWEEP).iterdir()) if run.is_dir()]
    _, value = recorded_run(mlruns, "lion")
    losses = [float((run / "metrics" / "val_loss").read_text().split()[-2]) for run in runs]
    metrics = {"best": {"val_loss": value}, "mean": {"val_loss": sum(losses) / 6}, "none": {"num_runs": 6}}
    parent = nested(mlruns, runs[0], metrics[summary])
    (parent / "tags" / "mlflow.parentRunId").unlink()
    for run in runs:
        (run / "tags" / "mlflow.parentRunId").write_text(parent.name)
    found = find_runs(str(mlruns), options)
    assert found.table["val_loss"].tolist() == before["val_loss"].tolist()
    is_named = any(note.startswith("Passed over, since they sum up") for note in found.notes)
    assert is_named == (summary != "none")


def test_runs_without_seeds_keep_their_histories_apart(tmp_path):
    """With --at, all runs of a variant were steps of one."""
    mlruns = copied(tmp_path)
    for path in mlruns.glob("*/*/params/seed"):
        path.unlink()
    table = read(
        str(mlruns), AnalysisOptions(baseline="adamw", metric="val_loss", direction="min", at="last")
    )
    assert len(table.rows) == 6


def test_a_step_that_was_logged_twice_is_named(tmp_path):
    mlruns = copied(tmp_path)
    run, _ = recorded_run(mlruns, "lion")
    with (run / "metrics" / "val_loss").open("a") as file:
        file.write("1800000000000 0.25 0\n")
    found = find_runs(
        str(mlruns), AnalysisOptions(baseline="adamw", metric="val_loss", direction="min", at="step 0")
    )
    assert "0.25" in found.table["val_loss"].tolist()
    assert any("val_loss of lion" in note for note in found.notes)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


BROKEN = {
    "binary": ("metrics/val_loss", lambda path: path.write_bytes(b"\xff\xfe")),
    "a pipe": ("metrics/val_loss", make_pipe),
    "no YAML": ("meta.yaml", lambda path: path.write_text(": : [")),
    "empty": ("meta.yaml", lambda path: path.write_text("")),
    "missing": ("meta.yaml", Path.unlink),
    "of another experiment": ("meta.yaml", lambda path: path.write_text("experiment_id: '5'\n")),
}


@pytest.mark.parametrize(("name", "spoil"), BROKEN.values(), ids=BROKEN)
def test_a_broken_run_is_refused_and_not_left_out(tmp_path, name, spoil):
    mlruns = copied(tmp_path)
    run = next(path for path in sorted((mlruns / SWEEP).iterdir()) if path.is_dir())
    spoil(run / name)
    done = ablate_here("analyse", "mlruns", *CALL, cwd=tmp_path)
    assert (done.returncode, str(mlruns) in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A database of MLflow's with the runs that are recorded as a folder."""
    specification = importlib.util.spec_from_file_location("record", RECORDED / "record.py")
    record = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        specification.loader.exec_module(record)
    path = with_database(tmp_path_factory.mktemp("database")) / "mlflow.db"
    record.record(f"sqlite:///{path}")
    return path


@pytest.mark.slow
def test_a_database_is_read_by_its_content_and_left_as_it_is(tmp_path, database):
    path = Path(shutil.copy(database, tmp_path / "kept"))
    with closing(sqlite3.connect(path)) as connection:  # An older MLflow has fewer tables.
        connection.execute("DROP TABLE trace_tags")
    before = path.read_bytes()
    folder = path.parent
    for runs in ("kept", f"sqlite:///{path}"):
        done = ablate_here("analyse", runs, *CALL, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert comparison(folder, "kept")["n"] == "3"
    assert path.read_bytes() == before
    assert {each.name for each in folder.iterdir()} == {"kept", "results"}


def test_a_database_that_mlflow_cannot_read_is_refused(tmp_path, database):
    newer, cut, other = tmp_path / "newer.db", tmp_path / "cut.db", tmp_path / "other.db"
    shutil.copy(database, newer)
    for path, statement in {
        newer: "UPDATE alembic_version SET version_num = 'ffffffffffff'",
        other: "CREATE TABLE studies (id)",
    }.items():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()
    cut.write_bytes(database.read_bytes()[:50_000])
    for path in (newer, cut, other):
        done = ablate_here("analyse", path, *CALL, cwd=tmp_path)
        assert (done.returncode, path.name in done.stderr, done.stderr.count("\n")) == (2, True, 1), (
            done.stderr
        )


@pytest.mark.slow
def test_a_server_is_read(tmp_path, database):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    command += ["--backend-store-uri", f"sqlite:///{database}"]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", 90)
            done = ablate_here("analyse", f"http://127.0.0.1:{port}", *CALL, "--at", "last", cwd=tmp_path)
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    assert comparison(tmp_path, f"127.0.0.1-{port}")["n"] == "3"


def wait_for(address, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"{address} does not answer")
