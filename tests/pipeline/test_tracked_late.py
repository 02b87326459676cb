"""A run whose MLflow is behind: its report is kept as up to date, and later runs complete MLflow."""

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from harness import TOY_STUDY, run_here

from ablate.records.folder import StudyFolder
from ablate.tracking import tracker

NOLOAD = "ignore:The ``noload`` loader strategy:DeprecationWarning"
pytestmark = [pytest.mark.filterwarnings(NOLOAD), pytest.mark.usefixtures("tracking")]


def trials(results: Path) -> int:
    """How many trials MLflow shows."""
    sql = "SELECT count(*) FROM runs JOIN tags USING (run_uuid) WHERE key = 'ablate.trial'"
    with closing(sqlite3.connect(results / "store/mlflow.db")) as database:
        return database.execute(sql).fetchone()[0]


@pytest.mark.slow
def test_a_report_is_cached_although_mlflow_is_behind_and_a_later_run_completes_it(tmp_path, monkeypatch):
    study, results = tmp_path / "study.yaml", tmp_path / "results"
    study.write_text(TOY_STUDY)
    folder = StudyFolder(results, "toy")

    def run(limit: float) -> str:
        monkeypatch.setattr(tracker, "FINAL_LIMIT", limit)
        return re.sub(r"\s+", " ", run_here(study)[1])

    began = time.monotonic()
    first = run(0.0)
    took = time.monotonic() - began
    assert first.count("Nothing is lost") == 1
    assert "`ablate ui` completes it" in first
    overhead = folder.trial_list.report().overhead
    assert overhead.start > 0
    assert 0 < overhead.report < took
    assert folder.trial_list.report().lacks_tracking

    again = run(0.0)
    assert "Nothing to train" in again
    assert again.count("Nothing is lost") == 1
    assert folder.trial_list.report().lacks_tracking
    monkeypatch.setenv("ABLATE_TRACKING", "off")
    assert "MLflow is" not in run(0.0)
    assert folder.trial_list.report().lacks_tracking
    monkeypatch.delenv("ABLATE_TRACKING")

    assert "MLflow is up to date." in run(150.0)
    assert trials(results) == 9
    noted = folder.trial_list.report()
    assert not noted.lacks_tracking
    assert noted.overhead == overhead
    assert len(noted.trials) == len(folder.trial_list.cells()) == 9
    monkeypatch.setattr(tracker, "Tracker", None)
    assert "MLflow is" not in run(0.0)
