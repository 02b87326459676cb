"""Studies to track, with real files, and what MLflow then holds, read with plain SQL."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_evidence import study as made

from ablate.core.events import TrialStored
from ablate.core.facts import Evidence, VariantFacts
from ablate.core.record import Curve, Record
from ablate.core.trial import Cell, Trial
from ablate.records.folder import CLAIM_COLUMNS, StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import Database
from ablate.tracking.sync import sync

# SQLAlchemy 2.1 deprecates what MLflow 3.17 uses in its models.
NOLOAD = "ignore:The ``noload`` loader strategy:DeprecationWarning"
TEXT = "# study\n\nWhy?\n\nWorse.\n"
PAGE = {"report.html": "<p>", "figures/a.svg": "<svg/>"}
STUDY = "name: {name}\ndesign: one_factor\nseeds: {seeds}\nmetric: {{name: accuracy}}\n"


def tracked(variant: str, seed: int, task: str = "recall", **changes: Any) -> TrialStored:
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
    record = Record(**{**fields, **changes})
    return TrialStored(cell_of(variant, seed, task, record.id), record)


def cell_of(variant: str, seed: int, task: str, trial: str) -> Cell:
    """The place of a trial in its study."""
    return Cell(
        variant, task, seed, Trial(trial, {}, seed), f"{variant} seed {seed}", {"model.norm": "layer"}
    )


def report(results, *events, study="study", cells=(), verdicts=("worse", "inconclusive"), page=PAGE, seeds=2):
    """The files that a run leaves: these records, a report, and the list of trials, with `cells` that were not run."""
    store, folder = Store(results / "store"), StudyFolder(results, study)
    for event in events:
        store.save(event.record)
    every = [*(event.cell for event in events), *cells]
    folder.begin(STUDY.format(name=study, seeds=seeds))
    folder.trial_list.add(every)
    names = dict.fromkeys(event.cell.variant for event in events)
    facts = replace(
        made({name: [0.5] for name in names or ["baseline"]}).facts,
        study=study,
        question="Why?",
        variants=[VariantFacts(name, {"model.norm": "layer"}, {}) for name in names],
        environment={"commit": "c0ffee", "dirty": True, "command": "ablate run study.yaml --seeds 2"},
    )
    rows = [(e.cell.id, e.cell.variant, e.cell.task, e.cell.seed, "completed") for e in events]
    trials = pd.DataFrame(rows, columns=["id", "variant", "task", "seed", "status"])
    curves = pd.DataFrame({"id": [], "step": [], "metric": [], "value": []})
    folder.save_evidence(Evidence(facts, trials, curves))
    judged = [{"variant": f"v{n}", "verdict": word, "exploratory": False} for n, word in enumerate(verdicts)]
    comparisons = pd.DataFrame([*judged, {"variant": "beside", "verdict": "better", "exploratory": True}])
    claims = pd.DataFrame(columns=list(CLAIM_COLUMNS))
    folder.save_verdicts({"comparisons.csv": comparisons, "claims.csv": claims})
    figures = "".join(f"![A figure.]({name})\n" for name in page if name.startswith("figures/"))
    folder.save_page({"report.md": TEXT + figures} | dict(page))
    folder.trial_list.keep_only(every)
    return folder


def track(results, *events, uri=None, status="FINISHED", **changes):
    """A whole run of a study, as far as MLflow is concerned; fails when MLflow is not up to date."""
    folder = report(results, *events, **changes)
    synced(folder, uri, status)
    return folder


def synced(folder, uri=None, status="FINISHED", warn=pytest.fail, wait=30):
    """Brings MLflow up to date, in this process."""
    store = Store(folder.results / "store")
    with Database(store.root, uri, warn).opened(wait) as client:
        try:
            sync(client, folder, store, status)
        finally:
            if client.tracking_uri.startswith("sqlite"):
                # MLflow keeps connections by name, and another file may have it soon.
                client._tracking_client.store.engine.dispose()


def query(results: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of MLflow's database."""
    with closing(sqlite3.connect(results / "store" / "mlflow.db")) as database:
        return database.execute(sql).fetchall()


def shown(results: Path) -> list[tuple[str, str]]:
    """Name and status of every run that MLflow shows, sorted by name."""
    return query(results, "SELECT name, status FROM runs WHERE lifecycle_stage = 'active' ORDER BY name")


def snapshot(results: Path, *, parent: bool = True) -> dict[str, list[tuple[Any, ...]]]:
    """All that MLflow holds of the runs that it shows, with or without the parent."""
    kept = "run_uuid IN (SELECT run_uuid FROM runs WHERE lifecycle_stage = 'active')"
    if not parent:
        kept += " AND run_uuid IN (SELECT run_uuid FROM tags WHERE key = 'ablate.trial')"
    tables = ("runs", "params", "tags", "latest_metrics", "metrics")
    return {
        table: sorted(query(results, f"SELECT * FROM {table} WHERE {kept}"), key=repr) for table in tables
    }


def told(results: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What MLflow says of the runs that it shows, by name: without the ids of runs, and without times of the parent."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for run, name, status in query(
        results, "SELECT run_uuid, name, status FROM runs WHERE lifecycle_stage = 'active'"
    ):
        of = f"WHERE run_uuid = '{run}'"
        found[name] = [
            (status,),
            *sorted(query(results, f"SELECT key, value FROM params {of}")),
            *sorted(query(results, f"SELECT key, value FROM tags {of} AND key != 'mlflow.parentRunId'")),
            *sorted(query(results, f"SELECT key, value, step, is_nan FROM metrics {of}")),
        ]
        for folder in (results / "store" / "artifacts").glob(f"*/{run}/artifacts"):
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            found[name] += [(str(path.relative_to(folder)), path.read_bytes()) for path in files]
    return found
