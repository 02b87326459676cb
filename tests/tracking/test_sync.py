import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from harness import with_database
from mlflow_helpers import NOLOAD, cell_of, query, report, shown, snapshot, synced, told, track, tracked

from ablate.base.sqlite import database_uri
from ablate.core.record import Curve
from ablate.records.store import Store

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent
DONE = [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]

# Brings a study into MLflow until it is killed.
SYNC = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
from mlflow_helpers import synced
from ablate.records.folder import StudyFolder
synced(StudyFolder(Path(sys.argv[2]), sys.argv[3]), status=sys.argv[4])
"""


def process(results: Path, study: str = "study", status: str = "FINISHED") -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", SYNC, str(HERE), str(results), study, status]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.slow
def test_a_study_is_one_experiment_with_a_parent_and_a_nested_run_a_trial(results):
    failed = tracked("b", 1, status="failed", reason="no", error="Traceback", metrics={}, curves={})
    track(results, tracked("baseline", 0), failed, tracked("placebo", 0, status="diverged"))
    found = {name: {*lines} for name, lines in told(results).items()}
    assert found.keys() == {"study", "baseline · seed 00", "b · seed 01", "placebo · seed 00"}
    description = "Why?\n\nWorse."
    assert found["study"] >= {
        *[("FINISHED",), ("design", "one_factor"), ("seeds", "2"), ("commit", "c0ffee"), ("dirty", "true")],
        *[("mlflow.note.content", description), ("mlflow.source.name", "ablate run study.yaml --seeds 2")],
        *[("comparisons_worse", 1.0, 0, 0), ("comparisons_inconclusive", 1.0, 0, 0)],
        *[("report.html", b"<p>"), ("figures/a.svg", b"<svg/>")],
    }
    assert found["b · seed 01"] >= {("FAILED",), ("traceback.txt", b"Traceback")}
    assert found["placebo · seed 00"] >= {("FINISHED",), ("ablate.status", "diverged")}
    curve = tracked("baseline", 0).record.curves["accuracy"].values
    assert found["baseline · seed 00"] >= {
        *[("FINISHED",), ("variant", "baseline"), ("seed", "0"), ("task", "recall"), ("commit", "c0ffee")],
        *[("id", "recall-baseline-0"), ("model.mixer.value.rank", "8"), ("model.norm", "layer")],
        ("accuracy", 0.75, 0, 0),
        *[("Curves/accuracy", value, 100 * (n + 1), 0) for n, value in enumerate(curve)],
    }
    parents = "SELECT DISTINCT value FROM tags WHERE key = 'mlflow.parentRunId'"
    assert query(results, parents) == query(results, "SELECT run_uuid FROM runs WHERE name = 'study'")
    times = "SELECT end_time - start_time FROM runs WHERE name != 'study'"
    assert query(results, times) == [(10_000,)] * 3
    tags = dict(query(results, "SELECT key, value FROM experiment_tags"))
    view = json.loads(tags.pop("mlflow.sharedViewState.ablate"))
    assert tags == {"mlflow.experimentKind": "custom_model_development", "mlflow.note.content": description}
    assert view["selectedColumns"] == ["tags.`variant`", "tags.`seed`", "metrics.`accuracy`"]
    assert view["searchFilter"] == "tags.stage = 'final'"
    charts = [(chart["type"], chart["metricKey"]) for chart in view["compareRunCharts"]]
    assert charts == [
        ("LINE", "Curves/validation_accuracy"),
        ("LINE", "Curves/accuracy"),
        ("BAR", "accuracy"),
    ]
    sections = {section["uuid"] for section in view["compareRunSections"]}
    assert {chart["metricSectionId"] for chart in view["compareRunCharts"]} <= sections


@pytest.mark.slow
def test_comparisons_are_a_table_as_mlflow_logs_one(results, monkeypatch):
    from mlflow.tracking import MlflowClient

    track(results, tracked("baseline", 0), verdicts=["worse"])
    track(results, tracked("baseline", 0), verdicts=["inconclusive", "better"])  # in its place, not after it
    uri = database_uri(results / "store" / "mlflow.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    client = MlflowClient(tracking_uri=uri)
    table = client.load_table("1", "comparisons.json")
    client._tracking_client.store.engine.dispose()
    assert table.to_dict("list") == {
        "label": ["v0", "v1", "beside"],
        "verdict": ["inconclusive", "better", "better"],
        "exploratory": ["False", "False", "True"],
        "variant": ["v0", "v1", "beside"],
    }


@pytest.mark.slow
def test_writing_again_changes_nothing_and_a_database_that_is_gone_is_built_again_the_same(results):
    runs = [tracked("baseline", 0, output="printed"), tracked("model.norm=batch", 0, task="copy")]
    cells = [cell_of("baseline", 1, "recall", "planned")]
    folder = track(results, *runs, cells=cells)
    trials, everything, written = snapshot(results, parent=False), snapshot(results), told(results)
    synced(folder)
    assert snapshot(results) == everything
    track(results, *runs, cells=cells)  # another time of the parent
    assert snapshot(results, parent=False) == trials
    assert (told(results), len(shown(results))) == (written, 3)
    (results / "store" / "mlflow.db").unlink()
    with_database(results / "store")
    shutil.rmtree(results / "store" / "artifacts")
    synced(folder)
    assert told(results) == written


@pytest.mark.slow
def test_runs_follow_the_study(results):
    """A trial that failed and is trained again, more trials, another task, fewer."""
    one, two = tracked("baseline", 0), tracked("model.norm=batch", 0)
    track(results, tracked("baseline", 0, status="failed", error="Traceback", metrics={}, curves={}))
    assert shown(results) == [("baseline · seed 00", "FAILED"), ("study", "FINISHED")]
    track(results, one)
    assert shown(results) == DONE
    before = told(results)
    for others, names in (
        ([two], ["baseline · seed 00", "batch norm · seed 00", "study"]),
        (
            [tracked("baseline", 0, task="copy")],
            ["copy · baseline · seed 00", "recall · baseline · seed 00", "study"],
        ),
    ):
        track(results, one, *others)
        assert [name for name, _ in shown(results)] == names
    track(results, one)
    assert told(results) == before
    track(results, one, study="two")
    assert [name for name, _ in shown(results)] == [
        "baseline · seed 00", "baseline · seed 00", "study", "two",
    ]  # fmt: skip


@pytest.mark.slow
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


@pytest.mark.slow
def test_figures_and_counts_of_an_earlier_report_do_not_stay(results):
    run = tracked("baseline", 0)
    track(results, run, page={"figures/old.svg": "<svg/>"}, verdicts=["worse", "worse"])
    track(results, run, page={"figures/new.svg": "<svg/>"}, verdicts=["better"])
    assert [path.name for path in (results / "store" / "artifacts").rglob("*.svg")] == ["new.svg"]
    counts = dict(query(results, "SELECT key, value FROM latest_metrics WHERE key LIKE 'comparisons_%'"))
    assert counts == {"comparisons_better": 1, "comparisons_worse": 0}


def test_while_it_trains_a_study_is_shown_as_running_and_after_an_interruption_as_killed(results):
    failed = tracked("baseline", 1, status="failed", error="Traceback")
    folder = report(results, tracked("baseline", 0), failed)
    (folder.path / "trials.parquet").unlink()  # there is no report yet
    for status in ("RUNNING", "KILLED"):
        synced(folder, status=status)
        assert shown(results) == [DONE[0], ("baseline · seed 01", "FAILED"), ("study", status)]
    before = snapshot(results, parent=False)
    Store(results / "store").save(tracked("baseline", 1).record)  # it did not fail again
    synced(folder, status="RUNNING")
    after = snapshot(results, parent=False)
    assert [row in after["metrics"] for row in before["metrics"]].count(
        True
    ) >= 12  # those of the finished one
    assert shown(results) == [DONE[0], ("baseline · seed 01", "FINISHED"), ("study", "RUNNING")]
    track(results, tracked("baseline", 0))
    assert shown(results) == DONE


def test_a_study_of_which_nothing_is_finished_is_not_shown_yet(results):
    folder = report(results, cells=[cell_of("baseline", 0, "recall", "planned")])
    synced(folder, status="RUNNING")
    assert shown(results) == []


@pytest.mark.parametrize("kills", [(5,), pytest.param((1, 9), marks=pytest.mark.slow)])
def test_a_sync_that_is_killed_is_made_good_by_the_next(results, kills):
    runs = [tracked("baseline", seed, output="printed") for seed in range(16)]
    folder = report(results, *runs)
    for many in kills:
        killed = process(results)
        while len(shown(results)) < many:
            assert killed.poll() is None, killed.stdout.read()
            time.sleep(0.002)
        killed.kill()
        killed.communicate()
        count = len(shown(results))
        assert count < 17
    kept = snapshot(results, parent=False)["runs"]
    synced(folder)
    assert shown(results) == [
        *((f"baseline · seed {seed:02d}", "FINISHED") for seed in range(16)),
        ("study", "FINISHED"),
    ]
    # At most the last one of each was half written.
    assert len({row[0] for row in kept} & {row[0] for row in snapshot(results)["runs"]}) >= count - 2
    assert query(
        results, "SELECT count(*) FROM runs WHERE status = 'RUNNING' AND lifecycle_stage = 'active'"
    ) == [(0,)]


@pytest.mark.slow
def test_one_trial_that_mlflow_refuses_does_not_hold_up_the_others(results):
    too_large = Curve(np.array([2**63 + 1], dtype=np.uint64), np.array([1.0]))  # for SQLite
    runs = [
        tracked("baseline", 0),
        tracked("baseline", 1, curves={"loss": too_large}),
        tracked("baseline", 2),
    ]
    folder = report(results, *runs)
    for _ in range(2):
        with pytest.raises(Exception, match="too large"):
            synced(folder)
        assert {*DONE, ("baseline · seed 02", "FINISHED")} <= {*shown(results)}
    digests = "SELECT count(*) FROM tags JOIN runs USING (run_uuid) WHERE key = 'ablate.complete'"
    # Those of the two trials; the study is not whole.
    assert query(results, f"{digests} AND lifecycle_stage = 'active'") == [(2,)]


@pytest.mark.slow
def test_the_report_comes_before_the_trials_and_a_sync_that_stops_is_taken_up_where_it_was(results):
    from ablate.tracking.database import Database
    from ablate.tracking.sync import sync

    folder = report(results, *[tracked("baseline", seed) for seed in range(9)])
    database = Database(results / "store", None, pytest.fail)
    counts: list[tuple[int, int]] = []

    def goes_on(done: int, total: int) -> bool:
        counts.append((done, total))
        return len(counts) % 4 != 0

    def step() -> dict[str, list[tuple[object, ...]]]:
        with database.opened(0) as client:
            sync(client, folder, Store(results / "store"), goes_on=goes_on)
            client._tracking_client.store.engine.dispose()
        return told(results)

    first, pages = step(), (results / "store/artifacts").rglob("report.html")
    written = {page: page.stat().st_mtime_ns for page in pages}
    assert {("FINISHED",), ("comparisons_worse", 1.0, 0, 0), ("report.html", b"<p>")} <= {*first["study"]}
    assert "ablate.complete" not in {row[0] for row in first["study"]}
    runs = snapshot(results, parent=False)["runs"]
    assert [len(first), len(step()), len(step())] == [4, 7, 10]
    assert counts == [(done, 9) for done in (0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8)]
    after = snapshot(results)
    assert {*runs} <= {*after["runs"]}
    assert {page: page.stat().st_mtime_ns for page in written} == written
    assert [row[0] for row in told(results)["study"]].count("ablate.complete") == 1
    step()
    assert (snapshot(results), len(counts)) == (after, 11)


@pytest.mark.slow
def test_what_was_whole_is_not_while_trials_are_written_again(results):
    """Else the report from before, once it is back, would be taken for what MLflow shows."""
    runs = [tracked("baseline", seed) for seed in range(2)]
    folder = track(results, *runs)
    before = told(results)
    Store(results / "store").save(tracked("baseline", 0, metrics={"accuracy": 0.25}).record)
    too_large = Curve(np.array([2**63 + 1], dtype=np.uint64), np.array([1.0]))
    Store(results / "store").save(tracked("baseline", 1, curves={"loss": too_large}).record)
    with pytest.raises(Exception, match="too large"):
        synced(folder)
    assert ("accuracy", 0.25, 0, 0) in told(results)["baseline · seed 00"]
    for run in runs:
        Store(results / "store").save(run.record)
    synced(folder)
    assert told(results) == before


@pytest.mark.slow
def test_a_run_of_several_requests_is_whole_only_with_the_last_point(results):
    steps = np.arange(1500, dtype=np.uint64)
    whole = tracked("baseline", 0, curves={"loss": Curve(steps, np.ones(1500))})
    steps = steps.copy()
    steps[-1] = 2**63 + 1  # which SQLite refuses
    folder = report(results, whole, tracked("baseline", 1, curves={"loss": Curve(steps, np.ones(1500))}))
    with pytest.raises(Exception, match="too large"):
        synced(folder)
    counted = (
        "SELECT name, count(*) FROM runs JOIN metrics USING (run_uuid) WHERE metrics.key LIKE 'Curves/%'"
    )
    points = dict(query(results, f"{counted} GROUP BY name"))
    assert points["baseline · seed 00"] == 1500
    assert 0 < points["baseline · seed 01"] < 1500
    digests = "SELECT name FROM runs JOIN tags USING (run_uuid) WHERE tags.key = 'ablate.complete'"
    assert query(results, digests) == [("baseline · seed 00",)]


@pytest.mark.slow
def test_what_a_process_knows_of_runs_is_what_mlflow_has(results):
    """Trial by trial, without reading them again."""
    from ablate.tracking.database import Database
    from ablate.tracking.sync import sync

    failed = tracked("baseline", 1, status="failed", error="Traceback")
    folder, store = report(results, tracked("baseline", 0), failed), Store(results / "store")
    database, known = Database(store.root, None, pytest.fail), None
    for event in (failed, tracked("baseline", 1), tracked("baseline", 2)):
        store.save(event.record)
        folder.trial_list.add([event.cell])
        for status in ("RUNNING", "KILLED", "FINISHED"):
            with database.opened(0) as client:
                assert known is None or known.client is client
                known = sync(client, folder, store, status, known=known)
                read = sync(client, folder, store, status)
            assert (known.parent, known.trials, known.spare) == (read.parent, read.trials, read.spare)
            assert dict(shown(results))["study"] == status
    client._tracking_client.store.engine.dispose()
    assert len(shown(results)) == 4


@pytest.mark.slow
def test_artifacts_follow_a_folder_that_has_moved(results, tmp_path):
    from mlflow.tracking import MlflowClient

    track(results, tracked("baseline", 0, output="printed"), page={"report.md": "# Report"})
    before, moved = told(results), tmp_path / "new place #2"
    results.rename(moved)
    for _ in range(2):
        track(moved, tracked("baseline", 0, output="printed"), page={"report.md": "# Report"})
    assert told(moved) == before
    assert query(moved, "SELECT count(*) FROM experiments") == [(3,)]
    client = MlflowClient(tracking_uri=database_uri(moved / "store" / "mlflow.db"))
    number = client.get_experiment_by_name("study").experiment_id
    texts = {}
    for run in client.search_runs([number]):
        for file in client.list_artifacts(run.info.run_id):
            path = client.download_artifacts(run.info.run_id, file.path, str(tmp_path))
            texts[file.path] = Path(path).read_text()
    client._tracking_client.store.engine.dispose()
    assert {"report.md": "# Report", "output.txt": "printed"}.items() <= texts.items()


@pytest.mark.slow
def test_a_sqlite_uri_elsewhere_is_made_with_its_artifacts_and_experiments_in_it_keep_their_place(
    results, tmp_path
):
    from mlflow.tracking import MlflowClient

    elsewhere = tmp_path / "elsewhere" / "store"
    elsewhere.mkdir(parents=True)
    uri = f"sqlite:///{elsewhere}/mlflow.db"
    track(results, tracked("baseline", 0, output="printed"), uri=uri)
    assert shown(elsewhere.parent) == DONE
    assert [path.read_text() for path in (elsewhere / "artifacts").rglob("output.txt")] == ["printed"]
    assert shown(results) == []
    client = MlflowClient(tracking_uri=uri)
    number = client.create_experiment("two", (tmp_path / "mine").as_uri())
    client.create_run(number, run_name="mine")
    client._tracking_client.store.engine.dispose()
    track(results, tracked("baseline", 0, output="printed"), uri=uri, study="two")
    assert len(list((tmp_path / "mine").rglob("output.txt"))) == 1
    sql = f"SELECT name, lifecycle_stage FROM runs WHERE experiment_id = {number} ORDER BY name"
    assert query(elsewhere.parent, sql) == [
        (name, "active") for name in ("baseline · seed 00", "mine", "two")
    ]
