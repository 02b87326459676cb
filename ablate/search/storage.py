"""Optuna's storage of a search: opened, or refused with the reason."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, listed
from ablate.base.passwords import masked
from ablate.search.quiet import quiet

if TYPE_CHECKING:
    from optuna.storages import BaseStorage, RDBStorage
    from sqlalchemy.engine import Engine

HEARTBEAT = float(os.environ.get("ABLATE_HEARTBEAT", "60"))
"""Seconds between two signs of life of a driver; after twice as many without one, others take its trials. All drivers
of one search need the same value."""
_TIMEOUT = 15
"""Seconds to wait for a server."""
_ATTEMPTS = 5
"""Attempts to create the tables, which two drivers may try at the same moment."""


class StorageError(AblateError):
    """A storage that does not answer, or is not one of Optuna's."""


def url_of(storage: str | None, database: Path) -> str:
    """Returns the URL that the study gives, or that of a SQLite file. Raises `StorageError` if the file has no URL."""
    if not storage and "?" in str(database):
        raise StorageError(
            f"{database}: SQLite has no URL of a file below a name with '?'; choose another --results, or give a "
            "`storage`"
        )
    return storage or f"sqlite:///{database}"


def open_storage(url: str) -> BaseStorage:
    """The storage at `url`: anything that SQLAlchemy takes, `redis://…`, or `journal:PATH` for a file of Optuna's own.

    Raises `StorageError` when it does not answer.
    """
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalRedisBackend

    try:
        with quiet():
            if url.startswith("journal:"):
                path = Path(url.removeprefix("journal:").removeprefix("//"))
                return JournalStorage(JournalFileBackend(str(path)))
            if url.startswith(("redis://", "rediss://", "unix://")):
                return JournalStorage(JournalRedisBackend(url))
            return _database(url)
    except StorageError:
        raise
    except ModuleNotFoundError as error:
        raise StorageError(
            f"storage {masked(url)}: needs the Python package {error.name}; install it, or use sqlite:///FILE"
        ) from None
    except Exception as error:
        raise StorageError(
            f"storage {masked(url)}: does not answer or is not a storage of Optuna's: {_reason(error, url)}; "
            + _remedy(url, "check the URL, or leave `storage` out for a file in the study's folder")
        ) from None


def _database(url: str) -> RDBStorage:
    from optuna.storages import RDBStorage
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError

    more = {"connect_args": _connect(url), "pool_pre_ping": True}
    engine = create_engine(url, **more)
    try:
        tables = set(inspect(engine).get_table_names())
    finally:
        engine.dispose()
    if tables and not tables & {"studies", "trials", "version_info"}:
        raise StorageError(
            f"storage {masked(url)}: is a database of another program (its tables: {listed(sorted(tables), 4)}); "
            "name one that does not exist yet, or leave `storage` out for a file in the study's folder"
        )
    for attempt in range(_ATTEMPTS):
        try:
            storage = RDBStorage(url, engine_kwargs=more)
            break
        except SQLAlchemyError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(0.2 * (attempt + 1))
    if storage.engine.dialect.name == "sqlite":
        _one_at_a_time(storage.engine)
    return storage


def _one_at_a_time(engine: Engine) -> None:
    """Makes every transaction on SQLite wait for the others before it reads.

    Otherwise Python's driver begins one only at the first write: two processes that see the same waiting trial would
    both draw it.
    """
    from sqlalchemy import event

    def connected(connection: Any, record: object) -> None:
        connection.isolation_level = None

    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()
    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turns errors of a storage that no longer answers into `StorageError`."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        raise StorageError(
            f"storage {masked(url)}: no longer answers: {_reason(error, url)}; finished trials are kept, and "
            + _remedy(url, "run the same command to continue")
        ) from None


def _remedy(url: str, otherwise: str) -> str:
    """What to do next: with a file that is no database, as a damaged one, or `otherwise`."""
    path = Path(url.removeprefix("sqlite:///"))
    if not url.startswith("sqlite:///") or not os.path.lexists(path) or (path.is_file() and _is_whole(path)):
        return otherwise
    what = "is damaged" if path.is_file() else "is no file"
    return (
        f"{path} {what}: move it away; the search is then repeated, and finished trials come from the store"
    )


def _is_whole(path: Path) -> bool:
    """Whether SQLite finds no fault in a database; one that is locked has none that is known."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return bool(database.execute("PRAGMA quick_check").fetchone() == ("ok",))
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.DatabaseError:
        return False


def _reason(error: Exception, url: str) -> str:
    """The first line of an error, without the password of the URL."""
    found: BaseException = error
    while found.__cause__ is not None and not str(found):
        found = found.__cause__
    reason = (str(found).splitlines() or [type(found).__name__])[0]
    return masked(reason.replace(url, masked(url)))


def _connect(url: str) -> dict[str, Any]:
    """Arguments of the database driver, so that it gives up in time."""
    dialect = url.partition(":")[0].partition("+")[0]
    if dialect == "sqlite":
        return {"timeout": 60}  # while another driver writes
    if dialect in ("postgresql", "mysql", "mariadb"):
        return {"connect_timeout": _TIMEOUT}
    return {}
