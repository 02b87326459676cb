"""Runs that are written at once are those that MLflow's client writes, row by row."""

import math
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from mlflow_helpers import NOLOAD, query, told, track, tracked

from ablate.core.events import Finished
from ablate.core.record import Curve
from ablate.tracking import batch

pytestmark = pytest.mark.filterwarnings(NOLOAD)

STEPS = np.arange(0, 1500)
NONE = Curve(STEPS[:0], np.array([]))
RUNS = [
    tracked("baseline", 0, output="printed ½", error="Traceback …"),
    tracked("baseline", 1, status="failed", error="Traceback", metrics={}, curves={}, reason="no"),
    tracked("baseline", 2, status="diverged", reason="diverged: no", metrics={"accuracy": None}),
    tracked("größe=½", 3, metrics={"accuracy": 1, "loss": -math.inf, "a@far (b)": 0.5}),
    tracked("nan", 4, curves={"loss": Curve(STEPS, np.where(STEPS % 2, np.nan, STEPS)), "none": NONE}),
    tracked(
        "ends in nan",
        5,
        metrics={},
        curves={"loss": Curve(np.array([1, 3, 2]), np.array([1.0, np.nan, np.inf]))},
    ),
    tracked("bare", 6, config={}, metrics={}, curves={}, environment={}, finished_at=""),
    tracked("long", 7, config={"notes": "x" * 10_000, "of": {"deep": {"name": "n", "list": [1, None]}}}),
    tracked("much said", 8, error="e\n" * 9_000),
]


def rows(results: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every column of every row, with a run's name for its id, and without the parent."""
    names = dict(query(results, "SELECT run_uuid, name FROM runs"))
    found: dict[str, list[tuple[object, ...]]] = {}
    with closing(sqlite3.connect(results / "store" / "mlflow.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            content = database.execute(f"SELECT * FROM {table}")
            columns = [column[0] for column in content.description]
            if "run_uuid" in columns:
                of = columns.index("run_uuid")
                kept = [row for row in content.fetchall() if names[row[of]] != "study"]
                found[table] = sorted(
                    [tuple(_named(value, names) for value in row) for row in kept], key=repr
                )
    return found


def _named(value: object, names: dict[str, str]) -> object:
    for run, name in names.items():
        value = value.replace(run, name) if isinstance(value, str) else value
    return value


def written(results: Path, runs: list[Finished]) -> tuple[dict[str, list[tuple[object, ...]]], object]:
    folder = results.rename(results.parent / "results")
    track(folder, *runs)
    found = rows(folder), told(folder)
    folder.rename(results)
    return found


def test_the_models_are_those_that_are_known() -> None:
    assert batch.fits()


def test_the_rows_are_those_of_the_client(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(results, tmp_path / "other")
    at_once, said = written(results, RUNS)
    shutil.move(results, tmp_path / "first")
    (tmp_path / "other").rename(results)
    monkeypatch.setattr("ablate.tracking.runs.fits", lambda: False)
    one_by_one, said_by_it = written(results, RUNS)
    assert at_once.keys() >= {"runs", "tags", "params", "metrics", "latest_metrics"}
    assert len(at_once["runs"]) == len(RUNS)
    assert at_once == one_by_one
    assert said == said_by_it


def test_other_models_are_left_to_the_client(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a later version might be."""
    monkeypatch.setitem(batch.COLUMNS, "SqlTag", {"key", "value", "run_uuid", "colour"})
    assert not batch.fits()
    track(results, RUNS[0])
    assert len(rows(results)["runs"]) == 1
