"""Brings MLflow up to date with the folder of one study and the store, which hold everything that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.tracking.database import (
    DATABASE,
    artifacts_uri,
    database_path,
    database_uri,
    ensure_database,
    first_line,
    import_mlflow,
    quiet,
    sole_writer,
)
from ablate.tracking.parent import Describe, parent_of
from ablate.tracking.runs import StudyRuns

BATCH = 100
"""Trials that are written at once."""


@contextmanager
def study_runs(
    study: str, store: Path, uri: str | None, timeout: float, warn: Callable[[str], None]
) -> Iterator[StudyRuns]:
    """The runs of `study`, for its only writer; MLflow's database is made when there is none or it is damaged.

    `timeout` is how long to wait, in seconds, for another writer of the same study. Raises `StoreError`, and
    whatever MLflow raises when a server does not answer.
    """
    own = (store / DATABASE).resolve()
    uri = uri or database_uri(own)
    database = database_path(uri)
    with quiet(), sole_writer(store, study, timeout):
        made = database is not None and ensure_database(database, repair=database == own, warn=warn)
        client = import_mlflow()(tracking_uri=uri)
        try:
            runs = StudyRuns(client, study, artifacts_uri(database) if database is not None else None)
            runs.alone = made and database == own
            yield runs
        finally:
            if database is not None:
                client._tracking_client.store.engine.dispose()


def sync(
    folder: StudyFolder,
    store: Store,
    describe: Describe,
    warn: Callable[[str], None],
    uri: str | None = None,
    timeout: float = 0.2,
) -> None:
    """Brings MLflow up to date with a study that has a report; changes nothing if it already is.

    `timeout` is how long to wait, in seconds, for another writer of the same study. Raises `StoreError`, and whatever
    MLflow raises when a server does not answer or a trial is refused, after writing the other trials.
    """
    parent = parent_of(folder, describe)
    recorded = {trial for trial in parent.cells if store.has(trial)}
    if not recorded and folder.has_trials:
        return  # published evidence, whose trials were run elsewhere; a study that was only timed has none
    with study_runs(folder.name, store.root, uri, timeout, warn) as runs:
        if runs.is_current(parent, recorded):
            return
        with runs.running():
            cells = list(parent.cells.values())
            runs.put_all(
                [
                    (cell, record)
                    for cell in cells[start : start + BATCH]
                    if (record := store.load(cell.id)) is not None
                ]
                for start in range(0, len(cells), BATCH)
            )
            gone = {cell.id for _, cell, _ in folder.rows() if not store.has(cell.id)}
            if gone:
                warn(
                    f"{folder.path}: {len(gone)} of {len(parent.cells)} trials are no longer in {store.root}; "
                    "MLflow keeps what it has"
                )
            runs.finish(parent)


def sync_all(
    folders: Iterable[StudyFolder], store: Store, describe: Describe, warn: Callable[[str], None]
) -> None:
    """Brings the store's MLflow database up to date with those studies that have a report.

    A study that is running is left to its own driver; one that cannot be read is reported and skipped.
    """
    for folder in folders:
        try:
            if folder.has_report:
                sync(folder, store, describe, warn)
        except Exception as error:
            warn(f"{folder.path}: MLflow is not up to date: {first_line(error)}")
