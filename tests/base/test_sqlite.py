"""A SQLite file that the user names is new, or of the program that is to write there."""

import os
import sqlite3
from contextlib import closing

import pytest

from ablate.base.errors import AblateError
from ablate.base.sqlite import refuse_other_database


def database(path, *tables):
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (x)")
        connection.commit()
    return path.read_bytes()


def check(uri):
    refuse_other_database(str(uri), own_table="experiments", source="--tracking-uri")


def test_what_is_new_or_its_own_passes_and_is_left_as_it_is(tmp_path):
    own = database(tmp_path / "own.db", "experiments", "runs")
    (tmp_path / "empty.db").touch()
    database(tmp_path / "without_tables.db")
    (tmp_path / "link.db").symlink_to("own.db")
    for name in ("new.db", "empty.db", "without_tables.db", "own.db", "own.db?timeout=9", "link.db"):
        check(f"sqlite:///{tmp_path}/{name}")
    for uri in ("sqlite://", "sqlite:///:memory:", "postgresql://somewhere/db", "https://somewhere"):
        check(uri)
    assert (tmp_path / "own.db").read_bytes() == own
    assert not (tmp_path / "new.db").exists()


def test_another_programs_and_what_is_no_database_are_refused(tmp_path):
    other = database(tmp_path / "other.db", "people")
    (tmp_path / "thesis.txt").write_text("a" * 5000)
    os.mkfifo(tmp_path / "pipe")
    for name in ("other.db", "thesis.txt", "pipe", "."):
        with pytest.raises(AblateError):
            check(f"sqlite:///{tmp_path}/{name}")
    assert (tmp_path / "other.db").read_bytes() == other


def test_a_locked_one_is_left_to_its_program(tmp_path):
    database(tmp_path / "other.db", "people")
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        check(f"sqlite:///{tmp_path}/other.db")
