"""SQLite files that the user names: new ones, or those of the program that is to write there."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ablate.base.errors import AblateError, listed
from ablate.base.files import destination

SQLITE = "sqlite:///"
WAIT_SECONDS = 1.0  # For another process that writes to a database.


def database_uri(path: Path) -> str:
    """Returns the URI of a SQLite file, as SQLAlchemy has it."""
    return f"{SQLITE}{path.resolve()}"


def path_of(uri: str) -> Path | None:
    """Returns the file that a URI of SQLAlchemy's names; None of another database, or of one in memory."""
    if not uri.startswith(SQLITE):
        return None
    name = uri.removeprefix(SQLITE).partition("?")[0]
    return Path(name) if name not in ("", ":memory:") else None


def refuse_other_database(uri: str, *, own_table: str, source: str) -> None:
    """Raises `AblateError` where a URI names a file that is no database, or one without the program's own table.

    own_table: a table that each database of the program has. source: the option that has the URI. A database that
    cannot be read now, as a locked one, is left to the program.
    """
    named = path_of(uri)
    if named is None:
        return
    path = destination(named)
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        address = f"{path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            raise AblateError(f"{source}: {named} is no SQLite database; name another file") from None
        return
    tables = sorted(name for (name,) in rows)
    if tables and own_table not in tables:
        raise AblateError(
            f"{source}: {named} is the database of another program, with the tables {listed(tables, 4)}; name another "
            "file"
        )
