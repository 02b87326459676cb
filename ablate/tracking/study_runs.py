"""The runs of one study in MLflow, written through its client: a parent, and a nested run for each finished trial."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ablate.base.scratch import scratch
from ablate.tracking.content import (
    COUNT,
    DIGEST_TAG,
    NOTE_TAG,
    PARENT_TAG,
    REPORT_TAG,
    STUDY_TAG,
    TABLES_TAG,
    Content,
    Parent,
    Point,
    user,
)
from ablate.tracking.database import artifacts_uri
from ablate.tracking.messages import Status
from ablate.tracking.names import MAX_BATCH, MAX_BATCH_PARAMS
from ablate.tracking.reading import TrackedRun, relevant, runs_of_study
from ablate.tracking.view import VIEW_TAG

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient


class StudyRuns:
    """The runs of one study, read from MLflow once, and known from then on by what is written here.

    A run is whole where it carries its key, which is written last. `begin` comes before any other call that writes;
    then `put_report`, where there is one, `keep_only`, a `put` for each trial, and `complete` once all are there.

    `trials` are the whole runs of trials by the ids of those; `spare` are the runs that a kill or a hand has left over,
    which `begin` removes.
    """

    def __init__(self, client: MlflowClient, study: str, *, own: bool) -> None:
        """`own`: whether the client writes to the store's own database."""
        self.client = client
        self.study = study
        self.experiment = self._experiment(own)
        self.parent: TrackedRun | None = None
        self.trials: dict[str, TrackedRun] = {}
        self.spare: list[TrackedRun] = []
        for run in runs_of_study(client, self.experiment, study):
            self._sort_in(run)

    def _sort_in(self, run: TrackedRun) -> None:
        """Takes a run of the study for the parent, for that of a trial, or for a spare one."""
        trial_id = run.trial
        if trial_id is None and self.parent is None:
            self.parent = run
        elif trial_id is not None and trial_id not in self.trials and run.key:
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
    def finished_trials(self) -> set[str]:
        """The ids of the trials whose runs are finished."""
        return {trial_id for trial_id, run in self.trials.items() if run.status == "FINISHED"}

    def is_whole(self, digest: str) -> bool:
        """Returns whether the parent is finished with this digest, and no run is left over."""
        return not self.spare and self.parent is not None and self.parent.key == digest

    def has(self, trial_id: str, key: str) -> bool:
        """Returns whether the run of a trial is whole with this key, below the parent."""
        run = self.trials.get(trial_id)
        if run is None or self.parent is None:
            return False
        return run.key == key and run.tags.get(PARENT_TAG) == self.parent.id

    def begin(self, status: Status) -> None:
        """Makes sure that there is one parent run, which is not whole; removes runs that were left over.

        A study without a report is shown as it is; `put_report` ends the parent of another.
        """
        if self.parent is None:
            self.parent, _ = self._start(self.study, {}, _now())
        if self.parent.tags.pop(DIGEST_TAG, None) is not None:
            self.client.delete_tag(self.parent.id, DIGEST_TAG)
        self._remove(self.spare)
        self.spare = []
        if status == "FINISHED" or status == self.parent.status:
            return
        if status == "RUNNING":
            self.client.update_run(self.parent.id, status)
        else:
            now = _now(self.client.get_run(self.parent.id))
            self.client.set_terminated(self.parent.id, status, now)
        self.parent.status = status

    def keep_only(self, trial_ids: Container[str]) -> None:
        """Removes the runs of all other trials."""
        obsolete = [trial_id for trial_id in self.trials if trial_id not in trial_ids]
        self._remove([self.trials.pop(trial_id) for trial_id in obsolete])

    def _remove(self, runs: Sequence[TrackedRun]) -> None:
        """Removes runs from what MLflow shows."""
        for run in runs:
            self.client.delete_run(run.id)

    def put(self, trial_id: str, key: str, content: Content) -> None:
        """Writes the run of a trial, in place of the one that there is; `begin` comes before.

        The key comes last: a run that has it is whole.
        """
        assert self.parent is not None
        previous = self.trials.pop(trial_id, None)
        if previous is not None:
            self.client.delete_run(previous.id)

        tags = {**content.tags, PARENT_TAG: self.parent.id}
        run, artifacts = self._start(content.name, tags, content.start)
        # At once, so that no kill leaves it running; later it costs more, since MLflow reads the whole run.
        self.client.set_terminated(run.id, content.status, content.end)
        run.status = content.status
        if content.texts:
            self._write_texts(content.texts, artifacts)
        self._log(run.id, content.points, content.params, {DIGEST_TAG: key})
        run.tags[DIGEST_TAG] = key
        self.trials[trial_id] = run

    def put_report(self, report: Parent, digest: str) -> None:
        """Ends the parent with a report, unless it has that with this digest; `begin` comes before."""
        assert self.parent is not None
        if self.parent.status == "FINISHED" and self.parent.tags.get(REPORT_TAG) == digest:
            return
        run_id = self.parent.id
        parent = self.client.get_run(run_id)
        now = _now(parent)
        self._replace_artifacts(parent, report)
        previous = parent.data.metrics
        # A verdict that no comparison has any more counts as 0.
        counts = {key: 0.0 for key in previous if key.startswith(COUNT)}
        counts |= report.metrics
        points = [(key, value, now, 0) for key, value in counts.items() if previous.get(key) != value]
        for name, table in report.tables.items():
            self.client.log_text(run_id, table, name)
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, report.note)
        self.client.set_experiment_tag(self.experiment, VIEW_TAG, report.view)
        self.client.set_terminated(run_id, "FINISHED", now)
        tables = json.dumps([{"path": name, "type": "table"} for name in report.tables])
        own_tags = {"mlflow.user": user(), NOTE_TAG: report.note, TABLES_TAG: tables, REPORT_TAG: digest}
        self._log(run_id, points, {}, {**report.tags, **own_tags})
        self.parent.status = "FINISHED"
        self.parent.tags[REPORT_TAG] = digest

    def complete(self, digest: str) -> None:
        """Marks the parent as whole; it has its report, and the runs of all trials are there."""
        assert self.parent is not None
        self.client.set_tag(self.parent.id, DIGEST_TAG, digest)
        self.parent.tags[DIGEST_TAG] = digest

    def _replace_artifacts(self, parent: Run, report: Parent) -> None:
        """Writes the files of a report, and removes those of an earlier one where the store can."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        repository = get_artifact_repository(parent.info.artifact_uri, self.client.tracking_uri)
        for path in report.artifacts:
            if path.is_dir():
                with suppress(Exception):
                    repository.delete_artifacts(path.name)
            self.client.log_artifact(parent.info.run_id, str(path))

    def _write_texts(self, texts: Mapping[str, str], artifacts: str) -> None:
        """Writes texts by the names of their files to the artifacts of a run."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with scratch("texts") as folder:
            for name, text in texts.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            get_artifact_repository(artifacts, self.client.tracking_uri).log_artifacts(folder)

    def _start(self, name: str, tags: Mapping[str, str], start: int) -> tuple[TrackedRun, str]:
        """Makes a run of the study, and returns it with the place of its artifacts."""
        tags = {STUDY_TAG: self.study, "mlflow.user": user(), **tags}
        run = self.client.create_run(self.experiment, start, tags, name)
        return TrackedRun(run.info.run_id, "RUNNING", relevant(tags)), str(run.info.artifact_uri)

    def _log(
        self, run_id: str, points: Sequence[Point], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Adds parameters, metrics and then tags to a run.

        That is the order of one call of MLflow's; of a call too large for one request, it would write the tags first.
        """
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(*point) for point in points]
        parameters = [Param(*param) for param in params.items()]
        is_one_request = (
            len(params) <= MAX_BATCH_PARAMS and len(points) + len(params) + len(tags) <= MAX_BATCH
        )
        if not is_one_request:
            self.client.log_batch(run_id, metrics=metrics, params=parameters)
            metrics = []
            parameters = []
        self.client.log_batch(
            run_id, metrics=metrics, params=parameters, tags=[RunTag(*tag) for tag in tags.items()]
        )


def _now(run: Run | None = None) -> int:
    """Returns the time in Unix milliseconds, later than the start and end of `run` if the clock was set back.

    MLflow takes the metric with the latest time as the last one, and would show a run that ends before it starts.
    """
    now = int(time.time() * 1000)
    if run is None:
        return now
    return max(now, 1 + max(run.info.start_time or 0, run.info.end_time or 0))
