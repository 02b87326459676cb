"""On a node of a cluster: the files of a study, and a worker of the local pool that takes its trials from afar."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError, described
from ablate.base.files import digest_of, digest_of_file, replacing
from ablate.base.wording import joined
from ablate.core.events import Ended, EngineEvent, Idle, Lost, Progress
from ablate.core.trial import Trial
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.trial import WorkloadRef
from ablate.records.environment import kind, versions

# Path → digest of the content, and what fetches that.
Files = Mapping[str, tuple[str, Callable[[], bytes]]]


def sources() -> dict[str, str]:
    """What must be the same on driver and node."""
    package = Path(__file__).parents[1]
    code = digest_of(*(path.read_bytes() for path in sorted(package.rglob("*.py"))))
    return {name: versions()[name] for name in ("python", "torch", "ablate")} | {"source of ablate": code[:8]}


def examine(theirs: Mapping[str, str], reference: WorkloadRef, files: Files, folder: str) -> tuple[str, str]:
    """The kind of this node, and why it cannot train, or nothing; `theirs` are the sources of the driver."""
    own = sources()
    if differ := [
        f"{name} {own[name]}, and the driver {theirs[name]}" for name in own if own[name] != theirs[name]
    ]:
        return "", f"has {joined(differ)}; install the same on all"
    try:
        _Here(reference, files, folder).of(reference).load()
    except (Exception, SystemExit) as error:
        return "", f"cannot load the code of the study ({described(error)[0]}); install what it imports there"
    return kind(reference.device), ""


def clean(folder: str) -> None:
    """Removes what was written on this node."""
    shutil.rmtree(os.path.join(tempfile.gettempdir(), folder), ignore_errors=True)


class Relay:
    """A worker of the local pool, and what goes to it and comes from it; `folder` takes files that the node lacks."""

    def __init__(self, reference: WorkloadRef, folder: str) -> None:
        self.reference, self.folder = reference, folder
        self.pools: dict[str, LocalPool] = {}
        self.trials, self.events, self.messages = (SimpleQueue[Any]() for _ in range(3))
        # One thread for all trials: the process that forks workers ends with the thread that has started it.
        threading.Thread(target=self._work, daemon=True).start()

    def begun(self) -> None:
        """Returns as soon as this has begun."""

    def train(self, trial: Trial, files: Files) -> Generator[EngineEvent]:
        """The events of a trial, until it has ended or is lost."""
        self.trials.put((trial, files))
        event: EngineEvent = Idle()
        while not isinstance(event, (Ended, Lost)):
            yield (event := self.events.get())

    def tell(self, trial_id: str, message: bool | str) -> None:
        """The answer to a report of a trial, or why the trial is to be ended by force."""
        self.messages.put((trial_id, message))

    def _work(self) -> None:
        while True:
            trial, files = self.trials.get()
            try:
                here = _Here(self.reference, files, self.folder)
                if here.root not in self.pools:
                    # The cluster has chosen the GPU.
                    self.pools[here.root] = LocalPool(here.of(self.reference), 1, devices=0)
                pool = self.pools[here.root]
                pool.run([here.of(trial)], partial(self._hear, trial, here, pool))
            except Exception as error:
                self.events.put(Lost(trial.id, f"could not be begun: {described(error)[0]}"))

    def _hear(self, trial: Trial, here: "_Here", pool: LocalPool, event: EngineEvent) -> bool:
        waits = isinstance(event, Progress) and trial.prunable
        if not isinstance(event, Idle):
            self.events.put(here.undone(event))
        while waits or not self.messages.empty():
            trial_id, message = self.messages.get()
            if trial_id == trial.id and isinstance(message, bool):
                return message
            if trial_id == trial.id:
                pool.stop(trial.id, message)
                return False
        return False


class _Here:
    """Where this node has the files of a study: where the driver has them, or below a folder of its own."""

    def __init__(self, reference: WorkloadRef, files: Files, folder: str) -> None:
        """Writes what the node lacks. Raises `AblateError`."""
        there = all(_has(path, digest) for path, (digest, _) in files.items())
        self.root = "" if there else os.path.join(tempfile.gettempdir(), folder)
        self.known = {*files, *map(str, (reference.folder, *reference.watched))}
        for path, (digest, content) in files.items():
            if not _has(self.root + path, digest):
                with replacing(Path(self.root + path)) as temporary:
                    temporary.write_bytes(content())

    def of(self, value: Any) -> Any:
        """What holds paths of the driver, with those of this node."""
        return (
            _with_paths(value, lambda text: self.root + text if text in self.known else text)
            if self.root
            else value
        )

    def undone(self, value: Any) -> Any:
        """What holds paths of this node, with those of the driver."""
        return _with_paths(value, lambda text: text.replace(self.root, "")) if self.root else value


def _has(path: str, digest: str) -> bool:
    with suppress(AblateError):
        return digest_of_file(path) == digest
    return False


def _with_paths(value: Any, changed: Callable[[str], str]) -> Any:
    """A value with all text in it changed."""
    change = partial(_with_paths, changed=changed)
    if isinstance(value, DataFile):
        return DataFile(changed(value), value.written)
    if isinstance(value, (str, Path)):
        return type(value)(changed(str(value)))
    if isinstance(value, Mapping):
        return {change(key): change(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(change, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{of.name: change(getattr(value, of.name)) for of in fields(value)})
    return value
