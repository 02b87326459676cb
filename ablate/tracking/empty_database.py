"""The empty database of the installed MLflow, kept for all stores of a user: its migrations take seconds.

It lies in `$XDG_CACHE_HOME/ablate`, or else in `~/.cache/ablate`, a file a version. Where that cannot be read or
written, each store has the migrations run.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.base.sqlite import database_uri


def migrate(database: Path, artifacts: str | None) -> None:
    """Makes a database, whose artifacts lie at a URI, by MLflow's own migrations; those that it lacks, if it is one."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    made = SqlAlchemyStore(database_uri(database), artifacts)
    made.engine.dispose()


def copied_to(database: Path, artifacts: str | None) -> bool:
    """Makes a database as a copy of the kept one; returns whether it did: not without one that MLflow can use.

    artifacts: the URI of its artifacts.
    """
    kept = _place()
    if kept is None or not kept.is_file():
        return False
    # By another name than that of the database: MLflow keeps its connection to a file that it has refused.
    attempt = database.with_name(f"{database.name}.copy")
    try:
        shutil.copyfile(kept, attempt)
        with closing(sqlite3.connect(attempt)) as connection:
            (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if finding == "ok":
            migrate(attempt, artifacts)
            attempt.replace(database)
            return True
    except Exception:  # Whatever MLflow makes of a file that somebody has changed.
        return False
    finally:
        attempt.unlink(missing_ok=True)
    return False


def keep_copy_of(database: Path) -> None:
    """Keeps a copy of a database that has just been made, where that can be written.

    The copy lacks the one experiment of that database, which says where its own artifacts lie.
    """
    kept = _place()
    if kept is None:
        return
    with suppress(AblateError, OSError, sqlite3.Error), replacing(kept) as temporary:
        shutil.copyfile(database, temporary)
        with closing(sqlite3.connect(temporary)) as connection:
            connection.execute("DELETE FROM experiments")
            connection.commit()


def _place() -> Path | None:
    """Returns where the database of the installed MLflow is kept; None for a user without a home."""
    from mlflow.version import VERSION

    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not folder.is_absolute():
        try:
            folder = Path.home() / ".cache"
        except RuntimeError:
            return None
    return folder / "ablate" / f"mlflow-{VERSION}.db"
