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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from ablate.base.errors import StoreError
from ablate.base.files import digest_of, digest_of_data, set_aside, write_files
from ablate.base.text import at_results, typed
from ablate.core.record import Record
from ablate.core.trial import Checkpoint, Trial
from ablate.records.environment import machine

# The endings of the files of one trial, the record first.
SUFFIXES = (".json", ".npz", ".safetensors", ".state")
NEWEST = 50  # Records by which the time of another training is told.
ANY_ID = "[0-9a-f]" * 16  # The pattern of the id of a trial.
_DIGEST_LENGTH = len(digest_of())

Content = TypeVar("Content")


class Store:
    """Records by trial id, under `root/trials`.

    A corrupt file is set aside with a warning; with `read_only`, it is left where it is.
    """

    def __init__(
        self, root: Path, warn: Callable[[str], None] = lambda message: None, *, read_only: bool = False
    ) -> None:
        self.root = root
        self.read_only = read_only
        self.trials = root / "trials"
        self.warn = warn

    def read(
        self, path: Path, decode: Callable[[bytes], Content], then: str = "", beside: Sequence[str] = ()
    ) -> Content | None:
        """What `decode` makes of a file; None where there is none, or where `decode` raises an error.

        Such a file is set aside with those of its name that end `beside` it, with a warning that ends in `then`. Raises
        `StoreError`.
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
            try:
                name = set_aside(path.with_suffix(""), [path, *map(path.with_suffix, beside)])
            except OSError as error:
                raise StoreError(
                    f"{path}: is {fault} and cannot be set aside: {error.strerror}; choose another --results"
                ) from error
            fault += f"; set aside as {name}"
        self.warn(f"{path} is {fault}{then}")
        return None

    def load(self, trial: Trial | str) -> Record | None:
        """The record of a trial, or of an id; None when there is none that can be read, or it is another's."""
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

        then = ", the trial will be trained again where a study needs it"
        return self.read(path, decode, then, SUFFIXES[1:3])

    def is_finished(
        self, record: Record | None, checkpoint: Checkpoint = "none", *, pruned: bool = False
    ) -> bool:
        """Whether nothing is left to train of a trial of which `checkpoint` is to be kept.

        A failed trial is never finished. A pruned trial is only where `pruned` says so: for a search that would
        end it at the same step. One that diverged is finished without weights.
        """
        if record is None or record.status == "failed" or (record.status == "pruned" and not pruned):
            return False
        return checkpoint == "none" or record.status != "completed" or self.has_weights(record, checkpoint)

    def has_weights(self, record: Record, checkpoint: Checkpoint) -> bool:
        """Whether these weights of the trial can be read."""
        return checkpoint in record.kept and self.weights(record) is not None

    def weights(self, record: Record) -> bytes | None:
        """The kept weights of a trial, in the safetensors format; None when there are none that can be read."""

        def decode(content: bytes) -> bytes:
            if digest_of(content) != record.weights_digest:
                raise ValueError("another digest")
            return content

        return self.read(self.trials / f"{record.id}.safetensors", decode) if record.kept else None

    def load_state(self, trial_id: str) -> bytes | None:
        """The state from which an interrupted trial resumes, or None."""

        def decode(content: bytes) -> bytes:
            state = content[_DIGEST_LENGTH:]
            if content != _with_digest(trial_id, state):
                raise ValueError("it is not what was saved for this trial")
            return state

        return self.read(
            self.trials / f"{trial_id}.state", decode, ", the trial starts again from its first step"
        )

    def save_state(self, trial_id: str, state: bytes) -> None:
        """Keeps the state of a running trial until its record is saved. Raises `StoreError`."""
        write_files(self.trials, {f"{trial_id}.state": _with_digest(trial_id, state)})

    def has(self, trial_id: str) -> bool:
        """Whether there is a record, which may be corrupt."""
        return (self.trials / f"{trial_id}.json").is_file()

    def save(self, record: Record) -> None:
        """Writes the record and its weights; they replace those of the same id. Raises `StoreError`."""
        from ablate.records.record_file import encoded

        # A record has weights of its own training beside it, or none.
        record.kept = record.kept if record.weights is not None else []
        record.weights_digest = digest_of(record.weights) if record.weights is not None else ""
        content, arrays = encoded(record)
        files = {".npz": arrays, ".safetensors": record.weights, ".json": content}
        # The next attempt at a failed or pruned trial resumes from its state.
        files |= {} if record.status in ("failed", "pruned") else {".state": None}
        write_files(self.trials, {f"{record.id}{suffix}": data for suffix, data in files.items()})

    def usual_seconds(self, compute: int | None) -> float | None:
        """How long a training of so many FLOPs takes here, by that of the newest records which is nearest in FLOPs.

        None where no record of this machine tells.
        """
        newest = heapq.nlargest(NEWEST, self.trials.glob(f"{ANY_ID}.json"), key=os.path.getmtime)
        took: dict[int, float] = {}
        for record in filter(None, (self.load(path.stem) for path in newest) if compute else ()):
            if record.environment.get("machine") == machine() and (
                known := record.environment.get("compute")
            ):
                took.setdefault(known, record.seconds)
        nearest = min(took, key=lambda known: abs(math.log(known / (compute or 1))), default=None)
        return took[nearest] * (compute or 0) / nearest if nearest else None

    def stamp(self, trial_ids: Iterable[str]) -> str:
        """Changes when any of the records does; raises `OSError` when one is missing. Reads no file."""
        paths = [self.trials / f"{trial_id}.json" for trial_id in sorted(trial_ids)]
        states = [file.stat() for path in paths for file in (path, path.with_suffix(".npz"))]
        weights = [path.with_suffix(".safetensors").exists() for path in paths]
        return digest_of_data(
            [[path.stem for path in paths], [(s.st_size, s.st_mtime_ns) for s in states], weights]
        )


def _with_digest(trial_id: str, state: bytes) -> bytes:
    """A state as it is saved: behind a digest that binds it to its trial."""
    return digest_of(trial_id.encode(), state).encode() + state


def _content(path: Path) -> bytes | None:
    """The file's content, None when there is none; raises `StoreError`, and `ValueError` for what is no file."""
    try:
        if os.path.lexists(path) and not path.is_file():
            raise ValueError("it is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error


def whereabouts(trial_id: str, results: Path) -> str:
    """The file of a trial's record, and the command that shows it."""
    return f"{results / 'store' / 'trials' / trial_id}.json; {typed('show', trial_id, *at_results(results))}"


def stored(folder: Path) -> dict[str, list[Path]]:
    """Trial id → its files, the record first, without links; a trial without a record has not finished."""
    found: dict[str, list[Path]] = {}
    paths = (path for suffix in SUFFIXES for path in sorted(folder.glob(f"{ANY_ID}{suffix}")))
    for path in (path for path in paths if path.is_file() and not path.is_symlink()):
        found.setdefault(path.stem, []).append(path)
    return found
