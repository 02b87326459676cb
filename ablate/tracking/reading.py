"""What MLflow has of a study's runs, as far as a sync must know it: their status, and a few tags.

MLflow's own search loads all parameters, metrics and tags of each run, 2 ms a run. Of a SQLite file the few columns are
read as they are, a hundred times as fast; nothing is ever written there but by MLflow's client.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.sqlite import path_of
from ablate.tracking.content import DIGEST_TAG, PARENT_TAG, REPORT_TAG, STUDY_TAG, TRIAL_TAG

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_TAGS = (STUDY_TAG, TRIAL_TAG, PARENT_TAG, DIGEST_TAG, REPORT_TAG)
# The statuses of a run that has ended as it was to end.
_ENDED = ("FINISHED", "FAILED")
# The most runs that a server is asked for at once.
_PAGE = 1000
_SELECT = f"""
SELECT runs.run_uuid, runs.status, tags.key, tags.value FROM runs JOIN tags ON tags.run_uuid = runs.run_uuid
WHERE runs.experiment_id = ? AND runs.lifecycle_stage = 'active' AND tags.key IN ({", ".join("?" * len(_TAGS))})
ORDER BY runs.start_time, runs.run_uuid
"""


@dataclass
class TrackedRun:
    """A run of a study in MLflow."""

    id: str
    status: str
    # Those of `_TAGS` that it has.
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def trial(self) -> str | None:
        """The id of its trial; None for a parent."""
        return self.tags.get(TRIAL_TAG)

    @property
    def key(self) -> str:
        """The digest with which it is whole; "" of a run that is not."""
        return self.tags.get(DIGEST_TAG, "") if self.status in _ENDED else ""


def runs_of_study(client: MlflowClient, experiment: str, study: str) -> list[TrackedRun]:
    """Returns the runs of a study that MLflow shows in an experiment, the earliest first."""
    database = path_of(client.tracking_uri)
    runs = _searched(client, experiment) if database is None else _selected(database, experiment)
    return [run for run in runs if run.tags.get(STUDY_TAG) == study]


def _selected(database: Path, experiment: str) -> list[TrackedRun]:
    """Returns the runs of an experiment in a SQLite file of MLflow's."""
    address = f"{database.resolve().as_uri()}?mode=ro"
    runs: dict[str, TrackedRun] = {}
    with closing(sqlite3.connect(address, uri=True)) as connection:
        for run_id, status, key, value in connection.execute(_SELECT, (int(experiment), *_TAGS)):
            run = runs.setdefault(run_id, TrackedRun(run_id, status))
            run.tags[key] = value
    return list(runs.values())


def _searched(client: MlflowClient, experiment: str) -> Iterator[TrackedRun]:
    """Yields the runs of an experiment as a server tells of them."""
    token: str | None = None
    order = ["attributes.start_time ASC"]
    while True:
        page = client.search_runs([experiment], max_results=_PAGE, order_by=order, page_token=token)
        for run in page:
            yield TrackedRun(run.info.run_id, run.info.status, relevant(run.data.tags))
        token = page.token
        if not token:
            return


def relevant(tags: Mapping[str, str]) -> dict[str, str]:
    """Returns those of a run's tags that a sync must know."""
    return {key: value for key, value in tags.items() if key in _TAGS}
