"""MLflow brought up to date with one study: one parent run, and one nested run for each finished trial.

The tags of a run (study, trial) identify it. A trial's run is whole if it carries the digest of its content, which is
written last; any other is replaced, whatever interrupted it. So a sync that was killed is simply repeated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import quote

from ablate.core.cell import Cell
from ablate.core.record import Record
from ablate.records.folder import StudyFolder
from ablate.records.roster import digest_with_files, first_of_each
from ablate.records.store import Store
from ablate.tracking.content import (
    DIGEST_TAG,
    MAX_TAG,
    NOTE_TAG,
    PARENT_TAG,
    STUDY_TAG,
    TRIAL_TAG,
    Point,
    clean_key,
    content_of,
    cut,
    run_name,
    user,
)
from ablate.tracking.database import DATABASE, artifacts_uri, database_uri
from ablate.tracking.parent import COUNT, VIEW_TAG, Describe, Parent, parent_of

# How a study is shown: it trains, was interrupted, or has its report.
Status = Literal["RUNNING", "KILLED", "FINISHED"]
# The number of trials that could not be written after which MLflow counts as down.
_GIVE_UP_AFTER = 3


def sync(
    client: Any, folder: StudyFolder, store: Store, describe: Describe, status: Status = "FINISHED"
) -> None:
    """Brings MLflow up to date with a study; changes nothing if it already is.

    A `FINISHED` study has a report. Raises `AblateError`, and whatever MLflow raises when a server does not answer or
    a trial is refused, after writing the other trials.
    """
    parent = parent_of(folder, describe) if status == "FINISHED" else None
    cells = first_of_each(folder.cells()) if parent is None else parent.cells
    recorded = {trial for trial in cells if store.has(trial)}
    # Of published evidence the trials were run elsewhere; a study that was only timed has none.
    if not recorded and (parent is None or folder.has_trials):
        return
    runs = _Runs(client, folder.name, cells, own=client.tracking_uri == database_uri(store.root / DATABASE))
    known = runs.trials.keys()
    if parent is None:
        # What is finished is compared with its record once the report is there.
        recorded -= {trial for trial in known if runs.trials[trial].info.status == "FINISHED"}
        digest = ""
    else:
        records = [str(store.trials / f"{trial}.json") for trial in sorted(recorded)]
        digest = digest_with_files([parent.digest], records)
        if runs.are_whole(digest) and recorded <= known <= cells.keys():
            return
    runs.begin(parent, status)
    failures: list[Exception] = []
    for trial in sorted(recorded):
        try:
            if record := store.load(trial):
                runs.put(record)
        except Exception as error:
            failures.append(error)
            if len(failures) == _GIVE_UP_AFTER:
                raise
    if parent is not None:
        runs.finish(parent, digest)
    if failures:
        raise failures[-1]


class _Runs:
    """The runs of one study, read from MLflow once; what a kill or a hand has left over is removed in `begin`."""

    def __init__(self, client: Any, study: str, cells: Mapping[str, Cell], *, own: bool) -> None:
        """`own`: in the store's own database."""
        self.client, self.study, self.cells = client, study, cells
        several = len({cell.task for cell in cells.values()}) > 1
        self.names = {trial: run_name(cell, with_task=several) for trial, cell in cells.items()}
        self.experiment = self._experiment(own)
        self.parents, self.spare, self.trials = list[Any](), list[Any](), dict[str, Any]()
        order = ["attributes.start_time ASC"]
        for run in client.search_runs([self.experiment], max_results=50_000, order_by=order):
            tags = run.data.tags
            if tags.get(STUDY_TAG) != study:
                continue
            if TRIAL_TAG not in tags:
                self.parents.append(run)
            elif _digest(run) and tags[TRIAL_TAG] not in self.trials:
                self.trials[tags[TRIAL_TAG]] = run
            else:
                self.spare.append(run)

    def _experiment(self, own: bool) -> str:
        """The id of the study's experiment, which is made where there is none.

        Where our own database has moved with its folder, MLflow would look for artifacts at the old place, and cannot
        be told another one: the experiment gets another name and is removed, and all its runs are written anew.
        """
        found = self.client.get_experiment_by_name(self.study)
        root = artifacts_uri(self.client.tracking_uri)
        location = root and f"{root}/{quote('@'.join(map(clean_key, self.study.split('@'))))}"
        if found is not None and found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        if found is not None and own and found.artifact_location != location:
            self.client.rename_experiment(found.experiment_id, f"{self.study}, moved {_moment()}")
            self.client.delete_experiment(found.experiment_id)
            found = None
        if found is not None:
            return str(found.experiment_id)
        # Without the kind, the pages are those for language-model applications.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        return str(self.client.create_experiment(self.study, location, kind))

    def are_whole(self, digest: str) -> bool:
        """Whether MLflow has the parent with this digest, finished, and nothing is left over."""
        return not self.spare and [_digest(run) for run in self.parents] == [digest]

    def begin(self, wanted: Parent | None, status: Status) -> None:
        """Sees to it that there is one parent, `wanted` or of a study without a report, and nothing else."""
        shown = self.parents[0].data.params if self.parents and wanted is not None else {}
        if wanted is not None and any(wanted.params.get(key) != value for key, value in shown.items()):
            # MLflow has no other way to change a parameter.
            self.spare.append(self.parents.pop(0))
        self.parent = self.parents[0] if self.parents else self._start(self.study, {}, _moment())
        for run in (*self.spare, *self.parents[1:]):
            self.client.delete_run(run.info.run_id)
        if status == "RUNNING":
            self.client.update_run(self.parent.info.run_id, status)
        elif status == "KILLED":
            self.client.set_terminated(self.parent.info.run_id, status, _moment(self.parent))

    def put(self, record: Record) -> None:
        """Writes the run of a trial, unless MLflow has it whole."""
        content = content_of(self.study, self.cells[record.id], record)
        known = self.trials.get(record.id)
        if known is not None:
            if _digest(known) == content.digest:
                return
            self.client.delete_run(self.trials.pop(record.id).info.run_id)
        tags = {**content.tags, PARENT_TAG: self.parent.info.run_id}
        run = self._start(self.names[record.id], tags, content.start)
        number = run.info.run_id
        # At once, so that no kill leaves it running.
        self.client.set_terminated(number, content.status, content.end)
        for file, text in content.texts.items():
            self.client.log_text(number, text, file)
        self._log(number, content.points, content.params, {})
        self.client.set_tag(number, DIGEST_TAG, content.digest)
        self.trials[record.id] = run

    def finish(self, parent: Parent, digest: str) -> None:
        """Completes the parent, and removes the runs of trials that the study no longer refers to."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        number, before, now = self.parent.info.run_id, self.parent.data.metrics, _moment(self.parent)
        for trial, run in self.trials.items():
            self._arrange(trial, run, parent.measured.get(trial, {}), now)
        kept = get_artifact_repository(self.parent.info.artifact_uri, self.client.tracking_uri)
        for path in parent.artifacts:
            if path.is_dir():
                # Files of an earlier report must go, unless the store cannot remove files.
                with suppress(Exception):
                    kept.delete_artifacts(path.name)
            self.client.log_artifact(number, str(path))
        # A verdict that no comparison has any more counts as 0.
        counts = {key: 0.0 for key in before if key.startswith(COUNT)} | dict(parent.metrics)
        points = [(key, value, now, 0) for key, value in counts.items() if before.get(key) != value]
        note = cut(parent.description, MAX_TAG)
        tags = {**parent.tags, "mlflow.user": user(), NOTE_TAG: note, DIGEST_TAG: digest}
        self._log(number, points, parent.params, tags)
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, note)
        self.client.set_experiment_tag(self.experiment, VIEW_TAG, parent.view)
        self.client.set_terminated(number, "FINISHED", now)

    def _arrange(self, trial: str, run: Any, measured: Mapping[str, float], now: int) -> None:
        """Nests the run of a trial under the parent, by its name, and with what was measured of its variant since."""
        number = run.info.run_id
        if trial not in self.cells:
            self.client.delete_run(number)
            return
        if run.data.tags[PARENT_TAG] != self.parent.info.run_id:
            self.client.set_tag(number, PARENT_TAG, self.parent.info.run_id)
        if run.info.run_name != self.names[trial]:
            self.client.update_run(number, name=self.names[trial])
        shown = run.data.metrics
        self._log(
            number,
            [(key, value, now, 0) for key, value in measured.items() if shown.get(key) != value],
            {},
            {},
        )

    def _start(self, name: str, tags: Mapping[str, str], start: int) -> Any:
        tags = {STUDY_TAG: self.study, "mlflow.user": user(), **tags}
        return self.client.create_run(self.experiment, start, tags, name)

    def _log(
        self, run: str, points: Iterable[Point], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        metrics, given = [Metric(*point) for point in points], [Param(*param) for param in params.items()]
        self.client.log_batch(run, metrics, given, [RunTag(*tag) for tag in tags.items()])


def _digest(run: Any) -> str:
    """Of the content of a run; "" for one that is not whole."""
    return str(run.data.tags.get(DIGEST_TAG, "")) if run.info.status in ("FINISHED", "FAILED") else ""


def _moment(run: Any = None) -> int:
    """Returns now in milliseconds since 1970, but later than all of a `run`, even if the clock was set back.

    MLflow takes the metric with the latest time as the last one, and would show a run that ends before it starts.
    """
    latest = 0 if run is None else max(run.info.start_time or 0, run.info.end_time or 0)
    return max(int(time.time() * 1000), latest + 1)
