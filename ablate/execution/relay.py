"""On a node of a cluster: the files of a study, and a worker of the local pool that takes its trials from afar."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import described
from ablate.base.files import digest_of, digest_of_file, replacing
from ablate.base.wording import joined
from ablate.core.events import EngineEvent, Idle, Lost, Progress
from ablate.core.trial import Trial
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.trial import WorkloadRef
from ablate.records.environment import kind, versions

# Path → digest of the content, and what fetches that.
Files = Mapping[str, tuple[str, Callable[[], bytes]]]


def sources(reference: WorkloadRef) -> dict[str, str]:
    """What must be the same on driver and node: versions, of all that ids stand for, and the code of ablate."""
    code = digest_of(*(path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py"))))
    known = versions(*reference.identity)
    named = {
        name: known[name] for name in ("python", "torch", "ablate", *reference.identity) if name in known
    }
    return named | {"source of ablate": code[:8]}


def examine(theirs: Mapping[str, str], reference: WorkloadRef, files: Files, folder: str) -> tuple[str, str]:
    """The kind of this node, and why it cannot train, or nothing; `theirs` are the sources of the driver."""
    own = sources(reference)
    if differ := [
        f"{name} {own.get(name, 'missing')}, and the driver {theirs[name]}"
        for name in theirs
        if own.get(name) != theirs[name]
    ]:
        return "", f"has {joined(differ)}; install the same on all"
    try:
        _moved(reference, *_placed(reference, files, folder)).load()
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

    def train(self, trial: Trial, files: Files) -> Generator[EngineEvent]:
        """The events of a trial, until it has ended or is lost."""
        self.trials.put((trial, files))
        for event in iter(self.events.get, None):  # noqa: UP028 - Ray sends into it, which this iterator does not take
            yield event

    def tell(self, trial_id: str, message: bool | str) -> None:
        """The answer to a report of a trial, or why the trial is to be ended by force."""
        self.messages.put((trial_id, message))

    def _work(self) -> None:
        while True:
            trial, files = self.trials.get()
            try:
                root, known = _placed(self.reference, files, self.folder)
                if root not in self.pools:
                    # The cluster has chosen the GPU.
                    self.pools[root] = LocalPool(_moved(self.reference, root, known), 1, devices=0)
                pool = self.pools[root]
                pool.run([_moved(trial, root, known)], partial(self._hear, trial, root, pool))
            except Exception as error:
                self.events.put(Lost(trial.id, f"could not be begun: {described(error)[0]}"))
            self.events.put(None)

    def _hear(self, trial: Trial, root: str, pool: LocalPool, event: EngineEvent) -> bool:
        waits = isinstance(event, Progress) and trial.prunable
        if not isinstance(event, Idle):
            self.events.put(_with_paths(event, lambda text: text.replace(root, "")) if root else event)
        while waits or not self.messages.empty():
            trial_id, message = self.messages.get()
            if trial_id == trial.id:
                if isinstance(message, str):
                    pool.stop(trial_id, message)
                return message is True
        return False


def _placed(reference: WorkloadRef, files: Files, folder: str) -> tuple[str, Collection[str]]:
    """Below which folder the node has these files, nothing where all lie as on the driver; and the paths that change.

    Writes those that it lacks.
    """
    there = all(
        os.path.isfile(path) and digest_of_file(path) == digest for path, (digest, _) in files.items()
    )
    root = "" if there else os.path.join(tempfile.gettempdir(), folder)
    for path, (_, content) in files.items():
        if not os.path.exists(root + path):
            with replacing(Path(root + path)) as temporary:
                temporary.write_bytes(content())
    return root, {*files, *map(str, (reference.folder, *reference.watched))}


def _moved(value: Any, root: str, known: Collection[str]) -> Any:
    """What holds paths of the driver, with those of this node."""
    return _with_paths(value, lambda text: root + text if text in known else text) if root else value


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
