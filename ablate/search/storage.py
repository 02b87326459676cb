"""Optuna's storage of a search: opened, or refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ablate.errors import AblateError
from ablate.search.quiet import quiet

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

FILE = "optuna.db"
"""In the study's folder, where no storage is named."""
HEARTBEAT = 60
"""Seconds between two signs of life of a driver; after twice as many without one, its trials are given to others."""
_TIMEOUT = 15
"""Seconds to wait for a server."""


class StorageError(AblateError):
    """A storage that does not answer."""


def url_of(storage: str | None, folder: Path) -> str:
    """The URL that is asked for, or that of the file in the study's folder."""
    return storage or f"sqlite:///{folder / FILE}"


def shown(url: str) -> str:
    """A URL without its password."""
    password = urlsplit(url).password
    return url.replace(f":{password}@", ":…@") if password else url


def open_storage(url: str) -> BaseStorage:
    """The storage at `url`: anything that SQLAlchemy takes, `redis://…`, or `journal:PATH` for a file of Optuna's own.

    Raises `StorageError` when it does not answer.
    """
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend, JournalRedisBackend

    try:
        with quiet():
            if url.startswith("journal:"):
                path = Path(url.removeprefix("journal:").removeprefix("//"))
                return JournalStorage(JournalFileBackend(str(path)))
            if url.startswith(("redis://", "rediss://", "unix://")):
                return JournalStorage(JournalRedisBackend(url))
            if url.startswith("sqlite:///") and ":memory:" not in url:
                Path(urlsplit(url).path[1:]).parent.mkdir(parents=True, exist_ok=True)
            storage = RDBStorage(url, engine_kwargs={"connect_args": _connect(url), "pool_pre_ping": True})
            storage.heartbeat_interval = HEARTBEAT
            return storage
    except ModuleNotFoundError as error:
        raise StorageError(
            f"storage {shown(url)}: needs the Python package {error.name}; install it, or use sqlite:///FILE"
        ) from None
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise StorageError(
            f"storage {shown(url)}: does not answer or is no storage of Optuna's: {reason}; "
            "check the URL, or leave `storage` out for a file in the study's folder"
        ) from None


def _connect(url: str) -> dict[str, Any]:
    """What its driver needs to give up in time."""
    dialect = urlsplit(url).scheme.partition("+")[0]
    if dialect == "sqlite":
        return {"timeout": 60}  # while another driver writes
    if dialect in ("postgresql", "mysql", "mariadb"):
        return {"connect_timeout": _TIMEOUT}
    return {}
