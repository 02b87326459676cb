"""The store: finished trials, each written whole or not at all. Everything else can be rebuilt from it.

    trials/<id>.json          the record, with digests of itself and of the other files
    trials/<id>.npz           curves and arrays
    trials/<id>.safetensors   the kept weights, where a study keeps them
    trials/<id>.state         the state from which an interrupted trial resumes, with a digest of it and the id

The JSON file is written last: where it exists, the trial is finished. A file that does not hold what was written, or
what was asked for, is set aside under another name, and its trial is trained again. Whatever else
lies there is a user's, and stays.
"""

import heapq
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ablate.base.errors import StoreError
from ablate.base.files import digest_of, digest_of_data, digest_of_file, set_aside, write_files
from ablate.base.text import at_results, typed
from ablate.core.record import BESIDE, Record
from ablate.core.trial import Checkpoint, Trial
from ablate.records.environment import machine

# The endings of the files of one trial, the record first.
SUFFIXES = (".json", ".npz", ".safetensors", ".state")
NEWEST = 50  # Records by which the time of another training is told.
ANY_ID = "[0-9a-f]" * 16  # The pattern of the id of a trial.
_DIGEST_LENGTH = len(digest_of())

Content = TypeVar("Content")


class Store:
    """Records by trial id, under `root/trials`, or another `folder` of it.

    A corrupt file is set aside with a warning; with `read_only`, it is left where it is.
    """

    def __init__(
        self,
        root: Path,
        warn: Callable[[str], None] = lambda message: None,
        *,
        read_only: bool = False,
        folder: str = "trials",
    ) -> None:
        self.root = root
        self.read_only = read_only
        self.trials = root / folder
        self.warn = warn

    def read(
        self,
        path: Path,
        decode: Callable[[bytes], Content],
        consequence: str = "",
        suffixes: Sequence[str] = (),
    ) -> Content | None:
        """Returns what `decode` makes of a file; None where there is none, or where `decode` raises an error.

        Such a file is set aside, together with the files of its name that have one of the `suffixes`, and with a
        warning that ends in the `consequence`. Raises `StoreError`.
        """
        try:
            content = _content(path)
            return None if content is None else decode(content)
        except StoreError:
            raise
        except Exception as error:
            # JSON, zip and numpy each raise errors of several kinds, and all of them mean the same here.
            fault = f"corrupt ({str(error) or type(error).__name__})"
        if not self.read_only:
            name = _set_aside(path, suffixes, fault)
            fault += f"; set aside as {name}"
        self.warn(f"{path} is {fault}{consequence}")
        return None

    def load(self, trial: Trial | str) -> Record | None:
        """Returns the record of a trial, or of an id; None when none can be read, or it is another trial's."""
        trial_id = trial if isinstance(trial, str) else trial.id
        path = self.trials / f"{trial_id}.json"

        def decode(content: bytes) -> Record:
            from ablate.records.record_file import decoded  # With numpy, of which a stamp has no need.

            record = decoded(content, _content(path.with_suffix(".npz")))
            if record.id != trial_id:
                raise ValueError(f"holds the record of {record.id}")
            if isinstance(trial, Trial) and not record.is_of(trial):
                raise ValueError("is of another config, seed or stream than its trial")
            return record

        consequence = ", the trial will be trained again where a study needs it"
        return self.read(path, decode, consequence, suffixes=(".npz", ".safetensors"))

    def is_finished(
        self, record: Record | None, checkpoint: Checkpoint = "none", *, pruned: bool = False
    ) -> bool:
        """Returns whether nothing is left to train of a trial of which `checkpoint` is to be kept.

        A failed trial is never finished, nor one of which a file has changed that it read beside its code. A pruned
        trial is only where `pruned` says so: for a search that would end it at the same step. One that diverged is
        finished without weights.
        """
        if record is None or record.status == "failed" or has_changed_beside(record):
            return False
        if record.status == "pruned" and not pruned:
            return False
        if checkpoint == "none" or record.status != "completed":
            return True
        return self.has_weights(record, checkpoint)

    def has_weights(self, record: Record, checkpoint: Checkpoint) -> bool:
        """Returns whether these weights of the trial can be read."""
        return checkpoint in record.kept and self.weights(record) is not None

    def weights(self, record: Record) -> bytes | None:
        """Returns the kept weights of a trial, in the safetensors format; None when none can be read."""
        if record.weights is not None or not record.kept:
            return record.weights

        def decode(content: bytes) -> bytes:
            if digest_of(content) != record.weights_digest:
                raise ValueError("another digest")
            return content

        return self.read(self.trials / f"{record.id}.safetensors", decode)

    def load_state(self, trial_id: str) -> bytes | None:
        """Returns the state from which an interrupted trial resumes, or None."""

        def decode(content: bytes) -> bytes:
            state = content[_DIGEST_LENGTH:]
            if content != _with_digest(trial_id, state):
                raise ValueError("it is not what was saved for this trial")
            return state

        path = self.trials / f"{trial_id}.state"
        return self.read(path, decode, ", the trial starts again from its first step")

    def save_state(self, trial_id: str, state: bytes) -> None:
        """Keeps the state of a running trial until its record is saved. Raises `StoreError`."""
        write_files(self.trials, {f"{trial_id}.state": _with_digest(trial_id, state)})

    def has(self, trial_id: str) -> bool:
        """Returns whether there is a record, which may be corrupt."""
        return (self.trials / f"{trial_id}.json").is_file()

    def remove(self, trial_id: str) -> None:
        """Removes a record."""
        (self.trials / f"{trial_id}.json").unlink(missing_ok=True)

    def save(self, record: Record) -> None:
        """Writes the record and its weights; they replace those of the same id. Raises `StoreError`."""
        from ablate.records.record_file import files_of

        files = dict(files_of(record))
        # The next attempt at a failed or pruned trial resumes from its state.
        if record.status not in ("failed", "pruned"):
            files[f"{record.id}.state"] = None
        write_files(self.trials, files)

    def usual_seconds(self, compute: int | None) -> float | None:
        """Returns how long a training of so many FLOPs takes here; None where no record of this machine tells.

        Of the newest records, the one that is nearest in FLOPs counts.
        """
        if not compute:
            return None
        seconds: dict[int, float] = {}  # FLOPs → of the newest training of so many.
        for path in newest(self.trials.glob(f"{ANY_ID}.json"), NEWEST):
            record = self.load(path.stem)
            if record is None or record.environment.get("machine") != machine():
                continue
            flops = record.environment.get("compute")
            if flops:
                seconds.setdefault(flops, record.seconds)
        if not seconds:
            return None
        nearest = min(seconds, key=lambda flops: abs(math.log(flops / compute)))
        return seconds[nearest] * compute / nearest

    def stamp(self, trial_ids: Iterable[str]) -> str:
        """Returns a digest that changes when any of the records does. Reads no file.

        Raises `OSError` when a record is missing.
        """
        paths = [self.trials / f"{trial_id}.json" for trial_id in sorted(trial_ids)]
        names = [path.stem for path in paths]
        states: list[tuple[int, int]] = []
        for path in paths:
            for file in (path, path.with_suffix(".npz")):
                state = file.stat()
                states.append((state.st_size, state.st_mtime_ns))
        with_weights = [path.with_suffix(".safetensors").exists() for path in paths]
        return digest_of_data([names, states, with_weights])


def has_changed_beside(record: Record) -> bool:
    """Returns whether a file is another that the trial has read and its id does not stand for."""
    beside: Mapping[str, str] = record.environment.get(BESIDE, {})
    return any(not os.path.isfile(path) or digest_of_file(path) != digest for path, digest in beside.items())


def _with_digest(trial_id: str, state: bytes) -> bytes:
    """Returns a state as it is saved: behind a digest that binds it to its trial."""
    return digest_of(trial_id.encode(), state).encode() + state


def _content(path: Path) -> bytes | None:
    """Returns the file's content, None when there is none.

    Raises `StoreError`, and `ValueError` for what is no file.
    """
    try:
        if os.path.lexists(path) and not path.is_file():
            raise ValueError("it is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error


def _set_aside(path: Path, suffixes: Sequence[str], fault: str) -> str:
    """Sets a faulty file aside, with the files of its name that have one of the suffixes, and returns the new name.

    Raises `StoreError`.
    """
    files = [path, *map(path.with_suffix, suffixes)]
    try:
        return set_aside(path.with_suffix(""), files)
    except OSError as error:
        raise StoreError(
            f"{path}: is {fault} and cannot be set aside: {error.strerror}; choose another --results"
        ) from error


def whereabouts(trial_id: str, results: Path) -> str:
    """Returns the file of a trial's record, and the command that shows it."""
    return f"{results / 'store' / 'trials' / trial_id}.json; {typed('show', trial_id, *at_results(results))}"


def stored(folder: Path) -> dict[str, list[Path]]:
    """Returns trial id → its files, the record first, without links.

    A trial without a record has not finished.
    """
    files: dict[str, list[Path]] = {}
    for suffix in SUFFIXES:
        for path in sorted(folder.glob(f"{ANY_ID}{suffix}")):
            if path.is_file() and not path.is_symlink():
                files.setdefault(path.stem, []).append(path)
    return files


def newest(paths: Iterable[Path], most: int) -> list[Path]:
    """Returns at most so many files, those that were changed last, from the newest."""
    return heapq.nlargest(most, paths, key=_time_of_change)


def _time_of_change(path: Path) -> float:
    """Returns when a file was changed last, in seconds since 1970; 0 for one that is gone, or a link to nothing."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
