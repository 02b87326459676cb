"""The MLflow runs of one study: one parent, and one nested run for each trial; writing them again changes nothing.

The tags of a run (study, trial) identify it. A run is whole if it has ended and carries the digest of its content; any
other run is replaced, whatever interrupted it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ablate.core.cell import Cell
from ablate.core.record import Record
from ablate.tracking.batch import New, fits, insert
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
from ablate.tracking.parent import COUNT, MEASURED, Parent
from ablate.tracking.view import VIEW, VIEW_TAG, view_of

_GIVE_UP_AFTER = 3
"""The number of trials that could not be written after which MLflow counts as down."""


@dataclass
class _Run:
    """One run of the study that MLflow has."""

    id: str
    name: str
    trial: str
    'Trial id; "" for a parent.'
    parent: str
    digest: str
    '"" for a run that is not whole.'
    deleted: bool
    latest: int
    "When it started or ended, whichever is later, in milliseconds since 1970."
    measured: Mapping[str, float] = field(default_factory=dict)
    "What it says of its variant, beside its own content."


class StudyRuns:
    """The runs of one study: read from MLflow once, then updated with every change."""

    alone = False
    "Whether the store's database was made for them just now, and has no other study."

    def __init__(self, client: Any, study: str, artifacts: str | None) -> None:
        """`artifacts`: where a SQLite database keeps them; None for a server."""
        self.client = client
        self.study = study
        found = self._experiment(artifacts)
        self.experiment = str(found.experiment_id)
        local = artifacts is not None and found.artifact_location.startswith("file:")
        self._location = found.artifact_location if local and fits() else None
        self._runs: defaultdict[str, list[_Run]] = defaultdict(list)
        "By trial id, earliest first; the parent, and any spare one, by the empty string."
        for run in self._search():
            self._runs[run.trial].append(run)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Shows the study as running, and afterwards as interrupted unless it was finished."""
        self._parent, *spare = self._active(nested=False) or [self._start(self.study, {}, _moment())]
        for run in spare:
            self._delete(run)
        self._parent.digest = ""
        self.client.update_run(self._parent.id, status="RUNNING")
        try:
            yield
        finally:
            if not self._parent.digest:
                with suppress(Exception):
                    for run in [*self._active(nested=True), self._parent]:
                        if not run.digest:
                            self.client.set_terminated(run.id, "KILLED", _moment(run.latest))

    def put_all(self, batches: Iterable[Iterable[tuple[Cell, Record]]]) -> None:
        """Writes these trials. If MLflow refuses one, the others are still written; raises the last error."""
        failures: list[Exception] = []
        for batch in batches:
            new = []
            # The later record of a trial replaces the earlier.
            for cell, record in {record.id: (cell, record) for cell, record in batch}.values():
                try:
                    new += self._missing(cell, record)
                except Exception as error:
                    failures.append(error)
            if not self._inserted(new):
                for run in new:
                    try:
                        self._create(run)
                    except Exception as error:
                        failures.append(error)
                    if len(failures) >= _GIVE_UP_AFTER:
                        break
            if len(failures) >= _GIVE_UP_AFTER:
                break
        if failures:
            raise failures[-1]

    def _missing(self, cell: Cell, record: Record) -> list[New]:
        """The run of a trial, unless MLflow has it whole. Removes runs that differ from it."""
        content = content_of(self.study, cell, record)
        digest = content.digest
        copies = sorted(self._runs[record.id], key=lambda run: run.deleted)
        whole = next((run for run in copies if run.digest == digest), None)
        for run in copies:
            if run is not whole and not run.deleted:
                self._delete(run)
        if whole is None:
            tags = {STUDY_TAG: self.study, "mlflow.user": user(), **content.tags}
            tags |= {DIGEST_TAG: digest, PARENT_TAG: self._parent.id}
            return [New(run_name(cell, with_task=False), content, tags)]
        if whole.deleted:
            self.client.restore_run(whole.id)
            whole.deleted = False
        return []

    def _inserted(self, new: Sequence[New]) -> bool:
        """Writes runs at once, where the database is SQLite and MLflow is as we know it. Returns whether it has."""
        if self._location is None or not new:
            return not new
        try:
            insert(self.client._tracking_client.store, self.experiment, self._location, new)
        except Exception:
            return False  # the client writes one by one, and says which is refused
        for run in new:
            trial, digest, latest = run.tags[TRIAL_TAG], run.tags[DIGEST_TAG], run.content.end
            whole = _Run(run.id, run.name, trial, self._parent.id, digest, deleted=False, latest=latest)
            self._runs[trial].append(whole)
        return True

    def is_current(self, parent: Parent, recorded: Set[str]) -> bool:
        """Whether MLflow has this parent, finished, and a whole run of every trial in `recorded`."""
        nested = {run.trial: run.digest for run in self._active(nested=True)}
        return (
            [run.digest for run in self._active(nested=False)] == [parent.digest]
            and all(nested.values())
            and recorded <= nested.keys() <= parent.cells.keys()
        )

    def finish(self, parent: Parent) -> None:
        """Completes the parent, and removes the runs of trials that the study no longer refers to."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        shown = self.client.get_run(self._parent.id)
        if any(parent.params.get(key) != value for key, value in shown.data.params.items()):
            # MLflow has no other way to change a parameter.
            old, self._parent = self._parent, self._start(self.study, {}, _moment())
            self._delete(old)
            shown = self.client.get_run(self._parent.id)
        self._arrange(parent.cells)
        kept = get_artifact_repository(shown.info.artifact_uri, self.client.tracking_uri)
        for path in parent.artifacts:
            if path.is_dir():
                # Files of an earlier report must go, unless the store cannot remove files.
                with suppress(Exception):
                    kept.delete_artifacts(path.name)
            self.client.log_artifact(self._parent.id, str(path))
        now = _moment(self._parent.latest)
        self._measure(parent.measured, now)
        before = shown.data.metrics
        # A verdict that no comparison has any more counts as 0.
        counts = {key: 0.0 for key in before if key.startswith(COUNT)} | dict(parent.metrics)
        points = [(key, value, now, 0) for key, value in counts.items() if before.get(key) != value]
        note = cut(parent.description, MAX_TAG)
        tags = {**parent.tags, "mlflow.user": user(), NOTE_TAG: note, DIGEST_TAG: parent.digest}
        self._log(self._parent, parent.params, points, tags)
        self.client.set_experiment_tag(self.experiment, NOTE_TAG, note)
        self.client.set_experiment_tag(self.experiment, f"{VIEW_TAG}{VIEW}", view_of(parent.columns))
        self.client.set_terminated(self._parent.id, "FINISHED", now)
        self._parent.digest = parent.digest

    def _experiment(self, artifacts: str | None) -> Any:
        experiment = self.client.get_experiment_by_name(self.study)
        if experiment is None:
            # Without the kind, the pages are those for language-model applications.
            kind = {"mlflow.experimentKind": "custom_model_development"}
            folder = quote("@".join(map(clean_key, self.study.split("@"))))
            location = None if artifacts is None else f"{artifacts}/{folder}"
            return self.client.get_experiment(self.client.create_experiment(self.study, location, kind))
        if experiment.lifecycle_stage == "deleted":
            self.client.restore_experiment(experiment.experiment_id)
        return experiment

    def _search(self) -> Iterator[_Run]:
        from mlflow.entities import ViewType
        from mlflow.utils import get_results_from_paginated_fn

        found = get_results_from_paginated_fn(
            lambda size, token: self.client.search_runs(
                [self.experiment], "", ViewType.ALL, size, ["attributes.start_time ASC"], token
            ),
            max_results_per_page=1000,
        )
        for run in found:
            info, tags, metrics = run.info, run.data.tags, run.data.metrics
            if tags.get(STUDY_TAG) == self.study:
                yield _Run(
                    id=info.run_id,
                    name=info.run_name,
                    trial=tags.get(TRIAL_TAG, ""),
                    parent=tags.get(PARENT_TAG, ""),
                    digest=tags.get(DIGEST_TAG, "") if info.status in ("FINISHED", "FAILED") else "",
                    deleted=info.lifecycle_stage == "deleted",
                    latest=max(info.start_time or 0, info.end_time or 0),
                    measured={name: metrics[name] for name in MEASURED.values() if name in metrics},
                )

    def _active(self, *, nested: bool) -> list[_Run]:
        """The runs of trials, or the parent and any spare one; without deleted runs."""
        runs = (run for same in self._runs.values() for run in same)
        return [run for run in runs if bool(run.trial) == nested and not run.deleted]

    def _delete(self, run: _Run) -> None:
        if not run.digest:  # may be running, and would still say so among the deleted
            self.client.set_terminated(run.id, "KILLED", _moment(run.latest))
        self.client.delete_run(run.id)
        run.deleted = True

    def _create(self, new: New) -> None:
        content = new.content
        run = self._start(new.name, new.tags, content.start)
        for file, text in content.texts.items():
            self.client.log_text(run.id, text, file)
        self._log(run, content.params, content.points, {})
        self.client.set_terminated(run.id, content.status, content.end)
        run.digest = new.tags[DIGEST_TAG]

    def _start(self, name: str, tags: Mapping[str, str], start: int) -> _Run:
        tags = {STUDY_TAG: self.study, "mlflow.user": user(), **tags}
        created = self.client.create_run(self.experiment, start, tags, name)
        trial, parent = tags.get(TRIAL_TAG, ""), tags.get(PARENT_TAG, "")
        run = _Run(created.info.run_id, name, trial, parent, digest="", deleted=False, latest=start)
        self._runs[trial].append(run)
        return run

    def _log(
        self, run: _Run, params: Mapping[str, str], points: Iterable[Point], tags: Mapping[str, str]
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        self.client.log_batch(
            run.id,
            [Metric(*point) for point in points],
            [Param(*param) for param in params.items()],
            [RunTag(*tag) for tag in tags.items()],
        )

    def _measure(self, measured: Mapping[str, Mapping[str, float]], now: int) -> None:
        """Says in the run of each trial what was measured of its variant, where it does not yet."""
        for run in self._active(nested=True):
            of = measured.get(run.trial, {})
            if points := [
                (key, value, now, 0) for key, value in of.items() if run.measured.get(key) != value
            ]:
                self._log(run, {}, points, {})
                run.measured = of

    def _arrange(self, cells: Mapping[str, Cell]) -> None:
        """Nests the runs of these trials under the parent, with tasks in their names if several; removes other runs."""
        several = len({cell.task for cell in cells.values()}) > 1
        for run in self._active(nested=True):
            if run.trial not in cells or not run.digest:
                self._delete(run)
                continue
            if run.parent != self._parent.id:
                self.client.set_tag(run.id, PARENT_TAG, self._parent.id)
            name = run_name(cells[run.trial], with_task=several)
            if run.name != name:
                self.client.update_run(run.id, name=name)


def _moment(after: int = 0) -> int:
    """Returns now in milliseconds since 1970, but later than `after`, even if the clock was set back.

    MLflow takes the metric with the latest time as the last one, and would show a run that ends before it starts.
    """
    return max(int(time.time() * 1000), after + 1)
