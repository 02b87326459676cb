"""MLflow's SQLite database: made whole or not at all, and still valid after its folder has moved.

MLflow creates its tables by migrations that are not atomic: if two processes open it first at once, or the first is
killed, no process can open it again. Here it is made under a temporary name, checked, and renamed, all under a lock; a
reader finds either no database or a whole one.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ablate.base.errors import StoreError
from ablate.base.files import remove_leftovers, replacing
from ablate.base.passwords import masked

DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"
SQLITE = "sqlite:///"

# MLflow's own defaults would report usage over the network, write to stdout, and wait minutes for a server
# that is down. The user's own settings stay.
SWITCHES = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
_NOISY = ("mlflow", "alembic", "sqlalchemy.engine", "urllib3.connectionpool")
_migrating = threading.Lock()


def database_uri(path: Path) -> str:
    """The tracking URI of a SQLite file."""
    return f"{SQLITE}{path.resolve()}"


def database_path(uri: str) -> Path | None:
    """The file behind a `sqlite:///` URI; None for any other."""
    return Path(uri.removeprefix(SQLITE)).resolve() if uri.startswith(SQLITE) else None


def artifacts_uri(database: Path) -> str:
    """Where the artifacts of a SQLite database are kept: the folder beside it, as a `file:` URI."""
    return (database.resolve().parent / ARTIFACTS).as_uri()


def import_mlflow() -> Any:
    """Imports the `MlflowClient` class late, because it takes a second, and with telemetry off."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    return MlflowClient


def ensure_database(path: Path, *, repair: bool, warn: Callable[[str], None]) -> bool:
    """Makes the database if there is none, and returns whether it did.

    With `repair`, a damaged file is set aside with a warning, and artifact locations that point below the folder where
    the database was made are moved to where it is now. Raises `StoreError` when the folder cannot be written or,
    without `repair`, the file is no whole database of MLflow's.
    """
    path = path.resolve()
    if set("?%") & set(str(path)):
        raise StoreError(
            f"{path}: MLflow cannot keep its database below a name with '?' or '%'; choose another --results"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            remove_leftovers(path.parent)
            if path.exists() and (fault := _fault(path) or (_outdated(path) if repair else "")):
                if not repair:
                    raise StoreError(f"{path}: {fault}; move it away, or choose another --tracking-uri")
                _set_aside(path, fault, warn)
            made = not path.exists()
            if made:
                _create(path)
            if repair:
                _repair_locations(path)
            return made
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        where = getattr(error, "filename", None) or path
        raise StoreError(
            f"{where}: MLflow's database cannot be made or written: {reason}; use a folder that you may write"
        ) from error


@contextmanager
def sole_writer(folder: Path, study: str, timeout: float) -> Iterator[None]:
    """Holds the right to write the MLflow runs of `study`; raises `StoreError` when another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(folder / f".mlflow-{study}.lock").acquire(timeout=timeout)
    except Timeout:
        raise StoreError(f"another process is writing the MLflow runs of {study!r}") from None
    with held:
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Silences MLflow and the libraries below it in this thread: errors are reported once, by the caller."""
    import_mlflow()  # which sets up the loggers
    thread = threading.get_ident()

    def from_elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    # The filter of a logger does not see what its children log, that of a handler does.
    loggers = [logging.getLogger(name) for name in _NOISY]
    targets: list[logging.Filterer] = [target for logger in loggers for target in (logger, *logger.handlers)]
    for target in targets:
        target.addFilter(from_elsewhere)
    try:
        yield
    finally:
        for target in targets:
            target.removeFilter(from_elsewhere)


def _create(path: Path) -> None:
    import_mlflow()
    from mlflow.exceptions import MlflowException
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    try:
        with quiet(), replacing(path) as temporary, _migrating:  # alembic keeps its context in a global
            SqlAlchemyStore(database_uri(temporary), artifacts_uri(path)).engine.dispose()
            if fault := _fault(temporary):
                raise StoreError(f"{path}: MLflow has not made its database: {fault}")
    except MlflowException as error:
        raise StoreError(f"{path}: MLflow cannot make its database: {first_line(error)}") from error


def _fault(path: Path) -> str:
    """Why the file is no whole database of MLflow's; nothing where it is one.

    Whole is one with the default experiment, which MLflow makes after its last migration. Raises `sqlite3.Error` where
    it cannot be told, for instance of a database that is locked.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=20)) as database:
            if database.execute("SELECT 1 FROM alembic_version, experiments").fetchone() is None:
                return "is not a whole database of MLflow's"
            found = str(database.execute("PRAGMA quick_check(1)").fetchone()[0])
            return "" if found == "ok" else f"is damaged ({first_line(ValueError(found))})"
    except sqlite3.DatabaseError as error:
        if "no such table" in str(error):
            return "is not a whole database of MLflow's"
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return f"is damaged ({error})"
        raise


def _outdated(path: Path) -> str:
    """Gives a whole database the tables of this version of MLflow, on a copy; why it could not, or nothing."""
    import_mlflow()
    from mlflow.store.db import utils

    with closing(sqlite3.connect(path, timeout=20)) as database:
        (version,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    latest = getattr(utils, "_get_latest_schema_revision", None)
    if latest is None or version == latest():
        return ""  # where MLflow does not say, it sees for itself
    try:
        with quiet(), replacing(path) as temporary, _migrating:
            shutil.copyfile(path, temporary)
            engine = utils.create_sqlalchemy_engine_with_retry(database_uri(temporary))
            utils._upgrade_db(engine)
            engine.dispose()
    except StoreError:
        raise
    except Exception as error:
        return f"has tables of another version of MLflow ({first_line(error)})"
    return ""


def _set_aside(path: Path, fault: str, warn: Callable[[str], None]) -> None:
    """Renames a database with the files that SQLite keeps beside it, which would else belong to the next."""
    number = 1
    while any(path.parent.glob(f"{path.name}.corrupt-{number}*")):
        number += 1
    name = f"{path.name}.corrupt-{number}"
    for suffix in ("-journal", "-wal", "-shm", ""):
        beside = path.with_name(f"{path.name}{suffix}")
        if beside.exists():
            beside.replace(path.with_name(f"{name}{suffix}"))
    warn(
        f"{path} {fault}; set aside as {name}. It is built again from the finished trials of this study and of every "
        "other that has a report; `ablate ui` completes it"
    )


def _repair_locations(path: Path) -> None:
    """Points artifacts at the folder beside the database; the default experiment keeps the folder's first place."""
    root = artifacts_uri(path)
    with closing(sqlite3.connect(path, timeout=20)) as database, database:
        row = database.execute("SELECT artifact_location FROM experiments WHERE experiment_id = 0").fetchone()
        made_at = str(row[0]).removesuffix("/0") if row else root
        if made_at == root:
            return
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            database.execute(
                f"UPDATE {table} SET {column} = ? || substr({column}, ?) WHERE substr({column}, 1, ?) = ?",
                (root, len(made_at) + 1, len(made_at) + 1, f"{made_at}/"),
            )


def experiments(path: Path, tag: str) -> list[tuple[int, str, bool]]:
    """Number and name of the experiments shown, and whether they have the `tag`; by name, without MLflow's own."""
    with closing(sqlite3.connect(path, timeout=20)) as database:
        shown = "lifecycle_stage = 'active' AND experiment_id != 0"
        tagged = "experiment_id IN (SELECT experiment_id FROM experiment_tags WHERE key = ?)"
        return database.execute(
            f"SELECT experiment_id, name, {tagged} FROM experiments WHERE {shown} ORDER BY name", (tag,)
        ).fetchall()


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message without passwords, cut to 300 characters."""
    line = masked(next(iter(str(error).strip().splitlines()), type(error).__name__))
    return line if len(line) <= 300 else f"{line[:299]}…"
