import shutil
from pathlib import Path

import pytest

from ablate.tracking.database import ensure_database


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of MLflow's, to copy, because making one takes a second."""
    path = tmp_path_factory.mktemp("empty") / "mlflow.db"
    ensure_database(path, repair=True, warn=print)
    return path


@pytest.fixture
def results(tmp_path: Path, empty_database: Path) -> Path:
    """A results folder in which nothing has been run."""
    folder = tmp_path / "results"
    (folder / "store").mkdir(parents=True)
    shutil.copy(empty_database, folder / "store" / "mlflow.db")
    return folder
