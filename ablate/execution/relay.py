"""On a node of a cluster: the files of a study, and a worker of the local pool that takes its trials from afar."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from ablate.base.datafile import DataFile
from ablate.base.errors import described
from ablate.base.files import digest_of, digest_of_file, replacing
from ablate.base.wording import joined
from ablate.core.events import EngineEvent, Idle, Progress, WorkerLost
from ablate.core.trial import Trial
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.run_trial import WorkloadRef
from ablate.records.environment import kind, versions

# Path → digest of the content, and what fetches that.
Files = Mapping[str, tuple[str, Callable[[], bytes]]]

Value = TypeVar("Value")


def sources(reference: WorkloadRef) -> dict[str, str]:
    """Returns what must be the same on driver and node: versions, of all that ids stand for, and the code of ablate."""
    package = Path(__file__).parents[1]
    code = digest_of(*(path.read_bytes() for path in sorted(package.rglob("*.py"))))
    installed = versions(*reference.identity)
    names = ("python", "torch", "ablate", *reference.identity)
    named = {name: installed[name] for name in names if name in installed}
    return named | {"source of ablate": code[:8]}


def examine(theirs: Mapping[str, str], reference: WorkloadRef, files: Files, folder: str) -> tuple[str, str]:
    """Returns the kind of this node and empty text; or empty text and why the node cannot train.

    theirs: the `sources` of the driver.
    """
    here = sources(reference)
    differences = []
    for name, required in theirs.items():
        if here.get(name) != required:
            differences.append(f"{name} {here.get(name, 'missing')}, and the driver {required}")
    if differences:
        return "", f"has {joined(differences)}; install the same on all"
    try:
        _place(reference, files, folder).moved(reference).load()
    except (Exception, SystemExit) as error:
        return "", f"cannot load the code of the study ({described(error)[0]}); install what it imports there"
    return kind(reference.device), ""


def clean(folder: str) -> None:
    """Removes what was written on this node."""
    shutil.rmtree(os.path.join(tempfile.gettempdir(), folder), ignore_errors=True)


class Relay:
    """A worker of the local pool, and what goes to it and comes from it; `folder` takes files that the node lacks."""

    def __init__(self, reference: WorkloadRef, folder: str) -> None:
        self.reference = reference
        self.folder = folder
        # Root of the files → the pool whose worker reads them there.
        self.pools: dict[str, LocalPool] = {}
        self.trials: SimpleQueue[tuple[Trial, Files]] = SimpleQueue()
        # The events of a trial, and None after its last.
        self.events: SimpleQueue[EngineEvent | None] = SimpleQueue()
        self.messages: SimpleQueue[tuple[str, bool | str]] = SimpleQueue()
        # One thread for all trials: the process that forks workers ends with the thread that has started it.
        threading.Thread(target=self._work, daemon=True).start()

    def train(self, trial: Trial, files: Files) -> Generator[EngineEvent]:
        """Yields the events of a trial, until it has ended or is lost."""
        self.trials.put((trial, files))
        while True:
            event = self.events.get()
            if event is None:
                return
            yield event

    def tell(self, trial_id: str, message: bool | str) -> None:
        """Takes the answer to a report of a trial, or why the trial is to be ended by force."""
        self.messages.put((trial_id, message))

    def _work(self) -> None:
        """Trains one trial after the other."""
        while True:
            trial, files = self.trials.get()
            try:
                self._train(trial, files)
            except Exception as error:
                self.events.put(WorkerLost(trial.id, f"could not be started: {described(error)[0]}"))
            self.events.put(None)

    def _train(self, trial: Trial, files: Files) -> None:
        """Runs a trial in the pool of the place where its files are."""
        place = _place(self.reference, files, self.folder)
        pool = self.pools.get(place.root)
        if pool is None:
            # The cluster has chosen the GPUs.
            pool = LocalPool(place.moved(self.reference), 1, visible=[])
            self.pools[place.root] = pool
        pool.run([place.moved(trial)], partial(self._on_event, trial, place, pool))

    def _on_event(self, trial: Trial, place: _Place, pool: LocalPool, event: EngineEvent) -> bool:
        """Takes an event of a trial; returns whether the trial ends there, for which a report waits."""
        if not isinstance(event, Idle):
            self.events.put(place.moved_back(event))
        waits = isinstance(event, Progress) and trial.prunable
        while waits or not self.messages.empty():
            trial_id, message = self.messages.get()
            # Others are for trials that have ended.
            if trial_id == trial.id:
                if isinstance(message, str):
                    pool.stop(trial_id, message)
                return message is True
        return False


@dataclass(frozen=True)
class _Place:
    """Where a node has the files of a driver."""

    # The folder below which the files lie by their paths; nothing where all lie as on the driver.
    root: str
    # The paths of the driver that are others on this node.
    paths: Collection[str]

    def moved(self, value: Value) -> Value:
        """Returns what holds paths of the driver with those of this node."""
        if not self.root:
            return value
        moved: Value = _with_texts(value, lambda text: self.root + text if text in self.paths else text)
        return moved

    def moved_back(self, event: EngineEvent) -> EngineEvent:
        """Returns an event with the paths of the driver, also within texts such as tracebacks."""
        if not self.root:
            return event
        moved: EngineEvent = _with_texts(event, lambda text: text.replace(self.root, ""))
        return moved


def _place(reference: WorkloadRef, files: Files, folder: str) -> _Place:
    """Writes the files that this node lacks, and returns where they are."""
    are_there = all(_has(path, digest) for path, (digest, _) in files.items())
    root = "" if are_there else os.path.join(tempfile.gettempdir(), folder)
    for path, (_, fetch) in files.items():
        if not os.path.exists(root + path):
            with replacing(Path(root + path)) as temporary:
                temporary.write_bytes(fetch())
    return _Place(root, {*files, *map(str, (reference.folder, *reference.watched))})


def _has(path: str, digest: str) -> bool:
    """Returns whether this node has a file with this content."""
    return os.path.isfile(path) and digest_of_file(path) == digest


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a value with every text and path in it changed."""
    if isinstance(value, DataFile):
        return DataFile(change(value), value.written)
    if isinstance(value, (str, Path)):
        return type(value)(change(str(value)))
    if isinstance(value, Mapping):
        return {_with_texts(key, change): _with_texts(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_with_texts(item, change) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: _with_texts(getattr(value, field.name), change) for field in fields(value)}
        return replace(value, **changed)
    return value
