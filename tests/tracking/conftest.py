from pathlib import Path

import pytest
from harness import with_database


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder in which nothing has been run, with an empty database of MLflow's."""
    return with_database(tmp_path / "results" / "store").parent
