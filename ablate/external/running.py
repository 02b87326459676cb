"""One run of a user's code: its command in a folder, and the record that is made of what it prints and writes."""

import json
import math
import os
import re
import resource
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, listed
from ablate.base.process import THREADS
from ablate.core.log_end import LogEnd
from ablate.core.record import BESIDE, CODE, STOPS, VARIABLES, Record
from ablate.core.trial import Emit, Trial
from ablate.core.undeclared import keep_undeclared
from ablate.core.unread import mark_unread
from ablate.external.attempts import Attempts
from ablate.external.best import best_values
from ablate.external.command import TimeLimit, lines
from ablate.external.given import Given, placed
from ablate.external.reading import NotReadError, PatternError, Reading
from ablate.external.run_folder import RunFolder, StudyStop, check_data, run_folder
from ablate.external.snapshot import Snapshot, read_snapshot
from ablate.external.trace import in_place, path_in_copy
from ablate.external.unread import hint_on_copy, hint_on_folder

# In the environment of a record: files that were added to data while its trial ran.
ADDED = "added_data"
# In the environment of a record: files that it read, which are in no commit and which an earlier run may have left.
DOUBTFUL = "read_in_no_commit"
# In the environment of a record: files outside of its copy that it has read and then written.
SHARED = "shared_files"
# In the environment of a record: paths that it looked for in vain, and the study's folder has.
LACKED = "lacked"
MAX_LINES = 200
_MAX_NOTED = 20
"""The most paths of a kind that a record keeps."""
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*\w+(?:Error|Exception|Interrupt|Exit)(?::\s|$)")
"""The last line of a traceback of Python: the class of an exception, and what it says."""
# Characters of such a line that are looked through for why it failed.
MAX_SHOWN = 4000
# The lines that a failed reading shows, and their characters.
LAST_LINES = 5
MAX_QUOTED = 200


@dataclass
class Run:
    """A run of a trial by a command, given as words."""

    trial: Trial
    words: Sequence[str]
    seed: int
    emit: Emit
    given: Given
    reading: Reading = field(init=False)
    # On the wall, and of processors, from the start of the command to its end; 0 before it.
    seconds: float = 0.0
    cpu_seconds: float = 0.0
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
            with run_folder(snapshot, self.trial.id, resumes=resumes, given=self.given.files) as folder:
                folder.check_given()
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
        here = root / folder.snapshot.inside
        self.words = [path_in_copy(in_place(word, here), root, folder.place) for word in self.words]
        attempts = Attempts(folder.trace_folder if self.options["resume"] else None)
        try:
            is_pruned = self._run(folder.folder, folder.environment(), attempts)
        except NotReadError as error:
            folder.check_missing(self.printed)
            raise self._with_hint(error, folder) from None
        except AblateError:
            folder.check_missing(self.printed)
            raise
        folder.check()
        record = self._record(is_pruned)
        keep_undeclared(record, self.reading.undeclared.points)
        paths = {
            ADDED: folder.added_data(),
            DOUBTFUL: folder.doubtful(),
            SHARED: folder.shared(),
            LACKED: folder.lacked(),
        }
        record.environment |= {name: found[:_MAX_NOTED] for name, found in paths.items() if found}
        variables = folder.variables(self.words, self.given.env)
        if variables:
            record.environment[VARIABLES] = variables
        beside = folder.files_beside(self.words)
        if beside:
            record.environment[BESIDE] = beside
        folder.tidy(self.options["keep"])
        return record

    def _with_hint(self, error: NotReadError, folder: RunFolder) -> NotReadError:
        """Returns an error with what the trial wrote to its copy, where it wrote nothing to `$ABLATE_DIR`."""
        if error.hint:
            return error
        return NotReadError(error.metric, hint_on_copy(error.metric, folder.folder, folder.written()))

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
            beside = self.given.at(place, self.trial.id)
            _write(beside.files, folder)
            env |= _with_hook(beside.env, env)
            words = [placed(word, place, self.trial.id) for word in words]
            log_end = LogEnd()
            with self._timed(), closing(lines(words, folder, env, limit)) as output:
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
            try:
                self.reading.finish(Path(place), limit)
            except NotReadError as error:
                hint = hint_on_folder(error.metric, Path(place))
                raise NotReadError(error.metric, hint) from None
        return False

    @contextmanager
    def _timed(self) -> Iterator[None]:
        """Notes how long the command took, with the start of its guard and the hook that traces it."""
        started = time.perf_counter()
        cpu_before = _cpu_of_children()
        yield
        self.seconds = time.perf_counter() - started
        self.cpu_seconds = _cpu_of_children() - cpu_before

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
        if isinstance(error, PatternError):
            printed = listed((f"'{line[:MAX_QUOTED]}'" for line in [*self.printed][-LAST_LINES:]), LAST_LINES)
            reason = f"{error}; it printed last: {printed}" if printed else f"{error}; it printed nothing"
            record = Record.of(self.trial, "failed", reason=reason, error=reason)
            mark_unread(record)
            return record
        read = listed(f"{name} {value:g}" for name, value in self.reading.last.items())
        parts = [str(error)]
        if read:
            parts.append(f"last read: {read}")
        parts.append(self._last_words())
        reason = "; ".join(parts)
        return Record.of(self.trial, "failed", reason=reason, error=reason)

    def _last_words(self) -> str:
        """Returns the line of the exception with which the run ended, else the last one that it printed."""
        if not self.printed:
            return "it printed nothing"
        exceptions = [line for line in self.printed if _EXCEPTION.match(line)]
        if exceptions and any(line.startswith("Traceback (most recent call last)") for line in self.printed):
            return exceptions[-1][:200]
        return f"last printed: {self.printed[-1][:200]}"


def _cpu_of_children() -> float:
    """Returns the seconds of processors that ended children of this process, and theirs, have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _write(files: Mapping[str, str], folder: Path) -> None:
    """Writes the files that a trial is given. Raises `AblateError`."""
    for path, text in files.items():
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # It may be a link to data.
            place.write_text(text, encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise AblateError(f"{path} cannot be written for the trial: {error.strerror}") from None


def _with_hook(given: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a trial is given, its own paths of modules behind that of the hook."""
    if "PYTHONPATH" not in given or "PYTHONPATH" not in env:
        return dict(given)
    hook, _, _ = env["PYTHONPATH"].partition(os.pathsep)
    return {**given, "PYTHONPATH": os.pathsep.join([hook, given["PYTHONPATH"]])}


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
