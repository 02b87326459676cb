"""The runs of an MLflow experiment, as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

import pandas as pd

from ablate.base.errors import AblateError, Gather, listed, nearest
from ablate.base.files import unreadable
from ablate.base.sqlite import path_of
from ablate.base.text import first_line, masked
from ablate.runs.reader import RunsFound
from ablate.runs.tables import as_text
from ablate.tracking.database import check_uri, import_client

ANSWER_SECONDS = 15.0
"""Seconds within which a tracking server must say whether it has an experiment; a file takes as long as it takes."""
READING_SECONDS = 600.0
"""Seconds within which it must have sent all runs."""

Answer = TypeVar("Answer")


def read_experiment(name: str, uri: str) -> RunsFound:
    """Returns the runs of an MLflow experiment, without those that have runs below them.

    Columns: `params.X`, `tags.X`, and the last value of each metric as `metrics.X`. Reads, and makes no database.
    """
    check_uri(uri)
    database = path_of(uri)
    if database is not None:
        _refuse_missing(database)
    client_class = import_client()
    import mlflow
    from mlflow.store.tracking import sqlalchemy_store  # noqa: F401 - else imported while the server's time runs

    def open_experiment() -> tuple[str | None, list[str]]:
        """Returns the stage of the experiment's life, None where there is no such experiment; and the others' names."""
        mlflow.set_tracking_uri(uri)
        client = client_class(uri)
        experiment = client.get_experiment_by_name(name)
        if experiment is not None:
            return experiment.lifecycle_stage, []
        return None, [other.name for other in client.search_experiments()]

    stage, others = _answered(uri, ANSWER_SECONDS, open_experiment)
    with Gather() as at:
        hint = nearest(name, others) or "Name one that exists, or another --tracking-uri"
        at.refuse(stage is None, "RUNS", "is not an experiment at --tracking-uri", name, listed(others), hint)
        at.refuse(
            stage == "deleted", "RUNS", "is a deleted experiment", name, hint="Restore it in MLflow first"
        )
    table = _answered(uri, READING_SECONDS, lambda: mlflow.search_runs(experiment_names=[name]))
    runs = pd.DataFrame(table).set_index("run_id")
    with Gather() as at:
        hint = "Deleted runs do not count: restore them in MLflow first"
        at.refuse(runs.empty, "RUNS", "is an experiment without runs", name, hint=hint)
    parents = runs.get("tags.mlflow.parentRunId", [])
    runs = runs[~runs.index.isin(parents)].rename_axis(None)
    return RunsFound(runs.map(as_text), "an experiment of MLflow", roles={"status": ["status"]})


def _refuse_missing(path: Path) -> None:
    """Raises `AblateError` for a SQLite file without content, of which MLflow would make a database."""
    fault = unreadable(path, sys.maxsize)
    if fault is None and path.stat().st_size == 0:
        fault = "is empty"
    if fault is not None:
        raise AblateError(f"--tracking-uri: {path}: {fault}; name a database of MLflow's")


def _answered(uri: str, seconds: float, ask: Callable[[], Answer]) -> Answer:
    """Returns what MLflow answers. Raises `AblateError` where it refuses, or says nothing for so many seconds.

    MLflow's own limits are those of one read, so that a server which sends a byte a second would never end.
    """
    answers: Queue[Answer | Exception] = Queue()

    def put_answer() -> None:
        try:
            answers.put(ask())
        except Exception as error:
            answers.put(error)

    is_server = "://" in uri and path_of(uri) is None and not uri.startswith("file:")
    Thread(target=put_answer, daemon=True).start()
    place = f"--tracking-uri: {masked(uri)}"
    try:
        answer = answers.get(timeout=seconds if is_server else None)
    except Empty:
        raise AblateError(
            f"{place}: has not answered within {seconds:.0f} s; start the server, or name another one"
        ) from None
    if isinstance(answer, Exception):
        raise AblateError(f"{place}: cannot be read ({first_line(answer)}); repair it, or name another one")
    return answer
