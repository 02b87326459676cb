"""MLflow brought up to date with one study: one parent run, and one nested run for each finished trial.

The tags of a run (study, trial) identify it. A trial's run is whole if it carries the key of its trial, which is
written last; any other is replaced, whatever interrupted it. So a sync that was killed is simply repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data, digest_of_file
from ablate.base.sqlite import database_uri
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.records.trial_list import first_of_each
from ablate.study.document import read_document
from ablate.tracking.content import (
    Parent,
    content_of,
    key_of,
    parent_of,
    run_name,
    variant_labels,
    variant_of,
)
from ablate.tracking.database import DATABASE
from ablate.tracking.messages import Status
from ablate.tracking.study_runs import StudyRuns

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

# Told, before each trial, how many trials MLflow has and is to have; returns whether to go on.
GoesOn = Callable[[int, int], bool]


def sync(
    client: MlflowClient,
    folder: StudyFolder,
    store: Store,
    status: Status = "FINISHED",
    *,
    known: StudyRuns | None = None,
    goes_on: GoesOn = lambda done, total: True,
) -> StudyRuns | None:
    """Brings MLflow up to date with a study; changes nothing if it already is.

    A `FINISHED` study has a report, which is written before the trials that MLflow lacks. Raises `AblateError`, and
    whatever MLflow raises when a server does not answer or a trial is refused, after writing the other trials.

    Returns what MLflow has of the study, which is the next call's `known` as long as nobody else writes there.
    """
    report = parent_of(folder) if status == "FINISHED" else None
    cells = first_of_each(folder.cells())
    recorded = [trial_id for trial_id in cells if store.has(trial_id)]
    # The trials of published evidence were run elsewhere; a study that was only timed has none.
    if not recorded and (report is None or folder.has_trials):
        return known

    is_own = client.tracking_uri == database_uri(store.root / DATABASE)
    runs = known or StudyRuns(client, folder.name, own=is_own)
    trials = _Trials(folder, store, cells)
    if report is None:
        _put_trials(runs, trials, recorded, status, goes_on=goes_on)
    else:
        _put_study(runs, trials, report, recorded, goes_on=goes_on)
    return runs


def _put_trials(
    runs: StudyRuns, trials: _Trials, recorded: Collection[str], status: Status, *, goes_on: GoesOn
) -> None:
    """Writes the recorded trials of a study without a report, where MLflow has no finished run of them.

    A finished run is compared with its record once the report is there.
    """
    runs.begin(status)
    finished = runs.finished_trials
    keys = trials.keys(trial_id for trial_id in recorded if trial_id not in finished)
    trials.put_missing(runs, keys, len(finished), goes_on)


def _put_study(
    runs: StudyRuns, trials: _Trials, report: Parent, recorded: Collection[str], *, goes_on: GoesOn
) -> None:
    """Writes the report of a study and then its recorded trials, as far as MLflow lacks them; removes all others."""
    keys = trials.keys(recorded)
    digest_of_report = _digest_of_report(report)
    digest = digest_of_data([digest_of_report, sorted(keys.items())])
    if runs.is_whole(digest) and keys.keys() <= runs.trials.keys() <= trials.cells.keys():
        return
    runs.begin("FINISHED")
    runs.put_report(report, digest_of_report)
    runs.keep_only(trials.cells)
    if trials.put_missing(runs, keys, 0, goes_on):
        runs.complete(digest)


class _Trials:
    """The trials of a study as MLflow shows them, by the names that the study gives its variants."""

    def __init__(self, folder: StudyFolder, store: Store, cells: Mapping[str, Cell]) -> None:
        names = read_document(folder.study_file).data.get("labels") or {}
        self._store = store
        self.cells = cells
        self._labels = variant_labels(cells.values(), names)
        self._has_several_tasks = len({cell.task for cell in cells.values()}) > 1

    def _label(self, cell: Cell) -> str:
        """Returns the variant of a cell for readers."""
        return self._labels[variant_of(cell)]

    def _name(self, cell: Cell) -> str:
        """Returns the name of the run of a cell."""
        return run_name(cell, self._label(cell), task=self._has_several_tasks)

    def keys(self, trial_ids: Iterable[str]) -> dict[str, str]:
        """Returns trial id → the key of its run; an empty one where its record cannot be read, which no run has."""
        keys: dict[str, str] = {}
        for trial_id in trial_ids:
            cell = self.cells[trial_id]
            keys[trial_id] = ""
            with suppress(AblateError):
                record = digest_of_file(str(self._store.trials / f"{trial_id}.json"))
                keys[trial_id] = key_of(cell, record, name=self._name(cell), label=self._label(cell))
        return keys

    def put_missing(self, runs: StudyRuns, keys: Mapping[str, str], finished: int, goes_on: GoesOn) -> bool:
        """Writes the runs that MLflow lacks, as long as `goes_on`; returns whether that was all.

        finished: how many runs are there beside these. Raises the last error of the trials that were refused.
        """
        missing = [trial_id for trial_id, key in keys.items() if not runs.has(trial_id, key)]
        total = finished + len(keys)
        failures: list[Exception] = []
        for index, trial_id in enumerate(missing):
            if not goes_on(total - len(missing) + index - len(failures), total):
                return False
            try:
                self._put(runs, trial_id, keys[trial_id])
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[-1]
        return True

    def _put(self, runs: StudyRuns, trial_id: str, key: str) -> None:
        """Writes the run of a trial, unless its record is damaged."""
        record = self._store.load(trial_id)
        if record is not None:
            cell = self.cells[trial_id]
            runs.put(trial_id, key, content_of(cell, record, name=self._name(cell), label=self._label(cell)))


def _digest_of_report(report: Parent) -> str:
    """Returns the digest of all that a parent shows."""
    files: list[Path] = []
    for path in report.artifacts:
        files += [file for file in (path, *sorted(path.rglob("*"))) if file.is_file()]
    names = [file.name for file in files]
    digests = [digest_of_file(str(file)) for file in files]
    shown = [report.note, report.tags, report.metrics, report.tables, report.view, names]
    return digest_of_data([shown, digests])
