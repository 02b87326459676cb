import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from mlflow_helpers import NOLOAD, pytest_fail, query, shown, snapshot, track, tracked, with_database

from ablate.core.record import Curve
from ablate.tracking.database import database_uri
from ablate.tracking.tracker import Tracker

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent
CLOSED = "http://127.0.0.1:9"

DRIVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from mlflow_helpers import pytest_fail, tracked
from ablate.tracking.tracker import Tracker
tracker = Tracker("study", Path(sys.argv[2]), None, pytest_fail)
tracker.start()
for seed in range(400):
    tracker.add(tracked("baseline", seed))
time.sleep(60)
"""


@pytest.fixture
def store(tmp_path):
    return with_database(tmp_path / "results" / "store")


def test_a_study_is_one_experiment_with_a_parent_and_a_nested_run_a_trial(store, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.svg").write_text("<svg/>")
    (tmp_path / "report.html").write_text("<p>")
    failed = tracked(
        "model.norm=batch", 1, status="failed", reason="no", error="Traceback", metrics={}, curves={}
    )
    track(
        store,
        tracked("baseline", 0),
        failed,
        tracked("placebo", 0, status="diverged"),
        artifacts=[tmp_path / "report.html", tmp_path / "figures", tmp_path / "absent"],
    )

    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=database_uri(store / "mlflow.db"))
    experiment = client.get_experiment_by_name("study")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    parent = runs.pop("study")
    files = {
        file.path for folder in ("", "figures") for file in client.list_artifacts(parent.info.run_id, folder)
    }
    traceback = client.list_artifacts(runs["model.norm=batch · seed 01"].info.run_id)
    history = client.get_metric_history(runs["baseline · seed 00"].info.run_id, "accuracy")
    client._tracking_client.store.engine.dispose()

    assert {name: run.info.status for name, run in runs.items()} == {
        "baseline · seed 00": "FINISHED",
        "model.norm=batch · seed 01": "FAILED",
        "placebo · seed 00": "FINISHED",
    }
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["mlflow.note.content"] == "**verdicts**"
    assert experiment.tags == {
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.note.content": "**verdicts**",
    }
    assert parent.data.params == {"metric": "accuracy"}
    assert parent.data.metrics == {"trials": 3.0}
    assert files == {"report.html", "figures", "figures/a.svg"}
    assert [file.path for file in traceback] == ["traceback.txt"]
    assert runs["placebo · seed 00"].data.tags["ablate.status"] == "diverged"
    run = runs["baseline · seed 00"]
    expected = {
        "variant": "baseline",
        "seed": "0",
        "task": "recall",
        "commit": "c0ffee",
        "id": "recall-baseline-0",
    }
    assert expected.items() <= run.data.tags.items()
    assert {"model.mixer.value.rank": "8", "model.norm": "layer"}.items() <= run.data.params.items()
    assert run.info.end_time - run.info.start_time == 10_000
    curve = tracked("baseline", 0).record.curves["accuracy"].values
    assert [point.value for point in history] == [*curve[:-1], 0.75]


def test_writing_again_changes_nothing(store):
    runs = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    track(store, *runs)
    before = snapshot(store)
    track(store, *runs)
    assert snapshot(store) == before
    assert len(shown(store)) == 3


def test_long_curves_and_many_parameters_are_written_whole(store):
    steps = np.arange(2500)
    config = {f"p{number}": number for number in range(250)}
    run = tracked("baseline", 0, curves={"loss": Curve(steps, np.sqrt(steps))}, metrics={}, config=config)
    track(store, run, params={f"q{number}": number for number in range(200)})
    assert query(store, "SELECT count(*), max(value) FROM metrics WHERE key = 'loss'") == [
        (2500, np.sqrt(2499))
    ]
    assert query(store, "SELECT count(*) FROM params WHERE key LIKE 'p%'") == [(250,)]
    assert query(store, "SELECT count(*) FROM params WHERE key LIKE 'q%'") == [(200,)]


def test_a_retried_trial_replaces_what_failed(store):
    track(store, tracked("baseline", 0, status="failed", error="Traceback", metrics={}, curves={}))
    assert shown(store) == [("baseline · seed 00", "FAILED"), ("study", "FINISHED")]
    track(store, tracked("baseline", 0))
    assert shown(store) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_runs_of_trials_that_the_study_no_longer_has_are_removed_and_come_back(store):
    two = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    track(store, *two)
    before = snapshot(store)
    track(store, two[0])
    assert [name for name, _ in shown(store)] == ["baseline · seed 00", "study"]
    track(store, *two)
    assert snapshot(store) == before


def test_what_was_removed_or_doubled_by_hand_is_put_right(store):
    from mlflow.tracking import MlflowClient

    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(store, *runs)
    expected = shown(store)
    client = MlflowClient(tracking_uri=database_uri(store / "mlflow.db"))
    by_name = {run.info.run_name: run for run in client.search_runs(["1"])}
    client.delete_run(by_name["baseline · seed 00"].info.run_id)
    double = by_name["baseline · seed 01"]
    client.create_run("1", run_name="double", tags=double.data.tags | {"mlflow.runName": "double"})
    client.create_run("1", run_name="second parent", tags={"ablate.study": "study"})
    client.delete_experiment("1")
    client._tracking_client.store.engine.dispose()
    track(store, *runs)
    assert shown(store) == expected
    assert query(store, "SELECT count(*) FROM runs WHERE status = 'RUNNING'") == [(0,)]


def test_new_parameters_of_the_study_keep_one_parent_with_every_trial_under_it(store):
    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(store, *runs, params={"seeds": 1, "metric": "loss"})
    track(store, *runs, params={"seeds": 2})
    assert [name for name, _ in shown(store)].count("study") == 1
    parent = query(store, "SELECT run_uuid FROM runs WHERE name = 'study' AND lifecycle_stage = 'active'")[0][
        0
    ]
    assert query(store, "SELECT DISTINCT value FROM tags WHERE key = 'mlflow.parentRunId'") == [(parent,)]
    assert query(store, f"SELECT key, value FROM params WHERE run_uuid = '{parent}'") == [("seeds", "2")]


def test_several_tasks_are_told_apart_by_name(store):
    track(store, tracked("baseline", 0))
    track(store, tracked("baseline", 0), tracked("baseline", 0, task="copy"))
    assert [name for name, _ in shown(store)] == [
        "copy · baseline · seed 00",
        "recall · baseline · seed 00",
        "study",
    ]
    track(store, tracked("baseline", 0))
    assert [name for name, _ in shown(store)] == ["baseline · seed 00", "study"]


def test_a_trial_of_two_studies_appears_under_each(store):
    for study in ("one", "two"):
        track(store, tracked("baseline", 0), study=study)
    assert [name for name, _ in shown(store)] == ["baseline · seed 00", "baseline · seed 00", "one", "two"]


def test_figures_of_an_earlier_report_do_not_stay(store, tmp_path):
    figures = tmp_path / "figures"
    figures.mkdir()
    for name in ("old.svg", "new.svg"):
        (figures / name).write_text("<svg/>")
        track(store, tracked("baseline", 0), artifacts=[figures])
        (figures / name).unlink()
    kept = [path.name for path in (store / "artifacts").rglob("*.svg")]
    assert kept == ["new.svg"]


def test_a_driver_killed_while_it_writes_is_made_good_by_the_next(store):
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, HERE, store])
    while len(shown(store)) < 5:
        assert driver.poll() is None
        time.sleep(0.002)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert ("study", "RUNNING") in shown(store)
    track(store, *(tracked("baseline", seed) for seed in range(8)))
    assert shown(store) == [
        *((f"baseline · seed {seed:02d}", "FINISHED") for seed in range(8)),
        ("study", "FINISHED"),
    ]
    assert query(store, "SELECT count(*) FROM runs WHERE status = 'RUNNING'") == [(0,)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET status = 'RUNNING', end_time = NULL WHERE name LIKE 'baseline%00'",
        "DELETE FROM tags WHERE key = 'ablate.complete'",
    ],
)
def test_a_run_that_was_left_half_written_is_written_again(store, damage):
    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(store, *runs)
    whole = snapshot(store)
    with closing(sqlite3.connect(store / "mlflow.db")) as database, database:
        database.execute(damage)
    track(store, *runs)
    assert [status for _, status in shown(store)] == ["FINISHED"] * 3
    assert {table: len(rows) for table, rows in snapshot(store).items()} == {
        table: len(rows) for table, rows in whole.items()
    }


def finish_quietly(tracker: Tracker, *runs) -> bool:
    tracker.start()
    for run in runs:
        tracker.add(run)
    ids = [run.record.id for run in runs]
    return tracker.finish(description="", params={}, tags={}, metrics={}, artifacts=[], current=ids)


def test_a_tracker_that_is_down_is_one_warning(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    warnings: list[str] = []
    tracker = Tracker("study", tmp_path / "store", CLOSED, warnings.append)
    assert not finish_quietly(tracker, tracked("baseline", 0), tracked("baseline", 1))
    assert len(warnings) == 1
    assert warnings[0].startswith(f"MLflow ({CLOSED}) is not up to date: ")
    assert warnings[0].endswith(
        f"every trial is in {tmp_path / 'store'}, and the next run of the study brings MLflow up to date."
    )
    assert capfd.readouterr() == ("", "")


def test_a_database_that_cannot_be_written_is_one_warning_and_made_good_later(store, capfd):
    (store / "mlflow.db").rename(store / "elsewhere")
    (store / "mlflow.db").write_text("not a database " * 100)
    warnings: list[str] = []
    assert not finish_quietly(Tracker("study", store, None, warnings.append), tracked("baseline", 0))
    assert len(warnings) == 1
    assert "file is not a database" in warnings[0]
    assert "the next run of the study, or `ablate ui`, brings MLflow up to date" in warnings[0]
    assert capfd.readouterr() == ("", "")
    (store / "elsewhere").replace(store / "mlflow.db")
    track(store, tracked("baseline", 0))
    assert shown(store) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_one_trial_that_mlflow_refuses_does_not_hold_up_the_others(store):
    warnings: list[str] = []
    refused = tracked("baseline", 1, curves={"loss": Curve(np.array([2**70], dtype=object), np.array([1.0]))})
    tracker = Tracker("study", store, None, warnings.append)
    assert not finish_quietly(tracker, tracked("baseline", 0), refused, tracked("baseline", 2))
    assert len(warnings) == 1
    assert shown(store) == [
        ("baseline · seed 00", "FINISHED"),
        ("baseline · seed 01", "KILLED"),
        ("baseline · seed 02", "FINISHED"),
        ("study", "KILLED"),
    ]


def test_a_writer_of_the_same_study_is_waited_for(store):
    lock = FileLock(store / ".mlflow-study.lock", thread_local=False)
    lock.acquire()
    timer = threading.Timer(0.5, lock.release)
    timer.start()
    track(store, tracked("baseline", 0))
    timer.join()
    assert shown(store) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_an_interrupted_study_is_not_left_running(store):
    tracker = Tracker("study", store, None, pytest_fail)
    tracker.start()
    tracker.add(tracked("baseline", 0))
    tracker.abandon()
    assert shown(store) == [("baseline · seed 00", "FINISHED"), ("study", "KILLED")]


def test_an_interrupt_before_the_start_does_nothing(tmp_path):
    Tracker("study", tmp_path / "store", None, pytest_fail).abandon()
    assert not (tmp_path / "store").exists()


def test_a_sqlite_uri_elsewhere_is_made_whole_too_and_its_artifacts_lie_beside_it(store, tmp_path):
    elsewhere = with_database(tmp_path / "elsewhere")
    track(store, tracked("baseline", 0, output="printed"), uri=f"sqlite:///{elsewhere}/mlflow.db")
    assert shown(elsewhere) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
    assert [path.read_text() for path in (elsewhere / "artifacts").rglob("output.txt")] == ["printed"]
    assert shown(store) == []
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
