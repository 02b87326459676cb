"""MLflow's databases: the store's own, which is made anew where it cannot be used, and those that the user names."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ablate.base.errors import AblateError, StoreError
from ablate.base.files import digest_of, replacing, set_aside
from ablate.base.sqlite import database_uri, path_of, refuse_other_database
from ablate.tracking import empty_database

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient
    from sqlalchemy.engine.interfaces import DBAPIConnection

DATABASE = "mlflow.db"
ARTIFACTS = "artifacts"

# Seconds that a check of a database waits for another process that writes to it.
LOCKED_SECONDS = 10.0
# The codes of SQLite's errors that no later try can mend. All other errors may pass, as that of a locked file.
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# MLflow's own defaults would report usage over the network, write to stdout, and wait minutes for a server
# that is down. The user's own settings stay.
SWITCHES = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    # Seconds that a connection to a database is kept: it would not see that its file has been replaced.
    "MLFLOW_SQLALCHEMYSTORE_POOL_RECYCLE": "1",
}


def artifacts_uri(tracking_uri: str) -> str | None:
    """Returns the URI of the folder of artifacts beside a SQLite database; None for a server, which has its own."""
    database = path_of(tracking_uri)
    return None if database is None else (database.resolve().parent / ARTIFACTS).as_uri()


def check_uri(uri: str) -> None:
    """Raises `AblateError` for a tracking URI that leads to no folder, or to a file that is not MLflow's.

    MLflow would make folders of a mistyped name, and its tables in the database of another program.
    """
    database = path_of(uri)
    if database is not None:
        folder = database.parent
    elif uri.startswith("file:"):
        folder = Path(uri.removeprefix("file:").removeprefix("//"))
    elif ":" not in uri and uri != "databricks":
        folder = Path(uri)
    else:
        return

    if not folder.is_dir():
        raise AblateError(
            f"--tracking-uri: leads to no folder; given {uri!r}; allowed: the URL of a server or database, "
            f"sqlite:///FILE in a folder that exists, or such a folder. Correct it, or make the folder {folder} first"
        )
    refuse_other_database(uri, own_table="experiments", source="--tracking-uri")


def import_client() -> type[MlflowClient]:
    """Imports the class of MLflow's client, which takes seconds, with telemetry off and silent."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    for name in ("mlflow", "alembic", "sqlalchemy.engine", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return MlflowClient


class Database:
    """MLflow's database of a store, or whatever `uri` names, which is opened for one update at a time.

    The store's own is set aside where it is damaged or has another schema than that of the installed MLflow, and made
    where there is none. What `uri` names is left as it is.
    """

    def __init__(self, store: Path, uri: str | None, warn: Callable[[str], None]) -> None:
        own = (store / DATABASE).resolve()
        self._uri = uri or database_uri(own)
        self._is_own = self._uri == database_uri(own)
        path = own if self._is_own else path_of(self._uri)
        self._file = None if path is None else path.resolve()
        lock = ".mlflow.lock" if self._is_own else f".mlflow-{digest_of(self._uri.encode())}.lock"
        self._lock = store / lock
        self._warn = warn
        self._client: MlflowClient | None = None
        # The file as the last update has left it.
        self._left: object = None

    @contextmanager
    def opened(self, wait: float) -> Iterator[MlflowClient]:
        """Yields a client to the only process of ours that writes there; the same again while nobody else has written.

        Waits at most `wait` seconds for another process. Raises `StoreError`, and whatever MLflow, SQLite and the disk
        raise.
        """
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self._lock, wait), _written_without_waiting() if self._is_own else nullcontext():
            client = self._client
            if client is None or self._left != self._state():
                client = self._connected()
            self._client = None  # After an error another one looks again.
            yield client
            self._client = client
            self._left = self._state()

    def _connected(self) -> MlflowClient:
        """Returns a client of a database that can be used."""
        client_class = import_client()
        if self._file is not None:
            if self._is_own:
                _set_aside_unusable(self._file, self._warn)
            _create_missing(self._file)
        return client_class(tracking_uri=self._uri)

    def _state(self) -> object:
        """Returns what changes when another process replaces a file or writes to it; None of a server."""
        if self._file is None:
            return None
        try:
            state = self._file.stat()
        except FileNotFoundError:
            return None
        return (state.st_ino, state.st_size, state.st_mtime_ns)


@contextmanager
def _locked(path: Path, wait: float) -> Iterator[None]:
    """Holds the lock of a database. Raises `StoreError` where another process holds it for `wait` seconds."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise StoreError("another process is writing to it") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _written_without_waiting() -> Iterator[None]:
    """Has no commit, of hundreds, wait for the disk: what is lost can be made again from the records."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    event.listen(Engine, "connect", _do_not_synchronise)
    try:
        yield
    finally:
        event.remove(Engine, "connect", _do_not_synchronise)


def _do_not_synchronise(connection: DBAPIConnection, _: object) -> None:
    connection.execute("PRAGMA synchronous = OFF")


def _has_content(database: Path) -> bool:
    """Returns whether there is a file that is not empty; SQLite takes an empty one for a new database."""
    return database.exists() and database.stat().st_size > 0


def _create_missing(database: Path) -> None:
    """Makes a database of MLflow's, whose artifacts lie beside it, unless there is one.

    MLflow makes the tables step by step. The file has a temporary name until all are there, so that no kill leaves a
    part of them.
    """
    if _has_content(database):
        return
    artifacts = artifacts_uri(database_uri(database))
    with replacing(database) as temporary:
        if not empty_database.copied_to(temporary, artifacts):
            empty_database.migrate(temporary, artifacts)
            empty_database.keep_copy_of(temporary)


def _set_aside_unusable(database: Path, warn: Callable[[str], None]) -> None:
    """Renames a database of our own that the installed MLflow cannot use, and warns of it.

    MLflow itself would upgrade it in place, or refuse it.
    """
    if not _has_content(database):
        return
    fault = _fault(database)
    if not fault:
        return
    # With the files that SQLite keeps beside it, which would else belong to the next one.
    files = [database.with_name(database.name + ending) for ending in ("", "-journal", "-wal", "-shm")]
    name = set_aside(database, files, mark="old")
    warn(
        f"{database} {fault}; it is set aside as {name} and made again from the finished trials, those of other "
        "studies by `ablate ui`"
    )


def _fault(database: Path) -> str:
    """Returns why the installed MLflow cannot use a SQLite file, or nothing.

    Raises `sqlite3.Error` where that cannot be told, for instance of a file that is locked.
    """
    address = f"{database.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=LOCKED_SECONDS)) as connection:
            (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if finding != "ok":
                return f"is damaged ({finding.splitlines()[-1]})"
            if not _has_schema_of_installed_mlflow(connection):
                return "does not have the tables of the installed version of MLflow"
    except sqlite3.DatabaseError as error:
        primary_code = error.sqlite_errorcode & 0xFF
        if primary_code not in DAMAGED:
            raise
        return f"is damaged ({error})"
    return ""


def _has_schema_of_installed_mlflow(connection: sqlite3.Connection) -> bool:
    """Returns whether a database has all tables of MLflow's, and the revision up to which MLflow migrates them."""
    from alembic.script import ScriptDirectory
    from mlflow.store import db_migrations
    from mlflow.store.db.base_sql_model import Base
    from mlflow.store.tracking import sqlalchemy_store  # noqa: F401 - all tables are declared to `Base` by it

    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in rows}
    if not tables >= {"alembic_version", *Base.metadata.tables}:
        return False
    revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    migrations = ScriptDirectory(db_migrations.__path__[0])
    return revisions == [(migrations.get_current_head(),)]
