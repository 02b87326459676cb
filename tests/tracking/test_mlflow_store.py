import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mlflow_helpers import NOLOAD, query, shown, track, tracked

from ablate.base.errors import StoreError
from ablate.tracking.database import ensure_database

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent

# Makes the database again and again, each time killed a little later, and looks after each kill.
KILLED = """
import os, signal, sys, time
from pathlib import Path
from ablate.tracking.database import _check, ensure_database, import_mlflow
import_mlflow()
import mlflow.store.tracking.sqlalchemy_store
path = Path(sys.argv[1]) / "store" / "mlflow.db"
seen = set()
for size in (0, 1, 200_000, 500_000, 800_000):
    child = os.fork()
    if child == 0:
        ensure_database(path, repair=True)
        os._exit(0)
    def written():
        try:
            return [at.stat().st_size for at in path.parent.glob(f".mlflow.db.*-{child}-*.part")]
        except FileNotFoundError:  # it has its name now
            return []
    while not path.exists() and not any(done >= size for done in written()):
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen.add((path.exists(), bool(written())))
    if path.exists():
        _check(path)
        path.unlink()
print(sorted(seen))
"""

STUDY = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from mlflow_helpers import track, tracked
track(Path(sys.argv[2]), *(tracked("baseline", seed) for seed in range(5)), study=sys.argv[3])
"""


@pytest.mark.slow
def test_a_kill_while_the_tables_are_made_leaves_no_database_or_a_whole_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, check=True
    )
    assert "(False, True)" in done.stdout
    track(tmp_path, tracked("baseline", 0))
    assert not list((tmp_path / "store").glob("*.part*"))
    assert shown(tmp_path) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


@pytest.mark.slow
def test_three_studies_that_start_at_once_share_a_database_that_did_not_exist(tmp_path):
    command = [sys.executable, "-c", STUDY, HERE, tmp_path]
    drivers = [
        subprocess.Popen([*command, study], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for study in ("a", "b", "c")
    ]
    outputs = [driver.communicate()[0] for driver in drivers]
    assert outputs == ["", "", ""]
    assert {status for _, status in shown(tmp_path)} == {"FINISHED"}
    counts = query(
        tmp_path,
        "SELECT e.name, count(*) FROM runs JOIN experiments e USING (experiment_id) GROUP BY e.name ORDER BY 1",
    )
    assert counts == [("a", 6), ("b", 6), ("c", 6)]


def test_artifacts_follow_a_folder_that_has_moved(results, tmp_path):
    from mlflow.tracking import MlflowClient

    track(results, tracked("baseline", 0, output="printed"), page={"report.md": "# Report"})
    moved = tmp_path / "new place #2"
    results.rename(moved)
    uri = ensure_database(moved / "store" / "mlflow.db", repair=True)
    client = MlflowClient(tracking_uri=uri)
    texts = {}
    for run in client.search_runs(["1"]):
        assert run.info.artifact_uri.startswith((moved / "store" / "artifacts").as_uri())
        for file in client.list_artifacts(run.info.run_id):
            texts[file.path] = Path(
                client.download_artifacts(run.info.run_id, file.path, str(tmp_path))
            ).read_text()
    client._tracking_client.store.engine.dispose()
    study = (moved / "study" / "study.yaml").read_text()
    assert texts == {"report.md": "# Report", "output.txt": "printed", "study.yaml": study}


def test_artifacts_elsewhere_stay_where_they_are(results):
    store = results / "store"
    ensure_database(store / "mlflow.db", repair=True)
    with closing(sqlite3.connect(store / "mlflow.db")) as database, database:
        database.execute("UPDATE experiments SET artifact_location = '/old/store/artifacts/0'")
        for number, place in enumerate(
            ("/old/store/artifacts/x", "/old/store/artifacts2/x", "s3://bucket/x"), start=1
        ):
            database.execute(
                "INSERT INTO experiments (experiment_id, name, artifact_location, lifecycle_stage, workspace)"
                f" VALUES ({number}, '{number}', '{place}', 'active', 'default')"
            )
    ensure_database(store / "mlflow.db", repair=True)
    root = (store / "artifacts").as_uri()
    places = [
        place
        for (place,) in query(results, "SELECT artifact_location FROM experiments ORDER BY experiment_id")
    ]
    assert places == [f"{root}/0", f"{root}/x", "/old/store/artifacts2/x", "s3://bucket/x"]


def test_a_database_that_another_program_left_half_made_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        database.execute("CREATE TABLE experiments (experiment_id INTEGER)")
    with pytest.raises(
        StoreError, match=r"mlflow\.db: is not a whole database of MLflow's; move it away, it is made again"
    ):
        ensure_database(tmp_path / "mlflow.db", repair=True)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "mlflow.db").write_text("something else " * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        ensure_database(tmp_path / "mlflow.db", repair=True)


def test_a_name_that_sqlite_uris_cannot_hold_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"name with '\?' or '%'; choose another --results"):
        ensure_database(tmp_path / "what?" / "mlflow.db", repair=True)


def test_importing_the_tracker_imports_no_mlflow():
    code = """
import sys, ablate.tracking.tracker, ablate.tracking.server
print([name for name in ("mlflow", "pandas", "torch", "sqlalchemy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
