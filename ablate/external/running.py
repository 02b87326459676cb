"""One run of a user's code: its command in a folder, and the record that is made of what it prints and writes."""

import json
import math
import os
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, listed
from ablate.base.process import THREADS
from ablate.core.log_end import LogEnd
from ablate.core.record import BESIDE, CODE, STOPS, VARIABLES, Record
from ablate.core.trial import Emit, Trial
from ablate.core.undeclared import keep_undeclared
from ablate.external.attempts import Attempts
from ablate.external.best import best_values
from ablate.external.command import TimeLimit, lines
from ablate.external.reading import Reading
from ablate.external.run_folder import RunFolder, StudyStop, check_data, run_folder
from ablate.external.snapshot import Snapshot, read_snapshot
from ablate.external.trace import path_in_copy

# In the environment of a record: files that were added to data while its trial ran.
ADDED = "added_data"
# In the environment of a record: files that it read, which are in no commit and which an earlier run may have left.
DOUBTFUL = "read_in_no_commit"
# In the environment of a record: files outside of its copy that it has read and then written.
SHARED = "shared_files"
MAX_LINES = 200
# Characters of such a line that are looked through for why it failed.
MAX_SHOWN = 4000


@dataclass
class Run:
    """A run of a trial by a command, given as words."""

    trial: Trial
    words: Sequence[str]
    seed: int
    emit: Emit
    reading: Reading = field(init=False)
    # The last lines that it printed.
    printed: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_LINES))

    def __post_init__(self) -> None:
        self.reading = Reading([*self.trial.config["metrics"]], self.options["read"])

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the study."""
        options: Mapping[str, Any] = self.trial.config["workload"]
        return options

    def in_copy(self, snapshot: Snapshot) -> Record:
        """Runs in a copy of the code, in which only the files that the trial has written stay."""
        resumes = self.options["resume"]
        try:
            with run_folder(snapshot, self.trial.id, resumes=resumes) as folder:
                record = self._in(folder)
        except AblateError as error:
            record = self._failed(error)
        record.environment[CODE] = snapshot.digest
        return record

    def in_place(self, snapshot: Snapshot) -> Record:
        """Runs in the folder of the study, and refuses a change of its code."""
        folder = snapshot.root / snapshot.inside
        try:
            _check_code(snapshot)
            is_pruned = self._run(folder, {}, Attempts())
            _check_code(snapshot)
            record = self._record(is_pruned)
            keep_undeclared(record, self.reading.undeclared.points)
        except AblateError as error:
            record = self._failed(error)
        record.environment[CODE] = snapshot.digest
        return record

    def _in(self, folder: RunFolder) -> Record:
        """Runs in the folder of the trial, and checks how it has used its code and data."""
        root = folder.snapshot.root
        self.words = [path_in_copy(word, root, folder.place) for word in self.words]
        attempts = Attempts(folder.trace_folder if self.options["resume"] else None)
        try:
            is_pruned = self._run(folder.folder, folder.environment(), attempts)
        except AblateError:
            folder.check_missing(self.printed)
            raise
        folder.check()
        record = self._record(is_pruned)
        keep_undeclared(record, self.reading.undeclared.points)
        added = folder.added_data()
        if added:
            record.environment[ADDED] = added[:20]
        doubtful = folder.doubtful()
        if doubtful:
            record.environment[DOUBTFUL] = doubtful[:20]
        shared = folder.shared()
        if shared:
            record.environment[SHARED] = shared[:20]
        variables = folder.variables()
        if variables:
            record.environment[VARIABLES] = variables
        beside = folder.files_beside()
        if beside:
            record.environment[BESIDE] = beside
        folder.tidy(self.options["keep"])
        return record

    def _run(self, folder: Path, env: Mapping[str, str], attempts: Attempts) -> bool:
        """Runs the command and reads its numbers; returns whether it was asked to stop. Raises `AblateError`."""
        attempts.restore(self.reading)
        resources = self.options["resources"]
        limit = TimeLimit(resources["time"])
        words = self.words
        if resources["memory"] is not None:
            memory = str(int(resources["memory"] * 2**20))
            words = ["sh", "-c", 'ulimit -d "$0"; exec "$@"', memory, *words]
        with attempts.files() as place:
            env = {**dict.fromkeys(THREADS, str(resources["threads"])), **env}
            env |= _own_gpus(resources["gpus"])
            env["ABLATE_DIR"] = place
            env["ABLATE_CONFIG"] = json.dumps(self.trial.config["config"])
            env["ABLATE_SEED"] = str(self.seed)
            log_end = LogEnd()
            with closing(lines(words, folder, env, limit)) as output:
                for line in output:
                    print(line)
                    log_end.add(line)
                    if line.strip():
                        self.printed.append(line.strip()[:MAX_SHOWN])
                    numbers = self.reading.hear(line)
                    if not numbers:
                        continue
                    log_end.clear()
                    attempts.append(self.reading, numbers)
                    if self.emit(self._step_of(numbers), numbers):
                        return True
            log_end.refuse_failure()
            self.reading.finish(Path(place), limit)
        return False

    def _step_of(self, numbers: Mapping[str, float]) -> int:
        """Returns the step at which numbers were read last."""
        step, _ = self.reading.values[next(iter(numbers))][-1]
        return step

    def _record(self, is_pruned: bool) -> Record:
        """Returns the record of a run that has ended well, or was asked to stop.

        Raises `AblateError` where a metric has no best step.
        """
        metrics = self.trial.config["metrics"]
        last = self.reading.last
        curves = self.reading.curves
        none = dict.fromkeys(metrics)
        if is_pruned:
            return Record.of(self.trial, "pruned", reason="asked to stop", metrics=none, curves=curves)
        values = last | best_values(metrics, self.reading.values)
        lost: dict[str, None] = {}
        for name, value in [*last.items(), *values.items()]:
            if not math.isfinite(value):
                lost[f"{name} {value:g}"] = None
        if lost:
            return Record.of(self.trial, "diverged", reason=listed(lost), metrics=none, curves=curves)
        return Record.of(self.trial, metrics={**none, **values}, curves=curves)

    def _failed(self, error: AblateError) -> Record:
        """Returns the record of a run that has failed."""
        if isinstance(error, StudyStop):
            record = Record.of(self.trial, "failed", reason=str(error), error=str(error))
            record.environment[STOPS] = True
            return record
        read = listed(f"{name} {value:g}" for name, value in self.reading.last.items())
        parts = [self._as_written(str(error))]
        if read:
            parts.append(f"last read: {read}")
        parts.append(f"last printed: {self.printed[-1][:200]}" if self.printed else "it printed nothing")
        reason = "; ".join(parts)
        return Record.of(self.trial, "failed", reason=reason, error=reason)

    def _as_written(self, reason: str) -> str:
        """Returns a reason with patterns as the study has them, whose backslashes are not doubled."""
        for pattern in self.options["read"].values():
            reason = reason.replace(repr(pattern), f"'{pattern}'")
        return reason


def _own_gpus(gpus: float | None) -> dict[str, str]:
    """Returns the variable by which a command sees its own GPUs, where other trials of the study take more."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if gpus is None or len(visible) <= max(1, gpus):
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(visible[: max(1, int(gpus))])}


def _check_code(snapshot: Snapshot) -> None:
    """Raises `StudyStop` where code or data in the study's folder have changed since they were read."""
    folder = snapshot.root / snapshot.inside
    now = read_snapshot(folder, snapshot.results, snapshot.scope)
    if now.code_identity != snapshot.code_identity:
        raise StudyStop(
            f"the code in {folder} changed while the study ran; have the code write elsewhere, and run the study again"
        )
    check_data(snapshot)
