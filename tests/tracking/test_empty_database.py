"""The empty database that is kept is what MLflow's migrations make, and no run depends on it."""

import sqlite3
from contextlib import closing

import pytest

from ablate.tracking import database as databases
from ablate.tracking import empty_database


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(store):
    """What ablate makes in a store: tables with their columns, numbers of rows, experiments."""
    with databases.Database(store, None, pytest.fail).opened(0) as client:
        client.create_experiment("first", artifact_location="elsewhere")
        found = [
            (each.experiment_id, each.name, each.artifact_location) for each in client.search_experiments()
        ]
        client._tracking_client.store.engine.dispose()
    with closing(sqlite3.connect(store / "mlflow.db")) as connection:
        names = connection.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
        columns = {}
        for kind, name in names:
            if kind == "table":  # MLflow writes the constraints of a table in any order.
                rows = connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()
                columns[name] = rows, connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    return (
        names,
        columns,
        sorted((number, name, place.replace(str(store), "")) for number, name, place in found),
    )


@pytest.mark.slow
def test_a_copy_is_what_the_migrations_make(cache, tmp_path, monkeypatch):
    first = made(tmp_path / "a")
    (kept,) = cache.glob("ablate/mlflow-*.db")
    before = kept.read_bytes()
    migrated = []
    monkeypatch.setattr(empty_database, "keep_copy_of", migrated.append)
    assert made(tmp_path / "b") == first
    assert not migrated
    assert kept.read_bytes() == before
    assert not list(cache.glob("ablate/*.part"))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
def test_a_damaged_copy_is_made_again(damage, cache, tmp_path):
    first = made(tmp_path / "a")
    (kept,) = cache.glob("ablate/mlflow-*.db")
    if damage == "cut":
        kept.write_bytes(kept.read_bytes()[:200_000])
    elif damage == "empty":
        kept.write_bytes(b"")
    else:
        with closing(sqlite3.connect(kept)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = 'nonsense'")
            connection.commit()
    assert made(tmp_path / "b") == first


@pytest.mark.slow
def test_without_a_place_to_keep_it_each_store_has_its_own(cache, tmp_path):
    cache.write_text("a file in the place of a folder")
    assert made(tmp_path / "a") == made(tmp_path / "b")
