"""Databases that MLflow cannot use as they are: damaged, of another schema, locked, read only."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from harness import give_up_the_rights_of_root, run_here
from mlflow_helpers import NOLOAD, report, shown, synced, told, track, tracked

from ablate.base.errors import AblateError
from ablate.records import cleanup
from ablate.tracking import database as databases
from ablate.tracking.ui import bring_up_to_date

pytestmark = pytest.mark.filterwarnings(NOLOAD)

HERE = Path(__file__).parent
DONE = [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
OTHER_REVISION = "UPDATE alembic_version SET version_num = '2b4d017a5e9b'"
DAMAGED = r"is damaged \(.+\)"
OTHER_TABLES = "does not have the tables of the installed version of MLflow"


def overwritten(start: float, size: int) -> Callable[[Path], None]:
    """Writes garbage over a part of a file that starts at a fraction of it."""

    def spoil(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(int(path.stat().st_size * start))
            file.write(b"\xa5" * size)

    return spoil


def executed(sql: str) -> Callable[[Path], None]:
    """Changes a database by SQL."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(sql)

    return change


UNUSABLE = {
    "cut_short": (lambda path: os.truncate(path, path.stat().st_size // 2), DAMAGED),
    "another_revision": (executed(OTHER_REVISION), OTHER_TABLES),
    "a_missing_table": (executed("DROP TABLE metrics"), OTHER_TABLES),
    "cut_to_a_piece_of_a_page": (lambda path: os.truncate(path, 1000), DAMAGED),
    "text": (lambda path: path.write_text("something else " * 100), DAMAGED),
    "garbage_at_the_start": (overwritten(0.0, 4096), DAMAGED),
    "garbage_inside": (overwritten(0.5, 40_000), DAMAGED),
    "a_later_revision": (executed("UPDATE alembic_version SET version_num = 'ffffffffffff'"), OTHER_TABLES),
    "no_revision": (executed("DELETE FROM alembic_version"), OTHER_TABLES),
    "no_table_of_revisions": (executed("DROP TABLE alembic_version"), OTHER_TABLES),
    "half_made": (
        executed("DROP TABLE webhooks; DROP TABLE metrics;" + OTHER_REVISION),
        OTHER_TABLES,
    ),
    "of_another_program": (
        lambda path: (path.unlink(), executed("CREATE TABLE notes (text)")(path)),
        OTHER_TABLES,
    ),
}
QUICK = ("cut_short", "another_revision", "a_missing_table")


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in UNUSABLE]
)
def test_an_unusable_database_is_set_aside_and_made_again(results, name):
    spoil, fault = UNUSABLE[name]
    database, warnings = results / "store" / "mlflow.db", []
    folder = track(results, tracked("baseline", 0, output="printed"))
    before = told(results)
    spoil(database)
    spoilt = database.read_bytes()
    synced(folder, warn=warnings.append)
    assert told(results) == before
    assert (results / "store" / "mlflow.db.old-1").read_bytes() == spoilt
    (warning,) = warnings
    expected = (
        rf"{re.escape(str(database))} {fault}; it is set aside as mlflow\.db\.old-1 and made again from "
    )
    assert re.match(expected, warning), warning
    synced(folder)  # which warns of nothing


@pytest.mark.slow
def test_it_is_set_aside_with_the_files_of_sqlite_beside_one_of_an_earlier_time(results):
    database, warnings = results / "store" / "mlflow.db", []
    os.truncate(database, 5000)
    spoilt = database.read_bytes()
    (results / "store" / "mlflow.db-shm").write_bytes(b"of the damaged one")
    (results / "store" / "mlflow.db.old-1").write_bytes(b"of an earlier time")
    synced(report(results, tracked("baseline", 0)), warn=warnings.append)
    aside = [results / "store" / f"mlflow.db.old-{name}" for name in ("1", "2", "2-shm")]
    assert [path.read_bytes() for path in aside] == [b"of an earlier time", spoilt, b"of the damaged one"]
    assert cleanup.find(results, pytest.fail).aside == aside
    assert "set aside as mlflow.db.old-2" in warnings[0]


def test_other_studies_come_back_with_their_next_sync_or_with_ablate_ui(results):
    track(results, tracked("baseline", 1), study="other")
    folder = track(results, tracked("baseline", 0))
    everything = told(results)
    executed(OTHER_REVISION)(results / "store" / "mlflow.db")
    synced(folder, warn=lambda warning: None)
    assert shown(results) == DONE
    bring_up_to_date(results, pytest.fail)
    assert told(results) == everything


@pytest.mark.slow
def test_an_empty_file_is_no_database_yet(results):
    (results / "store" / "mlflow.db").write_bytes(b"")
    track(results, tracked("baseline", 0))
    assert shown(results) == DONE


@pytest.mark.parametrize("name", ["cut_short", "text", "another_revision"])
def test_what_the_user_names_is_left_as_it_is(results, tmp_path, name):
    path = tmp_path / "own" / "mlflow.db"
    path.parent.mkdir()
    shutil.copy(results / "store" / "mlflow.db", path)
    spoil, _ = UNUSABLE[name]
    spoil(path)
    before, folder = path.read_bytes(), report(results, tracked("baseline", 0))
    with pytest.raises(Exception, match=r"not a database|malformed|out-of-date database schema"):
        synced(folder, f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["mlflow.db"]


@pytest.mark.parametrize("journal", ["delete", pytest.param("wal", marks=pytest.mark.slow)])
def test_a_database_that_is_locked_is_left_for_later(results, journal, monkeypatch):
    monkeypatch.setattr(databases, "LOCKED_SECONDS", 0.1)
    path, folder = results / "store" / "mlflow.db", report(results, tracked("baseline", 0))
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Exception, match="database is locked"):
            synced(folder)
    synced(folder)
    assert shown(results) == DONE


def test_a_locked_database_of_another_schema_is_set_aside_once_it_is_free(results, monkeypatch):
    monkeypatch.setattr(databases, "LOCKED_SECONDS", 0.1)
    path, folder, warnings = results / "store" / "mlflow.db", report(results, tracked("baseline", 0)), []
    executed(OTHER_REVISION)(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            synced(folder)
    assert not list(path.parent.glob("*.old-*"))
    synced(folder, warn=warnings.append)
    assert OTHER_TABLES in warnings[0]
    assert shown(results) == DONE


OPEN = """
import sys
from pathlib import Path
from ablate.tracking.database import Database
with Database(Path(sys.argv[1]), None, print).opened(0):
    pass
"""


def opening(store: Path, **options: Callable[[], None]) -> subprocess.Popen[str]:
    """A process that opens the database of a store, and prints warnings and its error."""
    command = [sys.executable, "-W", "ignore", "-c", OPEN, str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cut_short", pytest.param("another_revision", marks=pytest.mark.slow)])
def test_an_unusable_database_in_a_folder_that_may_only_be_read_stays_where_it_is(results, name):
    store = results / "store"
    database = store / "mlflow.db"
    spoil, _ = UNUSABLE[name]
    spoil(database)
    before = database.read_bytes()
    (store / ".mlflow.lock").touch()
    store.chmod(0o500)
    try:
        process = opening(store, preexec_fn=give_up_the_rights_of_root)
        output, _ = process.communicate()
    finally:
        store.chmod(0o700)
    assert process.returncode == 1
    assert output.splitlines()[-1].startswith("PermissionError: [Errno 13] Permission denied")
    assert {path.name for path in store.glob("mlflow.db*")} == {"mlflow.db"}
    assert database.read_bytes() == before


@pytest.mark.slow
def test_a_kill_while_a_database_is_made_leaves_none(results):
    store = results / "store"
    (store / "mlflow.db").unlink()
    process = opening(store)
    while not list(store.glob(".mlflow.db.*.part")):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert not (store / "mlflow.db").exists()
    track(results, tracked("baseline", 0))
    assert shown(results) == DONE


def test_no_run_writes_its_tables_into_the_database_of_another_program(toy_study, tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE people (name)")
        connection.commit()
    before = other.read_bytes()
    with pytest.raises(AblateError):
        run_here(toy_study, tracking_uri=f"sqlite:///{other}")
    assert other.read_bytes() == before
    assert not (tmp_path / "results" / "toy").exists()


@pytest.mark.slow
def test_a_client_is_kept_while_nobody_else_has_written(results):
    database = results / "store" / "mlflow.db"
    kept = databases.Database(results / "store", None, pytest.fail)

    def client() -> object:
        with kept.opened(0) as client:
            return client

    first = client()
    assert client() is first
    with kept.opened(0) as same:
        assert same is first
        same.create_experiment("written by the client itself")
    assert client() is first
    executed("INSERT INTO experiments (experiment_id, name) VALUES (7, 'by another')")(database)
    second = client()
    assert second is not first
    shutil.copy(database, database.with_suffix(".copy"))
    os.replace(database.with_suffix(".copy"), database)
    assert client() is not second
    with pytest.raises(RuntimeError), kept.opened(0) as last:
        raise RuntimeError
    assert client() is not last
    first._tracking_client.store.engine.dispose()
