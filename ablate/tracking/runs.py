"""The MLflow runs of one study: one parent, one nested run a trial, written so that writing again changes nothing.

A run is known by its tags (study, trial). It is whole when it is no longer running and carries the digest of the
content that it should have; anything else is replaced, whatever stopped it half-way.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ablate.tracking.content import (
    COMPLETE_TAG,
    MAX_TAG,
    NOTE_TAG,
    PARENT_TAG,
    STUDY_TAG,
    TRIAL_TAG,
    Content,
    TrackedRun,
    clean_key,
    cleaned_params,
    cleaned_tags,
    content_of,
    cut,
    user,
)
from ablate.tracking.database import (
    DATABASE,
    artifacts_uri,
    database_path,
    ensure_database,
    import_mlflow,
    local_path,
    sole_writer,
)

_PARAMS_PER_BATCH = 100
_ENTITIES_PER_BATCH = 1000


@dataclass(frozen=True)
class _Known:
    """One run of the study that MLflow has."""

    run_id: str
    name: str
    trial: str
    'Trial id; "" for a parent.'
    parent: str
    digest: str
    '"" for a run that is not whole.'
    deleted: bool
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    artifacts: str
    latest: int
    "When it started or ended, whichever is later, in milliseconds since 1970."


class _Written(NamedTuple):
    """What is remembered of a trial that `put` has seen, without its record, which may be large."""

    finished_at: str
    task: str
    name: str
    name_with_task: str


@contextmanager
def study_runs(study: str, store: Path, uri: str | None, timeout: float) -> Iterator[StudyRuns]:
    """The runs of `study`, for its only writer; MLflow's database is made when there is none.

    `timeout` is how long to wait, in seconds, for another writer of the same study. Raises `StoreError`, and
    whatever MLflow raises when a server does not answer.
    """
    own = (store / DATABASE).resolve()
    database = own if uri is None else database_path(uri)
    with sole_writer(store, study, timeout):
        tracking_uri = uri or ""
        if database is not None:
            tracking_uri = ensure_database(database, repair=database == own)
        client = import_mlflow()(tracking_uri=tracking_uri)
        try:
            yield StudyRuns(client, study, None if database is None else artifacts_uri(database))
        finally:
            engine = getattr(client._tracking_client.store, "engine", None)
            if engine is not None:
                engine.dispose()


class StudyRuns:
    """Reads what MLflow has of a study once, then keeps count of what it changes."""

    def __init__(self, client: Any, study: str, artifacts: str | None) -> None:
        self.client = client
        self.study = study
        self.experiment = self._experiment(artifacts)
        self._known = {known.run_id: known for known in self._search()}
        self._written: dict[str, _Written] = {}
        self.parent = ""
        "Run id of the parent, once `begin` has been called."

    def begin(self) -> None:
        """Finds or makes the parent and shows it as running."""
        parents = [known for known in self._active() if not known.trial]
        for spare in parents[1:]:
            self._delete(spare)
        if parents:
            self.parent = parents[0].run_id
            self._known[self.parent] = replace(parents[0], digest="")
            self.client.update_run(self.parent, status="RUNNING")
        else:
            self.parent = self._create_parent()

    def put(self, run: TrackedRun) -> None:
        """Makes the nested run of a trial what it should be; a whole one is left alone."""
        trial = run.record.id
        if trial in self._written and self._written[trial].finished_at == run.record.finished_at:
            return  # two variants of one study may share a trial; the first gives the run its name
        content = content_of(self.study, run)
        digest = content.digest
        copies = sorted(
            (k for k in self._known.values() if k.trial == trial), key=lambda known: known.deleted
        )
        whole = next((known for known in copies if known.digest == digest), None)
        for known in copies:
            if known is not whole and not known.deleted:
                self._delete(known)
        if whole is None:
            self._create(run, content, digest)
        elif whole.deleted:
            self.client.restore_run(whole.run_id)
            self._known[whole.run_id] = replace(whole, deleted=False)
        self._written[trial] = _Written(
            run.record.finished_at, run.task, run.name(with_task=False), run.name(with_task=True)
        )

    def is_current(self, current: Collection[str], artifacts: Sequence[Path]) -> bool:
        """Whether the parent was finished with these trials and artifacts, and every trial has its run."""
        nested = {known.trial: known.digest for known in self._active() if known.trial}
        parents = [known.digest for known in self._active() if not known.trial]
        return (
            nested.keys() == set(current)
            and all(nested.values())
            and parents == [_parent_digest(nested, artifacts)]
        )

    def finish(
        self,
        *,
        description: str,
        params: Mapping[str, Any] | None,
        tags: Mapping[str, Any],
        metrics: Mapping[str, float],
        artifacts: Sequence[Path],
        current: Collection[str],
    ) -> None:
        """Removes the runs of trials that are not `current` and completes the parent.

        `params` None leaves those of the parent as they are. Artifacts replace those of the same name.
        """
        from mlflow.entities import Metric

        if params is not None:
            self._fit_parent(cleaned_params(params))
        for known in self._active():
            if known.trial and (known.trial not in current or not known.digest):
                self._delete(known)
        self._arrange()
        trials = [known.trial for known in self._active() if known.trial]
        parent = self._known[self.parent]
        now = _moment(parent.latest)
        for path in artifacts:
            self._log_artifact(parent, path)
        changed = {clean_key(key): float(value) for key, value in metrics.items()}
        changed = {key: value for key, value in changed.items() if parent.metrics.get(key) != value}
        wanted = {"mlflow.source.type": "LOCAL", "mlflow.user": user(), **tags}
        note = cut(description, MAX_TAG)
        self._log(
            self.parent,
            params=cleaned_params(params or {}),
            metrics=[Metric(key, value, now, 0) for key, value in changed.items()],
            tags={**cleaned_tags(wanted), NOTE_TAG: note, COMPLETE_TAG: _parent_digest(trials, artifacts)},
        )
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, note)
        self.client.set_terminated(self.parent, "FINISHED", now)

    def stop(self) -> None:
        """Shows as interrupted what is not whole: the parent, and a run that could not be written to its end."""
        for known in self._active():
            if not known.digest:
                self.client.set_terminated(known.run_id, "KILLED", _moment(known.latest))

    def _experiment(self, artifacts: str | None) -> str:
        from mlflow.exceptions import MlflowException

        experiment = self.client.get_experiment_by_name(self.study)
        if experiment is None:
            # Without the kind, the pages are those for language-model applications.
            kind = {"mlflow.experimentKind": "custom_model_development"}
            location = None if artifacts is None else f"{artifacts}/{quote(clean_key(self.study))}"
            try:
                return str(self.client.create_experiment(self.study, location, kind))
            except MlflowException:
                experiment = self.client.get_experiment_by_name(self.study)
                if experiment is None:
                    raise
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return str(experiment.experiment_id)

    def _search(self) -> Iterator[_Known]:
        from mlflow.entities import ViewType

        token = None
        while True:
            page = self.client.search_runs(
                [self.experiment],
                run_view_type=ViewType.ALL,
                max_results=_ENTITIES_PER_BATCH,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            for run in page:
                tags = run.data.tags
                if tags.get(STUDY_TAG) == self.study:
                    yield _Known(
                        run_id=run.info.run_id,
                        name=run.info.run_name,
                        trial=tags.get(TRIAL_TAG, ""),
                        parent=tags.get(PARENT_TAG, ""),
                        digest="" if run.info.status == "RUNNING" else tags.get(COMPLETE_TAG, ""),
                        deleted=run.info.lifecycle_stage == "deleted",
                        params=run.data.params,
                        metrics=run.data.metrics,
                        artifacts=run.info.artifact_uri,
                        latest=max(run.info.start_time or 0, run.info.end_time or 0),
                    )
            token = page.token
            if not token:
                return

    def _active(self) -> list[_Known]:
        return [known for known in self._known.values() if not known.deleted]

    def _delete(self, known: _Known) -> None:
        if not known.digest:  # may be running, and would still say so among the deleted
            self.client.set_terminated(known.run_id, "KILLED", _moment(known.latest))
        self.client.delete_run(known.run_id)
        self._known[known.run_id] = replace(known, deleted=True)

    def _create(self, run: TrackedRun, content: Content, digest: str) -> None:
        from mlflow.entities import Metric

        name = run.name(with_task=False)
        tags = {**content.tags, "mlflow.user": user()}
        if self.parent:
            tags[PARENT_TAG] = self.parent
        known = self._start(name, run.record.id, tags, _moment() if content.start is None else content.start)
        for file, text in content.texts.items():
            self.client.log_text(known.run_id, text, file)
        self._log(
            known.run_id,
            params=content.params,
            metrics=[Metric(p.key, p.value, p.timestamp, p.step) for p in content.points],
            tags={COMPLETE_TAG: digest},
        )
        end = _moment(known.latest) if content.end is None else content.end
        self.client.set_terminated(known.run_id, content.status, end)
        self._known[known.run_id] = replace(known, digest=digest)

    def _create_parent(self) -> str:
        tags = {STUDY_TAG: self.study, "mlflow.user": user(), "mlflow.source.type": "LOCAL"}
        return self._start(self.study, "", tags, _moment()).run_id

    def _start(self, name: str, trial: str, tags: Mapping[str, str], start: int) -> _Known:
        info = self.client.create_run(self.experiment, start_time=start, tags=tags, run_name=name).info
        parent = tags.get(PARENT_TAG, "")
        known = _Known(info.run_id, name, trial, parent, "", False, {}, {}, info.artifact_uri, start)
        self._known[known.run_id] = known
        return known

    def _fit_parent(self, params: Mapping[str, str]) -> None:
        """Replaces the parent when its parameters must change, for which MLflow has no other way."""
        old = self._known[self.parent]
        if any(params.get(key) != value for key, value in old.params.items()):
            self.parent = self._create_parent()
            self._delete(old)

    def _arrange(self) -> None:
        """Puts every nested run under the parent, with a name that tells the tasks apart when there are several."""
        several = len({written.task for written in self._written.values()}) > 1
        for known in self._active():
            if not known.trial:
                continue
            if known.parent != self.parent:
                self.client.set_tag(known.run_id, PARENT_TAG, self.parent)
                known = replace(known, parent=self.parent)
            written = self._written.get(known.trial)
            if written is not None:
                name = written.name_with_task if several else written.name
                if known.name != name:
                    self.client.update_run(known.run_id, name=name)
                    known = replace(known, name=name)
            self._known[known.run_id] = known

    def _log(
        self, run_id: str, params: Mapping[str, str], metrics: Sequence[Any], tags: Mapping[str, str]
    ) -> None:
        """Writes in as few batches as MLflow allows; the tags are in the last."""
        from mlflow.entities import Param, RunTag

        chunks = [
            list(params.items())[i : i + _PARAMS_PER_BATCH] for i in range(0, len(params), _PARAMS_PER_BATCH)
        ]
        *full, rest = [[Param(key, value) for key, value in chunk] for chunk in chunks or [[]]]
        for chunk in full:
            self.client.log_batch(run_id, params=chunk)
        points = list(metrics)
        room = _ENTITIES_PER_BATCH - len(rest) - len(tags)
        while len(points) > room:
            self.client.log_batch(run_id, metrics=points[:_ENTITIES_PER_BATCH])
            points = points[_ENTITIES_PER_BATCH:]
        self.client.log_batch(
            run_id, metrics=points, params=rest, tags=[RunTag(k, v) for k, v in tags.items()]
        )

    def _log_artifact(self, parent: _Known, path: Path) -> None:
        if path.is_dir():
            folder = local_path(parent.artifacts)
            if folder is not None:  # what the new folder lacks must not stay from an earlier report
                shutil.rmtree(folder / path.name, ignore_errors=True)
            self.client.log_artifacts(parent.run_id, str(path), path.name)
        elif path.is_file():
            self.client.log_artifact(parent.run_id, str(path))


def _moment(after: int = 0) -> int:
    """Now in milliseconds since 1970, or as soon as may be `after` a moment that a clock set back has yet to reach.

    MLflow takes the metric with the latest time for the last, and shows a run that ends before it starts.
    """
    return max(int(time.time() * 1000), after + 1)


def _parent_digest(trials: Collection[str], artifacts: Sequence[Path]) -> str:
    """Of the trials and the content of the artifacts."""
    digest = hashlib.blake2b("\n".join(sorted(trials)).encode(), digest_size=16)
    for path in sorted(artifacts):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(f"\0{file.relative_to(path.parent)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
