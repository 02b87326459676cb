"""MLflow brought up to date with one study: one parent run, and one nested run for each finished trial.

The tags of a run (study, trial) identify it. A trial's run is whole if it carries the digest of its content, which is
written last; any other is replaced, whatever interrupted it. So a sync that was killed is simply repeated.
"""

import re
import time
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import quote

from ablate.base.files import digest_of_data, digest_of_file
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
    TRIAL_TAG,
    VIEW_TAG,
    Content,
    Parent,
    Point,
    content_of,
    parent_of,
    run_names,
    user,
)
from ablate.tracking.database import DATABASE, artifacts_uri, database_uri

# How a study is shown: it trains, was interrupted, or has its report.
Status = Literal["RUNNING", "KILLED", "FINISHED"]


def sync(client: Any, folder: StudyFolder, store: Store, status: Status = "FINISHED") -> None:
    """Brings MLflow up to date with a study; changes nothing if it already is.

    A `FINISHED` study has a report. Raises `AblateError`, and whatever MLflow raises when a server does not answer or
    a trial is refused, after writing the other trials.
    """
    report = parent_of(folder) if status == "FINISHED" else None
    cells = first_of_each(folder.cells())
    recorded = {trial for trial in cells if store.has(trial)}
    # Of published evidence the trials were run elsewhere; a study that was only timed has none.
    if not recorded and (report is None or folder.has_trials):
        return
    runs = _Runs(client, folder.name, own=client.tracking_uri == database_uri(store.root / DATABASE))
    digest = ""
    if report is None:
        # What is finished is compared with its record once the report is there.
        recorded -= {trial for trial, run in runs.trials.items() if run.info.status == "FINISHED"}
    else:
        files = [file for path in report.artifacts for file in [path, *sorted(path.rglob("*"))]]
        sources = [*filter(lambda file: file.is_file(), files)]
        sources += [store.trials / f"{trial}.json" for trial in sorted(recorded)]
        shown = [report.note, report.tags, report.metrics, report.view, [file.name for file in sources]]
        digest = digest_of_data([shown, [digest_of_file(str(file)) for file in sources]])
        # Whole: a finished parent with this digest, and nothing left over.
        whole = not runs.spare and runs.parent is not None and _digest(runs.parent) == digest
        if whole and recorded <= runs.trials.keys() <= cells.keys():
            return
    runs.begin(status, cells)
    labels = read_document(folder.study_file).data.get("labels") or {}
    names, failures = run_names(cells, labels), list[Exception]()
    for trial in sorted(recorded):
        try:
            if record := store.load(trial):
                runs.put(trial, content_of(names[trial], cells[trial], record))
        except Exception as error:
            failures.append(error)
    if report is not None:
        runs.finish(report, digest)
    if failures:
        raise failures[-1]


class _Runs:
    """The runs of one study, read from MLflow once; what a kill or a hand has left over is removed in `begin`."""

    def __init__(self, client: Any, study: str, *, own: bool) -> None:
        """`own`: in the store's own database."""
        self.client, self.study = client, study
        self.experiment = self._experiment(own)
        self.spare, self.trials = list[Any](), dict[str | None, Any]()
        order = ["attributes.start_time ASC"]
        for run in client.search_runs([self.experiment], max_results=50_000, order_by=order):
            trial = run.data.tags.get(TRIAL_TAG)
            if run.data.tags.get(STUDY_TAG) != study:
                continue
            if (trial is None or _digest(run)) and trial not in self.trials:
                self.trials[trial] = run
            else:
                self.spare.append(run)
        self.parent: Any = self.trials.pop(None, None)

    def _experiment(self, own: bool) -> str:
        """The id of the study's experiment, which is made where there is none.

        Where our own database has moved with its folder, MLflow would look for artifacts at the old place, and cannot
        be told another one: the experiment gets another name and is removed, and all its runs are written anew.
        """
        found = self.client.get_experiment_by_name(self.study)
        root = artifacts_uri(self.client.tracking_uri)
        folder = quote(re.sub(r"[^@.\w-]", "_", self.study))
        location = f"{root}/{folder}" if root else None
        if found is not None and found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        if found is not None and own and found.artifact_location != location:
            self.client.rename_experiment(found.experiment_id, f"{self.study}, moved {_now()}")
            self.client.delete_experiment(found.experiment_id)
            found = None
        if found is not None:
            return str(found.experiment_id)
        # Without the kind, the pages are those for language-model applications.
        kind = {"mlflow.experimentKind": "custom_model_development"}
        return str(self.client.create_experiment(self.study, location, kind))

    def begin(self, status: Status, cells: Container[str]) -> None:
        """Sees to it that there is one parent; with a report, that nothing is left but the runs of its `cells`."""
        self.parent = self.parent or self._start(self.study, {}, _now())
        gone = [run for trial, run in self.trials.items() if status == "FINISHED" and trial not in cells]
        for run in (*self.spare, *gone):
            self.client.delete_run(run.info.run_id)
        if status == "RUNNING":
            self.client.update_run(self.parent.info.run_id, status)
        elif status == "KILLED":
            self.client.set_terminated(self.parent.info.run_id, status, _now(self.parent))

    def put(self, trial: str, content: Content) -> None:
        """Writes the run of a trial, unless MLflow has it whole."""
        parent = self.parent.info.run_id
        if (known := self.trials.pop(trial, None)) is not None:
            if _digest(known) == content.digest and known.data.tags.get(PARENT_TAG) == parent:
                return
            self.client.delete_run(known.info.run_id)
        number = self._start(content.name, {**content.tags, PARENT_TAG: parent}, content.start).info.run_id
        # At once, so that no kill leaves it running.
        self.client.set_terminated(number, content.status, content.end)
        for file, text in content.texts.items():
            self.client.log_text(number, text, file)
        self._log(number, content.points, content.params, {})
        self.client.set_tag(number, DIGEST_TAG, content.digest)

    def finish(self, report: Parent, digest: str) -> None:
        """Completes the parent."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        number, before, now = self.parent.info.run_id, self.parent.data.metrics, _now(self.parent)
        kept = get_artifact_repository(self.parent.info.artifact_uri, self.client.tracking_uri)
        for path in report.artifacts:
            if path.is_dir():
                # Files of an earlier report must go, unless the store cannot remove files.
                with suppress(Exception):
                    kept.delete_artifacts(path.name)
            self.client.log_artifact(number, str(path))
        # A verdict that no comparison has any more counts as 0.
        counts = {key: 0.0 for key in before if key.startswith(COUNT)} | dict(report.metrics)
        points = [(key, value, now, 0) for key, value in counts.items() if before.get(key) != value]
        own = {"mlflow.user": user(), NOTE_TAG: report.note, DIGEST_TAG: digest}
        self._log(number, points, {}, {**report.tags, **own})
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, report.note)
        self.client.set_experiment_tag(self.experiment, VIEW_TAG, report.view)
        self.client.set_terminated(number, "FINISHED", now)

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


def _now(run: Any = None) -> int:
    """Milliseconds since 1970, but later than all of a `run`, even if the clock was set back.

    MLflow takes the metric with the latest time as the last one, and would show a run that ends before it starts.
    """
    latest = 0 if run is None else max(run.info.start_time or 0, run.info.end_time or 0)
    return max(int(time.time() * 1000), latest + 1)
