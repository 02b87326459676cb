"""MLflow's databases: the store's own, which is checked, upgraded and rebuilt; and what the user names, left as it is.

MLflow creates and upgrades its tables step by step, and opens no database in which it was killed meanwhile: so that is
done under a temporary name.
"""

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ablate.base.errors import AblateError, StoreError
from ablate.base.files import digest_of, remove_leftovers, replacing, set_aside
from ablate.base.text import first_line

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
    # Seconds that a connection to a database is kept: it would not see that its file has been replaced.
    "MLFLOW_SQLALCHEMYSTORE_POOL_RECYCLE": "1",
}


def database_uri(path: Path) -> str:
    """The tracking URI of a SQLite file."""
    return f"{SQLITE}{path.resolve()}"


def artifacts_uri(tracking_uri: str) -> str | None:
    """Where the artifacts of a SQLite database are kept, the folder beside it; None for a server, which knows."""
    if not tracking_uri.startswith(SQLITE):
        return None
    return (Path(tracking_uri.removeprefix(SQLITE)).resolve().parent / ARTIFACTS).as_uri()


def check_uri(uri: str) -> None:
    """Raises `AblateError` for a mistyped path in a tracking URI: MLflow would make folders of that name."""
    is_path = uri.startswith((SQLITE, "file:")) or (":" not in uri and uri != "databricks")
    place = Path(uri.removeprefix(SQLITE).removeprefix("file:").removeprefix("//"))
    if is_path and not (folder := place.parent if uri.startswith(SQLITE) else place).is_dir():
        raise AblateError(
            f"--tracking-uri: leads to no folder; given {uri!r}; allowed: the URL of a server or database, "
            f"sqlite:///FILE in a folder that exists, or such a folder. Correct it, or make the folder {folder} first"
        )


def import_client() -> Any:
    """Imports the `MlflowClient` class, which takes seconds, with telemetry off and silent."""
    for name, value in SWITCHES.items():
        os.environ.setdefault(name, value)
    from mlflow.tracking import MlflowClient

    for name in ("mlflow", "alembic", "sqlalchemy.engine", "urllib3.connectionpool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return MlflowClient


@contextmanager
def opened(
    store: Path, uri: str | None, wait: float, warn: Callable[[str], None], *, checked: bool = True
) -> Iterator[Any]:
    """MLflow's client of the store's own database or of `uri`, for the only process that writes there.

    `wait` is how many seconds to wait for another one. A `checked` database of the store's own that is damaged is
    moved aside. Raises `StoreError`, and whatever MLflow, SQLite and the disk do.
    """
    own = database_uri(store / DATABASE)
    uri = uri or own
    store.mkdir(parents=True, exist_ok=True)
    suffix = "" if uri == own else f"-{digest_of(uri.encode())}"
    try:
        lock = FileLock(store / f".mlflow{suffix}.lock").acquire(timeout=wait)
    except Timeout:
        raise StoreError("another process is writing to it") from None
    with lock:
        client = import_client()
        if uri == own:
            from sqlalchemy import event
            from sqlalchemy.engine import Engine

            if not event.contains(Engine, "connect", _not_synchronous):
                event.listen(Engine, "connect", _not_synchronous)
        if uri.startswith(SQLITE):
            _prepare(Path(uri.removeprefix(SQLITE)), own=uri == own, checked=checked, warn=warn)
        yield client(tracking_uri=uri)


def _not_synchronous(connection: Any, _: object) -> None:
    """It can be made again from the records: no commit, of hundreds, waits for the disk."""
    connection.execute("PRAGMA synchronous = OFF")


def _prepare(path: Path, *, own: bool, checked: bool, warn: Callable[[str], None]) -> None:
    """Makes a database that is not there; moves one of our own aside where it is damaged, and upgrades an old one."""
    from mlflow.store.db import utils
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    if own:
        remove_leftovers(path.parent)
        if checked and path.exists() and (fault := _damage(path)):
            # With the files that SQLite keeps beside it, which would else belong to the next.
            name = set_aside(path, [path.with_name(path.name + s) for s in ("", "-journal", "-wal", "-shm")])
            warn(
                f"{path} is damaged ({fault}); set aside as {name}. It is built again from the finished trials; "
                "`ablate ui` brings in those of other studies"
            )
    exists = path.exists() and path.stat().st_size > 0
    if exists:
        version = utils._get_schema_version(utils.create_sqlalchemy_engine(database_uri(path)))
        if not own or version == utils._get_latest_schema_revision():
            return
    with replacing(path) as temporary:
        if exists:
            shutil.copyfile(path, temporary)
            utils._upgrade_db(utils.create_sqlalchemy_engine(database_uri(temporary)))
        SqlAlchemyStore(database_uri(temporary), artifacts_uri(database_uri(path))).engine.dispose()


def _damage(path: Path) -> str:
    """Why the file is no sound SQLite database, or nothing. Raises `sqlite3.Error` where that cannot be told.

    For instance of a database that is locked.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=10)) as database:
            found = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
            return "" if found == "ok" else first_line(ValueError(found))
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return str(error)
        raise
