import shutil
from pathlib import Path

import pytest
from harness import with_database


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder in which nothing has been run, with an empty database of MLflow's."""
    return with_database(tmp_path / "results" / "store").parent


@pytest.fixture
def empty_database(tmp_path: Path) -> Path:
    """An empty database of MLflow's, to copy, because making one takes a second."""
    return Path(shutil.copy(with_database(tmp_path / "empty") / "mlflow.db", tmp_path / "empty.db"))
