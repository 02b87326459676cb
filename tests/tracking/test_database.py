import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from mlflow_helpers import NOLOAD, query, report, shown, synced, told, track, tracked

from ablate.records import cleanup
from ablate.tracking.database import database_uri

pytestmark = pytest.mark.filterwarnings(NOLOAD)


DAMAGES = {
    "text": lambda path: path.write_text("something else " * 100),
    "cut_short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "overwritten_inside": lambda path: overwrite(path, path.stat().st_size // 2, 40_000),
}


def overwrite(path, start, size):
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * size)


def script(path, sql):
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(sql)


@pytest.mark.parametrize(
    "damage",
    [name if name == "cut_short" else pytest.param(name, marks=pytest.mark.slow) for name in DAMAGES],
)
def test_a_damaged_database_is_set_aside_and_built_again(results, damage):
    database, warnings = results / "store" / "mlflow.db", []
    folder = track(results, tracked("baseline", 0, output="printed"))
    before = told(results)
    DAMAGES[damage](database)
    (results / "store" / "mlflow.db-shm").write_bytes(b"of the damaged one")
    damaged = database.read_bytes()
    (results / "store" / "mlflow.db.corrupt-1").write_bytes(b"of an earlier time")
    synced(folder, warn=warnings.append)
    assert told(results) == before
    aside = [results / "store" / f"mlflow.db.corrupt-{name}" for name in ("1", "2", "2-shm")]
    assert [path.read_bytes() for path in aside] == [b"of an earlier time", damaged, b"of the damaged one"]
    assert cleanup.find(results, pytest.fail).aside == aside
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{database} is damaged (")
    assert "set aside as mlflow.db.corrupt-2" in warnings[0]


def test_an_empty_file_is_no_database_yet(results):
    (results / "store" / "mlflow.db").write_bytes(b"")
    track(results, tracked("baseline", 0))
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]


def old_database(path):
    """As an earlier version of MLflow made it, with an experiment."""
    from alembic import command
    from mlflow.store.db import utils
    from mlflow.store.tracking.dbmodels.initial_models import Base

    engine = utils.create_sqlalchemy_engine_with_retry(database_uri(path))
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        config = utils._get_alembic_config(database_uri(path))
        config.attributes["connection"] = connection
        command.upgrade(config, "2b4d017a5e9b")
    engine.dispose()
    columns = "(experiment_id, name, artifact_location, lifecycle_stage)"
    script(
        path,
        f"INSERT INTO experiments {columns} VALUES (0, 'Default', 'x', 'active'), (1, 'mine', 'y', 'active')",
    )


def test_a_database_of_an_earlier_version_of_mlflow_is_upgraded(results):
    path = results / "store" / "mlflow.db"
    path.unlink()
    old_database(path)
    track(results, tracked("baseline", 0))
    found = query(results, "SELECT name, workspace FROM experiments ORDER BY experiment_id")
    assert found == [(name, "default") for name in ("Default", "mine", "study")]


def test_a_database_of_a_later_version_is_left_as_it_is(results):
    path = results / "store" / "mlflow.db"
    script(path, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    before, folder = path.read_bytes(), report(results, tracked("baseline", 0))
    with pytest.raises(Exception, match="ffffffffffff"):
        synced(folder)
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*corrupt*"))


def test_a_damaged_database_of_the_users_own_is_left_as_it_is(results, tmp_path):
    path = tmp_path / "own" / "mlflow.db"
    path.parent.mkdir()
    shutil.copy(results / "store" / "mlflow.db", path)
    DAMAGES["cut_short"](path)
    before, folder = path.read_bytes(), report(results, tracked("baseline", 0))
    with pytest.raises(Exception, match=r"not a database|malformed"):
        synced(folder, f"sqlite:///{path}")
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["mlflow.db"]


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_that_is_locked_is_left_for_later(results, journal):
    path, folder = results / "store" / "mlflow.db", report(results, tracked("baseline", 0))
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Exception, match="database is locked"):
            synced(folder)
    synced(folder)
    assert shown(results) == [("baseline · seed 00", "FINISHED"), ("study", "FINISHED")]
