"""Records to track, and what MLflow then holds, read with plain SQL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from harness import with_database as with_database

from ablate.core.record import Curve, Record
from ablate.tracking.tracker import TrackedRun, Tracker

# SQLAlchemy 2.1 deprecates what MLflow 3.17 uses in its models.
NOLOAD = "ignore:The ``noload`` loader strategy:DeprecationWarning"


def tracked(variant: str, seed: int, task: str = "recall", **changes: Any) -> TrackedRun:
    """A finished trial, all of which follows from the arguments."""
    rng = np.random.default_rng([seed, *variant.encode()])
    steps = np.arange(100, 600, 100)
    config = {
        "task": {"name": task, "seq_len": 5},
        "model": {"d_model": 32, "mixer": {"name": "attention", "value": {"name": "low_rank", "rank": 8}}},
        "training": {"lr": 3e-3, "clip_norm": None},
    }
    fields: dict[str, Any] = {
        "id": f"{task}-{variant}-{seed}",
        "config": config,
        "seed": seed,
        "status": "completed",
        "metrics": {"accuracy": 0.75, "accuracy@far": 0.5, "unknown": None},
        "curves": {"accuracy": Curve(steps, rng.random(5)), "loss": Curve(steps, rng.random(5))},
        "environment": {"commit": "c0ffee", "dirty": False, "command": "ablate run study.yaml"},
        "started_at": "2026-01-02T03:04:05+00:00",
        "finished_at": "2026-01-02T03:04:15+00:00",
    }
    return TrackedRun(variant, task, seed, {"model.norm": "layer"}, Record(**{**fields, **changes}))


def track(store: Path, *runs: TrackedRun, study: str = "study", **finish: Any) -> Tracker:
    """One run of the driver, as far as MLflow is concerned; fails when MLflow is not up to date."""
    tracker = Tracker(study, store, finish.pop("uri", None), pytest_fail)
    tracker.start()
    for run in runs:
        tracker.add(run)
    arguments: dict[str, Any] = {
        "description": "**verdicts**",
        "params": {"metric": "accuracy"},
        "tags": {"commit": "c0ffee"},
        "metrics": {"trials": len(runs)},
        "artifacts": [],
        "current": [run.record.id for run in runs],
    }
    assert tracker.finish(**{**arguments, **finish})
    return tracker


def pytest_fail(message: str) -> None:
    raise AssertionError(message)


def query(store: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of MLflow's database."""
    with closing(sqlite3.connect(store / "mlflow.db")) as database:
        return database.execute(sql).fetchall()


def shown(store: Path) -> list[tuple[str, str]]:
    """Name and status of every run that MLflow shows, sorted by name."""
    return query(store, "SELECT name, status FROM runs WHERE lifecycle_stage = 'active' ORDER BY name")


def snapshot(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that MLflow holds of the nested runs that it shows."""
    nested = (
        "run_uuid IN (SELECT run_uuid FROM runs JOIN tags USING (run_uuid)"
        " WHERE tags.key = 'ablate.trial' AND lifecycle_stage = 'active')"
    )
    return {
        table: sorted(query(store, f"SELECT * FROM {table} WHERE {nested}"), key=repr)
        for table in ("runs", "params", "tags", "latest_metrics", "metrics")
    }
