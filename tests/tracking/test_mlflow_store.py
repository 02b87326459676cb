import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mlflow_helpers import NOLOAD, describe, query, shown, told, track, tracked

from ablate.base.errors import StoreError
from ablate.records import cleanup
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import database_uri, ensure_database, quiet
from ablate.tracking.tracker import Tracker

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent

# Makes the database again and again, each time killed a little later, and looks after each kill.
KILLED = """
import os, signal, sys, time
from pathlib import Path
from ablate.tracking.database import _fault, ensure_database, import_mlflow
import_mlflow()
import mlflow.store.tracking.sqlalchemy_store
path = Path(sys.argv[1]) / "store" / "mlflow.db"
seen = set()
for size in (0, 1, 200_000, 500_000, 800_000):
    child = os.fork()
    if child == 0:
        ensure_database(path, repair=True, warn=print)
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
        assert not _fault(path)
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
    ensure_database(moved / "store" / "mlflow.db", repair=True, warn=pytest.fail)
    client = MlflowClient(tracking_uri=database_uri(moved / "store" / "mlflow.db"))
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
    ensure_database(store / "mlflow.db", repair=True, warn=pytest.fail)
    with closing(sqlite3.connect(store / "mlflow.db")) as database, database:
        database.execute("UPDATE experiments SET artifact_location = '/old/store/artifacts/0'")
        for number, place in enumerate(
            ("/old/store/artifacts/x", "/old/store/artifacts2/x", "s3://bucket/x"), start=1
        ):
            database.execute(
                "INSERT INTO experiments (experiment_id, name, artifact_location, lifecycle_stage, workspace)"
                f" VALUES ({number}, '{number}', '{place}', 'active', 'default')"
            )
    ensure_database(store / "mlflow.db", repair=True, warn=pytest.fail)
    root = (store / "artifacts").as_uri()
    places = [
        place
        for (place,) in query(results, "SELECT artifact_location FROM experiments ORDER BY experiment_id")
    ]
    assert places == [f"{root}/0", f"{root}/x", "/old/store/artifacts2/x", "s3://bucket/x"]


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("something else " * 100),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 400),
    "cut_short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut_in_its_head": lambda path: os.truncate(path, 50),
    "overwritten_inside": lambda path: overwrite(path, path.stat().st_size // 2, 40_000),
    "half_made": lambda path: script(path, "DROP TABLE experiment_tags; DELETE FROM experiments"),
    "a_table_alone": lambda path: (
        path.unlink(),
        script(path, "CREATE TABLE experiments (experiment_id INTEGER)"),
    ),
    "of_another_version": lambda path: script(
        path, "UPDATE alembic_version SET version_num = 'ffffffffffff'"
    ),
}


def overwrite(path: Path, start: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * size)


def script(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(sql)


FAST = ("text", "cut_short", "half_made")


@pytest.mark.parametrize(
    "damage", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in DAMAGES]
)
def test_a_damaged_database_is_set_aside_and_built_again_with_every_study(results, damage, monkeypatch):
    monkeypatch.setattr("ablate.tracking.tracker.LIMIT", 200)  # however slow the machine is
    database = results / "store" / "mlflow.db"
    track(results, tracked("baseline", 0, output="printed"), study="one")
    track(results, tracked("baseline", 1), study="two")
    before = told(results)
    DAMAGES[damage](database)
    (results / "store" / "mlflow.db-shm").write_bytes(b"of the damaged one")
    damaged, warnings = database.read_bytes(), []
    folder = StudyFolder(results, "two")
    with Tracker(folder, Store(results / "store"), describe, None, warnings.append) as tracker:
        assert tracker.finish()
    assert told(results) == before
    aside = results / "store" / "mlflow.db.corrupt-1"
    assert aside.read_bytes() == damaged
    assert (results / "store" / "mlflow.db.corrupt-1-shm").read_bytes() == b"of the damaged one"
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{database} ")
    assert "set aside as mlflow.db.corrupt-1. It is built again from the finished trials" in warnings[0]


@pytest.mark.slow
def test_another_damaged_database_gets_another_name_and_clean_removes_them(results):
    database = results / "store" / "mlflow.db"
    for number in (1, 2):
        database.write_text(f"text {number}")
        assert ensure_database(database, repair=True, warn=lambda warning: None)
    aside = [results / "store" / f"mlflow.db.corrupt-{number}" for number in (1, 2)]
    assert [path.read_text() for path in aside] == ["text 1", "text 2"]
    rubbish = cleanup.find(results, pytest.fail)
    assert rubbish.aside == aside


def test_a_database_of_an_earlier_version_of_mlflow_is_brought_up_to_date(tmp_path):
    from alembic import command
    from mlflow.store.db import utils
    from mlflow.store.tracking.dbmodels.initial_models import Base

    path = tmp_path / "mlflow.db"
    engine = utils.create_sqlalchemy_engine_with_retry(database_uri(path))
    with quiet():
        Base.metadata.create_all(engine)
        with engine.begin() as connection:
            config = utils._get_alembic_config(database_uri(path))
            config.attributes["connection"] = connection
            command.upgrade(config, "2b4d017a5e9b")
    engine.dispose()
    columns = "(experiment_id, name, artifact_location, lifecycle_stage)"
    two = "(0, 'Default', 'here/0', 'active'), (1, 'mine', 'x', 'active')"
    script(path, f"INSERT INTO experiments {columns} VALUES {two}")
    assert not ensure_database(path, repair=True, warn=pytest.fail)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT name, workspace FROM experiments").fetchall() == [
            ("Default", "default"),
            ("mine", "default"),
        ]


def test_a_damaged_database_of_the_users_own_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "mlflow.db"
    path.write_text("something else " * 100)
    with pytest.raises(
        StoreError, match=r"mlflow\.db: is damaged \(file is not a database\); move it away, or choose"
    ):
        ensure_database(path, repair=False, warn=pytest.fail)
    path.unlink()
    script(path, "CREATE TABLE experiments (experiment_id INTEGER)")
    with pytest.raises(StoreError, match=r"mlflow\.db: is not a whole database of MLflow's; move it away"):
        ensure_database(path, repair=False, warn=pytest.fail)
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["mlflow.db"]


@pytest.mark.slow
def test_a_database_that_is_locked_is_not_taken_for_a_damaged_one(results):
    path = results / "store" / "mlflow.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="database is locked"):
            ensure_database(path, repair=True, warn=pytest.fail)


def test_a_name_that_sqlite_uris_cannot_hold_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"name with '\?' or '%'; choose another --results"):
        ensure_database(tmp_path / "what?" / "mlflow.db", repair=True, warn=pytest.fail)


def test_importing_the_tracker_imports_no_mlflow():
    code = """
import sys, ablate.tracking.tracker, ablate.tracking.server
print([name for name in ("mlflow", "pandas", "torch", "sqlalchemy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
