"""MLflow brought up to date with one study: one parent run, and one nested run for each finished trial.

The tags of a run (study, trial) identify it. A trial's run is whole if it carries the digest of its content, which is
written last; any other is replaced, whatever interrupted it. So a sync that was killed is simply repeated.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Container, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from ablate.base.files import digest_of_data, digest_of_file
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import first_of_each
from ablate.study.document import read_document
from ablate.tracking.content import (
    COUNT,
    DIGEST_TAG,
    NOTE_TAG,
    PARENT_TAG,
    STUDY_TAG,
    TABLES_TAG,
    TRIAL_TAG,
    Content,
    Parent,
    Point,
    content_of,
    parent_of,
    run_name,
    user,
    variant_labels,
    variant_of,
)
from ablate.tracking.database import DATABASE, artifacts_uri, database_uri
from ablate.tracking.view import VIEW_TAG

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

# How a study is shown: it trains, was interrupted, or has its report.
Status = Literal["RUNNING", "KILLED", "FINISHED"]


def sync(client: MlflowClient, folder: StudyFolder, store: Store, status: Status = "FINISHED") -> None:
    """Brings MLflow up to date with a study; changes nothing if it already is.

    A `FINISHED` study has a report. Raises `AblateError`, and whatever MLflow raises when a server does not answer or
    a trial is refused, after writing the other trials.
    """
    report = parent_of(folder) if status == "FINISHED" else None
    cells = first_of_each(folder.cells())
    recorded = {trial_id for trial_id in cells if store.has(trial_id)}
    # The trials of published evidence were run elsewhere; a study that was only timed has none.
    if not recorded and (report is None or folder.has_trials):
        return

    runs = _Runs(client, folder.name, own=client.tracking_uri == database_uri(store.root / DATABASE))
    if report is None:
        runs.begin(status, cells)
        # A finished run is compared with its record once the report is there.
        failures = _put_trials(runs, folder, store, cells, recorded - runs.finished)
    else:
        digest = _digest_of_report(report, store, recorded)
        if runs.is_whole(digest) and recorded <= runs.trials.keys() <= cells.keys():
            return
        runs.begin(status, cells)
        failures = _put_trials(runs, folder, store, cells, recorded)
        runs.finish(report, digest)
    if failures:
        raise failures[-1]


def _put_trials(
    runs: _Runs, folder: StudyFolder, store: Store, cells: Mapping[str, Cell], trial_ids: Collection[str]
) -> list[Exception]:
    """Writes the runs of these trials, and returns the errors of those that were refused."""
    names = read_document(folder.study_file).data.get("labels") or {}
    labels = variant_labels(cells.values(), names)
    has_several_tasks = len({cell.task for cell in cells.values()}) > 1
    failures: list[Exception] = []
    for trial_id in sorted(trial_ids):
        try:
            record = store.load(trial_id)
            if record is not None:
                cell = cells[trial_id]
                label = labels[variant_of(cell)]
                name = run_name(cell, label, task=has_several_tasks)
                runs.put(trial_id, content_of(cell, record, name=name, label=label))
        except Exception as error:
            failures.append(error)
    return failures


def _digest_of_report(report: Parent, store: Store, recorded: Iterable[str]) -> str:
    """Returns the digest of all that a parent shows, and of the records of the study's trials."""
    sources = []
    for path in report.artifacts:
        sources += [file for file in (path, *sorted(path.rglob("*"))) if file.is_file()]
    sources += [store.trials / f"{trial_id}.json" for trial_id in sorted(recorded)]
    names = [file.name for file in sources]
    digests = [digest_of_file(str(file)) for file in sources]
    shown = [report.note, report.tags, report.metrics, report.tables, report.view, names]
    return digest_of_data([shown, digests])


class _Runs:
    """The runs of one study, read from MLflow once.

    `trials` are the runs of trials by their ids; `spare` are those that a kill or a hand has left over, which `begin`
    removes.
    """

    def __init__(self, client: MlflowClient, study: str, *, own: bool) -> None:
        """`own`: whether the client writes to the store's own database."""
        self.client = client
        self.study = study
        self.experiment = self._experiment(own)
        self.parent: Run | None = None
        self.trials: dict[str, Run] = {}
        self.spare: list[Run] = []
        order = ["attributes.start_time ASC"]
        for run in client.search_runs([self.experiment], max_results=50_000, order_by=order):
            if run.data.tags.get(STUDY_TAG) == study:
                self._sort_in(run)

    def _sort_in(self, run: Run) -> None:
        """Takes a run of the study for the parent, for that of a trial, or for a spare one."""
        trial_id = run.data.tags.get(TRIAL_TAG)
        if trial_id is None and self.parent is None:
            self.parent = run
        elif trial_id is not None and trial_id not in self.trials and _digest(run):
            self.trials[trial_id] = run
        else:
            self.spare.append(run)

    def _experiment(self, own: bool) -> str:
        """Returns the id of the study's experiment, which is made where there is none.

        Where our own database has moved with its folder, MLflow would look for artifacts at the old place, and cannot
        be told another one: the experiment gets another name and is removed, and all its runs are written anew.
        """
        experiment = self.client.get_experiment_by_name(self.study)
        location = self._location_of_artifacts()
        if experiment is not None and experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        if experiment is not None and own and experiment.artifact_location != location:
            self.client.rename_experiment(experiment.experiment_id, f"{self.study}, moved {_now()}")
            self.client.delete_experiment(experiment.experiment_id)
            experiment = None
        if experiment is not None:
            return str(experiment.experiment_id)

        # Without the kind, the pages are those for language-model applications.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        return str(self.client.create_experiment(self.study, location, kind))

    def _location_of_artifacts(self) -> str | None:
        """Returns where the artifacts of the study go; None where a server decides."""
        root = artifacts_uri(self.client.tracking_uri)
        if root is None:
            return None
        folder = quote(re.sub(r"[^@.\w-]", "_", self.study))
        return f"{root}/{folder}"

    @property
    def finished(self) -> set[str]:
        """The ids of the trials whose runs are finished."""
        return {trial_id for trial_id, run in self.trials.items() if run.info.status == "FINISHED"}

    def is_whole(self, digest: str) -> bool:
        """Returns whether the parent is finished with this digest, and no run is left over."""
        return not self.spare and self.parent is not None and _digest(self.parent) == digest

    def begin(self, status: Status, cells: Container[str]) -> None:
        """Makes sure that there is one parent run, with a status; removes runs that no cell has any more."""
        if self.parent is None:
            self.parent = self._start(self.study, {}, _now())
        obsolete = [*self.spare]
        if status == "FINISHED":
            obsolete += [run for trial_id, run in self.trials.items() if trial_id not in cells]
        for run in obsolete:
            self.client.delete_run(run.info.run_id)
        if status == "RUNNING":
            self.client.update_run(self.parent.info.run_id, status)
        elif status == "KILLED":
            self.client.set_terminated(self.parent.info.run_id, status, _now(self.parent))

    def put(self, trial_id: str, content: Content) -> None:
        """Writes the run of a trial, unless MLflow has it whole; `begin` comes before."""
        assert self.parent is not None
        parent_id = self.parent.info.run_id
        previous = self.trials.pop(trial_id, None)
        if previous is not None:
            if _digest(previous) == content.digest and previous.data.tags.get(PARENT_TAG) == parent_id:
                return
            self.client.delete_run(previous.info.run_id)

        run = self._start(content.name, {**content.tags, PARENT_TAG: parent_id}, content.start)
        run_id = run.info.run_id
        # At once, so that no kill leaves it running.
        self.client.set_terminated(run_id, content.status, content.end)
        for file, text in content.texts.items():
            self.client.log_text(run_id, text, file)
        self._log(run_id, content.points, content.params, {})
        self.client.set_tag(run_id, DIGEST_TAG, content.digest)

    def finish(self, report: Parent, digest: str) -> None:
        """Completes the parent; `begin` comes before."""
        assert self.parent is not None
        run_id = self.parent.info.run_id
        now = _now(self.parent)
        self._replace_artifacts(self.parent, report)
        previous = self.parent.data.metrics
        # A verdict that no comparison has any more counts as 0.
        counts = {key: 0.0 for key in previous if key.startswith(COUNT)}
        counts |= report.metrics
        points = [(key, value, now, 0) for key, value in counts.items() if previous.get(key) != value]
        for name, table in report.tables.items():
            self.client.log_text(run_id, table, name)
        tables = json.dumps([{"path": name, "type": "table"} for name in report.tables])
        own_tags = {"mlflow.user": user(), NOTE_TAG: report.note, TABLES_TAG: tables, DIGEST_TAG: digest}
        self._log(run_id, points, {}, {**report.tags, **own_tags})
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, report.note)
        self.client.set_experiment_tag(self.experiment, VIEW_TAG, report.view)
        self.client.set_terminated(run_id, "FINISHED", now)

    def _replace_artifacts(self, parent: Run, report: Parent) -> None:
        """Writes the files of a report, and removes those of an earlier one where the store can."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        repository = get_artifact_repository(parent.info.artifact_uri, self.client.tracking_uri)
        for path in report.artifacts:
            if path.is_dir():
                with suppress(Exception):
                    repository.delete_artifacts(path.name)
            self.client.log_artifact(parent.info.run_id, str(path))

    def _start(self, name: str, tags: Mapping[str, str], start: int) -> Run:
        """Makes a run of the study."""
        tags = {STUDY_TAG: self.study, "mlflow.user": user(), **tags}
        return self.client.create_run(self.experiment, start, tags, name)

    def _log(
        self, run_id: str, points: Iterable[Point], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Adds metrics, parameters and tags to a run."""
        from mlflow.entities import Metric, Param, RunTag

        self.client.log_batch(
            run_id,
            metrics=[Metric(*point) for point in points],
            params=[Param(*param) for param in params.items()],
            tags=[RunTag(*tag) for tag in tags.items()],
        )


def _digest(run: Run) -> str:
    """Returns the digest of the content of a run, or "" for one that is not whole."""
    if run.info.status not in ("FINISHED", "FAILED"):
        return ""
    return str(run.data.tags.get(DIGEST_TAG, ""))


def _now(run: Run | None = None) -> int:
    """Returns the time in Unix milliseconds, later than the start and end of `run` if the clock was set back.

    MLflow takes the metric with the latest time as the last one, and would show a run that ends before it starts.
    """
    now = int(time.time() * 1000)
    if run is None:
        return now
    return max(now, 1 + max(run.info.start_time or 0, run.info.end_time or 0))
