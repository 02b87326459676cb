import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from mlflow_helpers import (
    NOLOAD,
    cell_of,
    describe,
    pytest_fail,
    query,
    report,
    shown,
    snapshot,
    told,
    track,
    tracked,
)

from ablate.core.events import Asked, Finished, Known, Started
from ablate.core.record import Curve
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import database_uri
from ablate.tracking.server import bring_up_to_date
from ablate.tracking.tracker import Tracker

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent
CLOSED = "http://127.0.0.1:9"

DRIVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from mlflow_helpers import describe, pytest_fail, tracked
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.tracker import Tracker
results = Path(sys.argv[2])
folder = StudyFolder(results, "study")
with Tracker(folder, Store(results / "store"), describe, None, pytest_fail) as tracker:
    for seed in range(400):
        tracker(tracked("baseline", seed))
    time.sleep(60)
"""


def tracker_of(results: Path, warn=pytest_fail, uri: str | None = None) -> Tracker:
    return Tracker(StudyFolder(results, "study"), Store(results / "store"), describe, uri, warn)


def test_a_study_is_one_experiment_with_a_parent_and_a_nested_run_a_trial(results):
    failed = tracked(
        "model.norm=batch", 1, status="failed", reason="no", error="Traceback", metrics={}, curves={}
    )
    track(results, tracked("baseline", 0), failed, tracked("placebo", 0, status="diverged"))

    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=database_uri(results / "store" / "mlflow.db"))
    experiment = client.get_experiment_by_name("study")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    parent = runs.pop("study")
    files = {
        file.path for folder in ("", "figures") for file in client.list_artifacts(parent.info.run_id, folder)
    }
    traceback = client.list_artifacts(runs["model.norm=batch · seed 01"].info.run_id)
    history = client.get_metric_history(runs["baseline · seed 00"].info.run_id, "Curves/accuracy")
    view = json.loads(client.get_experiment(experiment.experiment_id).tags["mlflow.sharedViewState.ablate"])
    client._tracking_client.store.engine.dispose()

    assert {name: run.info.status for name, run in runs.items()} == {
        "baseline · seed 00": "FINISHED",
        "model.norm=batch · seed 01": "FAILED",
        "placebo · seed 00": "FINISHED",
    }
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert parent.info.status == "FINISHED"
    description = "Why?\n\nv0: worse\n\nv1: inconclusive\n\nbeside: better"
    expected = {
        "mlflow.note.content": description,
        "commit": "c0ffee",
        "dirty": "true",
        "mlflow.source.name": "ablate run study.yaml --seeds 2",
    }
    assert expected.items() <= parent.data.tags.items()
    assert experiment.tags == {
        "mlflow.experimentKind": "custom_model_development",
        "mlflow.note.content": description,
        "mlflow.sharedViewState.ablate": json.dumps(view),
    }
    assert parent.data.params == {"design": "one_factor", "seeds": "2"}
    assert parent.data.metrics == {"comparisons_worse": 1.0, "comparisons_inconclusive": 1.0}
    assert files == {"report.html", "report.md", "study.yaml", "figures", "figures/a.svg"}
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
    assert [point.value for point in history] == [*curve]
    assert run.data.metrics["accuracy"] == 0.75
    assert {"params.`variant`", "metrics.`accuracy`", "metrics.`parameters`"} <= set(view["selectedColumns"])


def test_writing_again_changes_nothing_but_the_time_of_the_parent(results):
    runs = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    track(results, *runs)
    trials, everything = snapshot(results, parent=False), told(results)
    track(results, *runs)
    assert snapshot(results, parent=False) == trials
    assert told(results) == everything
    assert len(shown(results)) == 3


def test_a_run_and_a_later_look_write_exactly_the_same(results, empty_database):
    runs = [tracked("baseline", 0, output="printed"), tracked("model.norm=batch", 0, task="copy")]
    track(results, *runs, cells=[cell_of("baseline", 1, "recall", "planned")])
    everything, written = snapshot(results), told(results)
    bring_up_to_date(results, describe, pytest_fail)
    assert snapshot(results) == everything
    shutil.copy(empty_database, results / "store" / "mlflow.db")
    shutil.rmtree(results / "store" / "artifacts")
    bring_up_to_date(results, describe, pytest_fail)
    assert told(results) == written
    everything = snapshot(results)
    bring_up_to_date(results, describe, pytest_fail)
    assert snapshot(results) == everything


def test_only_trials_with_a_record_are_heard_and_the_first_cell_of_one_names_it(results):
    run = tracked("baseline", 0)
    other = cell_of("model.norm=layer", 0, "recall", run.cell.id)
    report(results, run, cells=[other])
    with tracker_of(results) as tracker:
        for event in (Asked(1), Started("x"), Known(run.cell, run.record), Known(other, run.record)):
            tracker(event)
        assert tracker.finish()
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_long_curves_and_many_parameters_are_written_whole(results):
    steps = np.arange(2500)
    config = {f"p{number}": number for number in range(250)}
    run = tracked("baseline", 0, curves={"loss": Curve(steps, np.sqrt(steps))}, metrics={}, config=config)
    track(results, run, seeds={f"q{number}": number for number in range(200)})
    assert query(results, "SELECT count(*), max(value) FROM metrics WHERE key = 'Curves/loss'") == [
        (2500, np.sqrt(2499))
    ]
    assert query(results, "SELECT count(*) FROM params WHERE key LIKE 'p%'") == [(250,)]
    assert query(results, "SELECT count(*) FROM params WHERE key LIKE 'seeds.q%'") == [(200,)]


def test_a_retried_trial_replaces_what_failed(results):
    track(results, tracked("baseline", 0, status="failed", error="Traceback", metrics={}, curves={}))
    assert shown(results) == [("baseline · seed 00", "FAILED"), ("study", "FINISHED")]
    track(results, tracked("baseline", 0))
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_runs_of_trials_that_the_study_no_longer_has_are_removed_and_come_back(results):
    two = [tracked("baseline", 0), tracked("model.norm=batch", 0)]
    track(results, *two)
    before = snapshot(results, parent=False)
    track(results, two[0])
    assert [name for name, _ in shown(results)] == ["baseline · seed 00", "study"]
    track(results, *two)
    assert snapshot(results, parent=False) == before


def test_what_was_removed_or_doubled_by_hand_is_put_right(results):
    from mlflow.tracking import MlflowClient

    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(results, *runs)
    expected = shown(results)
    client = MlflowClient(tracking_uri=database_uri(results / "store" / "mlflow.db"))
    by_name = {run.info.run_name: run for run in client.search_runs(["1"])}
    client.delete_run(by_name["baseline · seed 00"].info.run_id)
    double = by_name["baseline · seed 01"]
    client.create_run("1", run_name="double", tags=double.data.tags | {"mlflow.runName": "double"})
    client.create_run("1", run_name="second parent", tags={"ablate.study": "study"})
    client.delete_experiment("1")
    client._tracking_client.store.engine.dispose()
    track(results, *runs)
    assert shown(results) == expected
    assert query(results, "SELECT count(*) FROM runs WHERE status = 'RUNNING'") == [(0,)]


def test_new_parameters_of_the_study_keep_one_parent_with_every_trial_under_it(results):
    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(results, *runs, seeds={"from": 1, "count": 1})
    track(results, *runs, seeds=2)
    assert [name for name, _ in shown(results)].count("study") == 1
    parent = query(results, "SELECT run_uuid FROM runs WHERE name = 'study' AND lifecycle_stage = 'active'")[
        0
    ][0]
    assert query(results, "SELECT DISTINCT value FROM tags WHERE key = 'mlflow.parentRunId'") == [(parent,)]
    params = query(results, f"SELECT key, value FROM params WHERE run_uuid = '{parent}' ORDER BY key")
    assert params == [("design", "one_factor"), ("seeds", "2")]


def test_several_tasks_are_told_apart_by_name(results):
    track(results, tracked("baseline", 0))
    track(results, tracked("baseline", 0), tracked("baseline", 0, task="copy"))
    assert [name for name, _ in shown(results)] == [
        "copy · baseline · seed 00",
        "recall · baseline · seed 00",
        "study",
    ]
    track(results, tracked("baseline", 0))
    assert [name for name, _ in shown(results)] == ["baseline · seed 00", "study"]


def test_a_trial_of_two_studies_appears_under_each(results):
    for study in ("one", "two"):
        track(results, tracked("baseline", 0), study=study)
    assert [name for name, _ in shown(results)] == ["baseline · seed 00", "baseline · seed 00", "one", "two"]


def test_figures_and_counts_of_an_earlier_report_do_not_stay(results):
    run = tracked("baseline", 0)
    track(results, run, page={"figures/old.svg": "<svg/>"}, verdicts=["worse", "worse"])
    track(results, run, page={"figures/new.svg": "<svg/>"}, verdicts=["better"])
    assert [path.name for path in (results / "store" / "artifacts").rglob("*.svg")] == ["new.svg"]
    counts = dict(query(results, "SELECT key, value FROM latest_metrics WHERE key LIKE 'comparisons_%'"))
    assert counts == {"comparisons_better": 1, "comparisons_worse": 0}


def timed(results, seconds):
    """A table of speed in the folder of the study, which leaves one variant out."""
    (results / "study").mkdir(exist_ok=True)
    (results / "study" / "speed.csv").write_text(
        "variant,task,metric,own,value_variant,verdict\n"
        f"baseline,recall,step_seconds,True,{seconds},\n"
        "baseline,recall,step_memory,True,4000000.0,\n"
        "baseline,recall,step_seconds,False,9.0,\n"
        "slow,recall,step_seconds,True,,worse\n"
    )


def test_the_speed_of_a_variant_is_in_the_run_of_each_trial_and_follows_the_report(results):
    runs = [tracked("baseline", 0), tracked("baseline", 1), tracked("slow", 0)]
    sql = (
        "SELECT t.value, m.key, m.value FROM latest_metrics m JOIN tags t ON m.run_uuid = t.run_uuid "
        "WHERE t.key = 'variant' AND m.key LIKE 'variant_step_%' ORDER BY m.run_uuid, m.key"
    )
    for seconds in (0.005, 0.004):
        timed(results, seconds)
        track(results, *runs)
        one = [("baseline", "variant_step_memory", 4e6), ("baseline", "variant_step_seconds", seconds)]
        assert query(results, sql) == 2 * one
    assert query(results, "SELECT value FROM latest_metrics WHERE key = 'speed_worse'") == [(1,)]
    shown_first = query(results, "SELECT value FROM experiment_tags WHERE key LIKE 'mlflow.sharedViewState%'")
    assert "variant_step_seconds" in shown_first[0][0]
    before = told(results)
    track(results, *runs)
    assert told(results) == before
    saved = (results / "store" / "artifacts").rglob("speed.csv")
    assert len([*saved]) == 1


def test_a_driver_killed_while_it_writes_is_made_good_by_the_next(results):
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, HERE, results])
    while len(shown(results)) < 5:
        assert driver.poll() is None
        time.sleep(0.002)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert ("study", "RUNNING") in shown(results)
    track(results, *(tracked("baseline", seed) for seed in range(8)))
    assert shown(results) == [
        *((f"baseline · seed {seed:02d}", "FINISHED") for seed in range(8)),
        ("study", "FINISHED"),
    ]
    assert query(results, "SELECT count(*) FROM runs WHERE status = 'RUNNING'") == [(0,)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE runs SET status = 'RUNNING', end_time = NULL WHERE name LIKE 'baseline%00'",
        "DELETE FROM tags WHERE key = 'ablate.complete'",
    ],
)
def test_a_run_that_was_left_half_written_is_written_again(results, damage):
    runs = [tracked("baseline", 0), tracked("baseline", 1)]
    track(results, *runs)
    whole = snapshot(results, parent=False)
    with closing(sqlite3.connect(results / "store" / "mlflow.db")) as database, database:
        database.execute(damage)
    track(results, *runs)
    assert [status for _, status in shown(results)] == ["FINISHED"] * 3
    assert {table: len(rows) for table, rows in snapshot(results, parent=False).items()} == {
        table: len(rows) for table, rows in whole.items()
    }


def finish_quietly(tracker: Tracker, *runs: Finished) -> bool:
    report(tracker.folder.results, *runs)
    with tracker:
        for run in runs:
            tracker(run)
        return tracker.finish()


def test_a_record_that_comes_again_after_training_replaces_the_first(results):
    run = tracked("baseline", 0, metrics={"accuracy": 0.25}, curves={})
    again = tracked(
        "baseline", 0, metrics={"accuracy": 0.5}, curves={}, finished_at="2026-01-02T03:05:00+00:00"
    )
    report(results, again)
    with tracker_of(results) as tracker:
        tracker(Known(run.cell, run.record))
        tracker(again)
        assert tracker.finish()
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
    values = "SELECT value FROM latest_metrics JOIN runs USING (run_uuid) WHERE key = 'accuracy' AND lifecycle_stage"
    assert query(results, f"{values} = 'active'") == [(0.5,)]


def test_once_it_rests_all_that_it_was_handed_is_written(results):
    runs = [tracked("baseline", seed) for seed in range(3)]
    report(results, *runs)
    with tracker_of(results) as tracker:
        for run in runs:
            tracker(run)
        tracker.rest()
        names = {name for name, _ in shown(results)}
        assert {f"baseline · seed 0{seed}" for seed in range(3)} < names
        assert tracker.finish()


def test_a_tracker_that_is_down_is_one_warning(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    warnings: list[str] = []
    tracker = tracker_of(tmp_path, warnings.append, CLOSED)
    assert not finish_quietly(tracker, tracked("baseline", 0), tracked("baseline", 1))
    assert len(warnings) == 1
    assert warnings[0].startswith(f"MLflow ({CLOSED}) is not up to date: ")
    assert warnings[0].endswith(
        f"every trial is in {tmp_path / 'store'}, and the next run of the study brings MLflow up to date."
    )
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
def test_a_tracker_that_never_answers_is_one_warning_at_the_limit(tmp_path, monkeypatch, capfd, silent):
    monkeypatch.setattr("ablate.tracking.tracker.LIMIT", 0.5)
    warnings: list[str] = []
    assert not finish_quietly(tracker_of(tmp_path, warnings.append, silent), tracked("baseline", 0))
    assert warnings == [
        f"MLflow ({silent}) is not up to date: not done after 0.5 s. Nothing is lost: every trial is in "
        f"{tmp_path / 'store'}, and the next run of the study brings MLflow up to date."
    ]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_that_stays_locked_is_one_warning_at_the_limit(results, monkeypatch, journal):
    warnings: list[str] = []
    with (
        closing(sqlite3.connect(results / "store" / "mlflow.db")) as database,
        monkeypatch.context() as patch,
    ):
        patch.setattr("ablate.tracking.tracker.LIMIT", 0.5)
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("BEGIN EXCLUSIVE")
        assert not finish_quietly(tracker_of(results, warnings.append), tracked("baseline", 0))
    assert len(warnings) == 1
    assert "and the next run of the study, or `ablate ui`, brings MLflow up to date" in warnings[0]
    track(results, tracked("baseline", 0))
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_a_database_that_cannot_be_written_is_one_warning_and_made_good_later(results, capfd):
    database = results / "store" / "mlflow.db"
    database.rename(results / "elsewhere")
    database.mkdir()
    warnings: list[str] = []
    assert not finish_quietly(tracker_of(results, warnings.append), tracked("baseline", 0))
    assert len(warnings) == 1
    assert "unable to open database file" in warnings[0]
    assert "the next run of the study, or `ablate ui`, brings MLflow up to date" in warnings[0]
    assert capfd.readouterr() == ("", "")
    database.rmdir()
    (results / "elsewhere").replace(database)
    track(results, tracked("baseline", 0))
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_a_database_that_is_there_again_in_the_end_gets_every_trial(results, capfd):
    database = results / "store" / "mlflow.db"
    database.rename(results / "elsewhere")
    database.mkdir()
    run = tracked("baseline", 0)
    report(results, run)
    with tracker_of(results) as tracker:
        tracker(run)
        while tracker._error is None:
            time.sleep(0.01)
        database.rmdir()
        (results / "elsewhere").replace(database)
        assert tracker.finish()
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
    assert capfd.readouterr() == ("", "")


def test_one_trial_that_mlflow_refuses_does_not_hold_up_the_others(results):
    warnings: list[str] = []
    too_large = Curve(np.array([2**63 + 1], dtype=np.uint64), np.array([1.0]))  # for SQLite
    refused = tracked("baseline", 1, curves={"loss": too_large})
    tracker = tracker_of(results, warnings.append)
    assert not finish_quietly(tracker, tracked("baseline", 0), refused, tracked("baseline", 2))
    assert len(warnings) == 1
    assert shown(results) == [
        ("baseline · seed 00", "FINISHED"),
        ("baseline · seed 01", "KILLED"),
        ("baseline · seed 02", "FINISHED"),
        ("study", "KILLED"),
    ]


def test_a_writer_of_the_same_study_is_waited_for(results):
    lock = FileLock(results / "store" / ".mlflow-study.lock", thread_local=False)
    lock.acquire()
    timer = threading.Timer(0.5, lock.release)
    timer.start()
    track(results, tracked("baseline", 0))
    timer.join()
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


@pytest.mark.parametrize("raised", [None, ValueError, KeyboardInterrupt])
def test_a_study_that_ends_early_is_shown_as_interrupted(results, raised):
    tracker = tracker_of(results)
    try:
        with tracker:
            while ("study", "RUNNING") not in shown(results):
                time.sleep(0.01)
            tracker(tracked("baseline", 0))
            if raised:
                raise raised
    except (ValueError, KeyboardInterrupt) as error:
        assert type(error) is raised
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "KILLED")]
    track(results, tracked("baseline", 0))
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def test_an_interrupt_does_not_wait_for_a_writer_of_the_same_study(results):
    with FileLock(results / "store" / ".mlflow-study.lock"):
        began = time.monotonic()
        with tracker_of(results) as tracker:
            tracker(tracked("baseline", 0))
        assert time.monotonic() - began < 15
    assert shown(results) == []


def test_a_tracker_that_is_not_entered_writes_nothing(tmp_path):
    tracker_of(tmp_path)(tracked("baseline", 0))
    assert not list(tmp_path.iterdir())


def test_a_sqlite_uri_elsewhere_is_made_whole_too_and_its_artifacts_lie_beside_it(
    results, tmp_path, empty_database
):
    elsewhere = tmp_path / "elsewhere" / "store"
    elsewhere.mkdir(parents=True)
    shutil.copy(empty_database, elsewhere / "mlflow.db")
    track(results, tracked("baseline", 0, output="printed"), uri=f"sqlite:///{elsewhere}/mlflow.db")
    assert shown(elsewhere.parent) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
    assert [path.read_text() for path in (elsewhere / "artifacts").rglob("output.txt")] == ["printed"]
    assert shown(results) == []
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
