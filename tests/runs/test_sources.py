"""Samples of lm-eval and experiments of MLflow that are broken: refused by name, read without what is foreign."""

import json
import os
import socket
import threading
import time
from contextlib import closing

import pytest
from harness import ablate_here

from ablate.records.folder import StudyFolder

CALL = ("--baseline", "a", "--metric", "acc", "--direction", "max")
NAME = "samples_arc_2025-01-02T10-11-12.345.jsonl"


def write_samples(folder, **changes):
    """Writes thirty samples of two models; those of `b` have the changes in the fourth."""
    for model in "ab":
        samples = [
            {"doc_id": i, "doc_hash": f"h{i}", "acc": float(i % (2 + (model == "b")) == 0)} for i in range(30)
        ]
        if model == "b":
            samples[3] |= changes
        path = folder / "out" / model / NAME
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return path


def link(path, target):
    path.unlink()
    path.symlink_to(target)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


BROKEN_FILES = {
    "a pipe": make_pipe,
    "a device without an end": lambda path: link(path, "/dev/zero"),
    "a link to nothing": lambda path: link(path, "nothing"),
    "larger than is read": lambda path: os.truncate(path, 3 * 10**9),
    "empty": lambda path: path.write_text("\n"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "deep": lambda path: path.write_text("[" * 100_000),
    "another kind of file": lambda path: path.write_text("[1, 2]\n"),
}


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("break_file", BROKEN_FILES.values(), ids=BROKEN_FILES)
def test_a_file_without_samples_is_refused_by_its_name(tmp_path, break_file):
    path = write_samples(tmp_path)
    break_file(path)
    started = time.monotonic()
    done = ablate_here("analyse", "out", *CALL, cwd=tmp_path)
    assert done.returncode == 2
    assert f"out/b/{NAME}" in done.stderr
    assert time.monotonic() - started < 60


BROKEN_FIELDS = [{"doc_id": None}, {"doc_id": True}, {"doc_id": [1]}, {"doc_hash": 5}, {"filter": ["none"]}]


@pytest.mark.parametrize("changes", BROKEN_FIELDS, ids=str)
def test_a_sample_of_another_kind_is_refused_by_its_line(tmp_path, changes):
    write_samples(tmp_path, **changes)
    done = ablate_here("analyse", "out", *CALL, cwd=tmp_path)
    assert done.returncode == 2
    assert f"out/b/{NAME}, line 4:" in done.stderr


def test_a_cut_line_is_refused_and_a_blank_one_is_none(tmp_path):
    path = write_samples(tmp_path)
    whole = path.read_text()
    path.write_text(whole[:-20])
    done = ablate_here("analyse", "out", *CALL, cwd=tmp_path)
    assert (done.returncode, f"{NAME}, line 30:" in done.stderr) == (2, True)

    path.write_text(f"\n{whole}\n\n")
    done = ablate_here("analyse", "out", *CALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = StudyFolder(tmp_path / "results", "out").comparisons()
    assert row["n"] == "30"


def test_half_a_surrogate_pair_in_a_document_is_read(tmp_path):
    write_samples(tmp_path, doc={"text": "\ud800"})
    done = ablate_here("analyse", "out", *CALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_folder_without_samples_or_without_the_metric_is_refused(tmp_path):
    write_samples(tmp_path)
    (tmp_path / "other").mkdir()
    done = ablate_here("analyse", "other", *CALL, cwd=tmp_path)
    assert (done.returncode, "samples_TASK" in done.stderr) == (2, True)
    done = ablate_here("analyse", "out", *CALL[:3], "accuracy", *CALL[4:], cwd=tmp_path)
    assert (done.returncode, "'acc'" in done.stderr) == (2, True)


def analyse_experiment(folder, name, uri):
    roles = ("--column", "variant", "params.variant", "--column", "seed", "params.seed")
    metric = ("--baseline", "a", "--metric", "metrics.acc", "--direction", "max")
    return ablate_here("analyse", uri, "--experiment", name, *roles, *metric, cwd=folder)


def test_a_database_that_is_none_is_neither_read_nor_made(tmp_path):
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "empty.db").touch()
    (tmp_path / "folder.db").mkdir()
    for name in ("missing.db", "empty.db", "pipe.db", "folder.db"):
        done = analyse_experiment(tmp_path, "sweep", f"sqlite:///{tmp_path}/{name}")
        assert (done.returncode, name in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "missing.db").exists()
    assert (tmp_path / "empty.db").stat().st_size == 0


@pytest.mark.slow
def test_an_experiment_without_runs_that_count_is_refused(tmp_path):
    from ablate.tracking.database import import_client

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client = import_client()(uri)
    unfinished = client.create_experiment("unfinished")
    for variant in "ab":
        for seed in range(2):
            run = client.create_run(unfinished).info.run_id
            client.log_param(run, "variant", variant)
            client.log_param(run, "seed", seed)
            client.log_metric(run, "acc", 0.5)
    client.create_experiment("empty")
    client.delete_experiment(client.create_experiment("deleted"))
    said = {
        "unfinished": "4 is still running",
        "empty": "without runs",
        "deleted": "deleted experiment",
        "unfinishd": "Did you mean 'unfinished'?",
    }
    for name, words in said.items():
        done = analyse_experiment(tmp_path, name, uri)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr

    (tmp_path / "mlflow.db").write_bytes((tmp_path / "mlflow.db").read_bytes()[:50_000])
    done = analyse_experiment(tmp_path, "empty", f"sqlite:///{tmp_path}/./mlflow.db")
    assert (done.returncode, "mlflow.db" in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_a_server_that_says_nothing_is_left_after_15_seconds(tmp_path):
    def drip(connection):
        """Sends an answer that never ends, a byte at a time."""
        with closing(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for _ in range(40):
                connection.sendall(b" ")
                time.sleep(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        threading.Thread(target=lambda: drip(server.accept()[0]), daemon=True).start()
        done = analyse_experiment(tmp_path, "sweep", uri)
    assert (done.returncode, uri in done.stderr) == (2, True)
    assert time.monotonic() - started < 30
