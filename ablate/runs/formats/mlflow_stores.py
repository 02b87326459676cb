"""Where MLflow keeps runs: a folder of files, a SQLite file, a server. Files are read from copies, never written.

MLflow itself makes a folder in the folder that it reads, and tables in a database of another version.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import unreadable
from ablate.base.scratch import scratch
from ablate.base.sqlite import SQLITE, database_uri, path_of
from ablate.base.text import first_line
from ablate.tracking.database import check_uri, import_client

_ALLOWED = "MLFLOW_ALLOW_FILE_STORE"
"""The variable without which MLflow has refused its own folders since 3.13."""
_HEADER = b"SQLite format 3\0"
_RUN = re.compile(r"[0-9a-f]{32}")
_PARTS = ("params", "metrics", "tags")
"""The folders of a run that are read."""
_IDENTITY = re.compile(rb"^experiment_id: *['\"]?([^'\"\r\n]*)", re.MULTILINE)
_MAX_BYTES = 2**28
"""The most bytes of a file of a run."""
_EXPERIMENT = re.compile(rb"^(experiment_id|lifecycle_stage):", re.MULTILINE)


def is_uri(runs: str) -> bool:
    """Returns whether RUNS is the address of a server, database or folder of MLflow's."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", runs) is not None


def store_of(folder: Path) -> tuple[Path, str] | None:
    """Returns MLflow's folder that a path names, and the id of the experiment in it that it names, or no id.

    None for another folder. A path may name the folder of all experiments, or that of one.
    """
    if _is_experiment(folder):
        return folder.resolve().parent, folder.resolve().name
    try:
        children = [child for child in folder.iterdir() if child.is_dir()]
    except OSError:
        return None
    return (folder, "") if any(_is_experiment(child) for child in children) else None


def is_database(path: Path) -> bool:
    """Returns whether a file is a SQLite database, by its first bytes."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False


@contextmanager
def readable(uri: str) -> Iterator[str]:
    """Yields the URI from which a store can be read without writing there. Raises `AblateError`."""
    check_uri(uri)
    database, folder = path_of(uri), _folder_of(uri)
    if database is not None:
        _refuse_missing(database)
        with scratch("tracked") as copy:
            yield _copied_database(database, Path(copy) / "mlflow.db")
    elif folder is not None:
        with scratch("tracked") as copy, _file_store_allowed():
            _link_runs(folder, Path(copy))
            yield Path(copy).as_uri()
    else:
        yield uri


def _folder_of(uri: str) -> Path | None:
    """Returns the folder that a URI names; None for a server or database."""
    if uri.startswith("file:"):
        return Path(uri.removeprefix("file:").removeprefix("//"))
    return Path(uri) if ":" not in uri and uri != "databricks" else None


def _is_experiment(folder: Path) -> bool:
    """Returns whether a folder has the file that describes an experiment."""
    described = folder / "meta.yaml"
    try:
        return described.is_file() and len({*_EXPERIMENT.findall(described.read_bytes()[:65536])}) == 2
    except OSError:
        return False


def _refuse_missing(path: Path) -> None:
    """Raises `AblateError` for a SQLite file without content, of which MLflow would make a database."""
    fault = unreadable(path, sys.maxsize)
    if fault is None and path.stat().st_size == 0:
        fault = "is empty"
    if fault is not None:
        raise AblateError(f"{SQLITE}{path}: {fault}; name a database of MLflow's")


def _copied_database(path: Path, copy: Path) -> str:
    """Returns the URI of a copy of a database, with the tables of the installed MLflow. Raises `AblateError`."""
    import_client()
    from mlflow.store.db.utils import _upgrade_db, create_sqlalchemy_engine

    source = f"{path.resolve().as_uri()}?mode=ro"
    uri = database_uri(copy)
    try:
        with closing(sqlite3.connect(source, uri=True)) as original, closing(sqlite3.connect(copy)) as target:
            original.backup(target)
        engine = create_sqlalchemy_engine(uri)
        _upgrade_db(engine)
        engine.dispose()
    except Exception as error:  # Whatever SQLite, SQLAlchemy and the migrations of MLflow raise.
        raise AblateError(
            f"{SQLITE}{path}: cannot be read ({first_line(error)}); repair it, or install the MLflow that wrote it"
        ) from None
    return uri


@contextmanager
def _file_store_allowed() -> Iterator[None]:
    """Lets MLflow read its own folders, and leaves the environment as it was."""
    before = os.environ.get(_ALLOWED)
    os.environ[_ALLOWED] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ALLOWED]
        else:
            os.environ[_ALLOWED] = before


def _link_runs(folder: Path, copy: Path) -> None:
    """Makes a folder of MLflow's whose runs are links to those of another. Raises `AblateError` for a broken run.

    MLflow would leave out a run that it cannot read. Artifacts are not read.
    """
    for experiment in sorted(folder.resolve().iterdir()):
        if not _is_experiment(experiment):
            continue
        target = copy / experiment.name
        target.mkdir()
        (target / "meta.yaml").symlink_to(experiment / "meta.yaml")
        for run in sorted(experiment.iterdir()):
            if _RUN.fullmatch(run.name):
                _refuse_broken(run, experiment.name)
                _link_run(run, target / run.name)


def _refuse_broken(run: Path, experiment_id: str) -> None:
    """Raises `AblateError` for a run that MLflow would leave out, and for files that have no end."""
    described = run / "meta.yaml"
    files = [described]
    for name in _PARTS:
        files += [path for path in (run / name).rglob("*") if not path.is_dir()]
    for path in files:
        fault = unreadable(path, _MAX_BYTES)
        if path == described and fault is None:
            match = _IDENTITY.search(path.read_bytes())
            if match is None:
                fault = "does not say of which experiment the run is"
            elif match[1].decode(errors="replace") != experiment_id:
                fault = f"says that the run is of another experiment than the folder, {experiment_id}"
        if fault is not None:
            raise AblateError(f"{path}: {fault}; repair the run, or remove its folder {run}")


def _link_run(run: Path, target: Path) -> None:
    """Makes the folder of a run with links to what is read of it."""
    (target / "artifacts").mkdir(parents=True)
    (target / "meta.yaml").symlink_to(run / "meta.yaml")
    for name in _PARTS:
        if (run / name).is_dir():
            (target / name).symlink_to(run / name)
        else:  # Neither git nor every archive keeps empty folders.
            (target / name).mkdir()
