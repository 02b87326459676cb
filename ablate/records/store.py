"""The store: finished trials, each written whole or not at all. Everything else can be rebuilt from it.

    trials/<id>.json          the record, with digests of itself and of the other files
    trials/<id>.npz           curves and arrays
    trials/<id>.safetensors   the kept weights, where a study keeps them
    trials/<id>.state         the state from which an interrupted trial resumes, with a digest of it and the id

The JSON file is written last: where it exists, the trial is finished. A file that does not hold what was written, or
what was asked for, is set aside under another name, and its trial is trained again. Whatever else
lies there is a user's, and stays.
"""

from __future__ import annotations

import errno
import hashlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from ablate.base.errors import StoreError
from ablate.base.files import digest_of, replacing
from ablate.base.text import at_results
from ablate.core.record import Record
from ablate.core.trial import Checkpoint, Trial
from ablate.records.record_file import CorruptRecordError, decoded, encoded

# The endings of the files of one trial, the record first.
SUFFIXES = (".json", ".npz", ".safetensors", ".state")
_DIGEST_LENGTH = len(digest_of())


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

    def load(self, trial: Trial | str) -> Record | None:
        """The record of a trial, or of an id; None when there is none that can be read, or it is another's."""
        trial_id = trial if isinstance(trial, str) else trial.id
        path = self.trials / f"{trial_id}.json"
        try:
            content = read_bytes(path)
            if content is None:
                return None
            record = decoded(content, read_bytes(path.with_suffix(".npz")))
            if record.id != trial_id:
                raise CorruptRecordError(f"holds the record of {record.id}")
            if isinstance(trial, Trial) and not record.is_of(trial):
                raise CorruptRecordError("is of another config, seed or stream than its trial")
            return record
        except CorruptRecordError as error:
            self.spoilt(
                path,
                error,
                [path.with_suffix(s) for s in SUFFIXES[:3]],
                ", the trial will be trained again where a study needs it",
            )
            return None

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
        path = self.trials / f"{record.id}.safetensors"
        if not record.kept:
            return None
        try:
            content = read_bytes(path)
            if content is not None and digest_of(content) != record.weights_digest:
                raise CorruptRecordError("another digest")
            return content
        except CorruptRecordError as error:
            self.spoilt(path, error, [path])
            return None

    def load_state(self, trial_id: str) -> bytes | None:
        """The state from which an interrupted trial resumes, or None."""
        path = self.trials / f"{trial_id}.state"
        try:
            content = read_bytes(path)
            if content is None:
                return None
            digest, state = content[:_DIGEST_LENGTH], content[_DIGEST_LENGTH:]
            if digest != _of_state(trial_id, state):
                raise CorruptRecordError("it is not what was saved for this trial")
            return state
        except CorruptRecordError as error:
            self.spoilt(path, error, [path], ", the trial starts again from its first step")
            return None

    def save_state(self, trial_id: str, state: bytes) -> None:
        """Keeps the state of a running trial until its record is saved. Raises `StoreError`."""
        with replacing(self.trials / f"{trial_id}.state") as temporary:
            temporary.write_bytes(_of_state(trial_id, state) + state)

    def has(self, trial_id: str) -> bool:
        """Whether there is a record, which may be corrupt."""
        return (self.trials / f"{trial_id}.json").is_file()

    def save(self, record: Record) -> None:
        """Writes the record and its weights; they replace those of the same id. Raises `StoreError`."""
        path = self.trials / f"{record.id}.json"
        # A record has weights of its own training beside it, or none.
        record.kept = record.kept if record.weights is not None else []
        record.weights_digest = digest_of(record.weights) if record.weights is not None else ""
        content, arrays = encoded(record)
        for suffix, bytes_ in ((".npz", arrays), (".safetensors", record.weights), (".json", content)):
            if bytes_ is None:
                path.with_suffix(suffix).unlink(missing_ok=True)
                continue
            with replacing(path.with_suffix(suffix)) as temporary:
                temporary.write_bytes(bytes_)
        if record.status not in ("failed", "pruned"):
            # The next attempt at a failed or pruned trial resumes from its state.
            path.with_suffix(".state").unlink(missing_ok=True)

    def spoilt(self, path: Path, reason: Exception, files: Sequence[Path], then: str = "") -> None:
        """Warns of a corrupt file, and renames the `files` that belong to it to names that nothing looks for.

        Raises `StoreError`.
        """
        if self.read_only:
            self.warn(f"{path} is corrupt ({reason}){then}")
            return
        number = 1
        while any(path.parent.glob(f"{path.stem}.corrupt-{number}*")):
            number += 1
        name = f"{path.stem}.corrupt-{number}"
        aside = {file: name + file.suffix.removesuffix(".json") for file in files}
        try:
            for file in filter(Path.exists, files):
                file.replace(path.with_name(aside[file]))
        except OSError as error:
            raise StoreError(
                f"{path}: is corrupt ({reason}) and cannot be set aside: {error.strerror}; choose another --results"
            ) from error
        self.warn(f"{path} is corrupt ({reason}); set aside as {aside[path]}{then}")

    def stamp(self, trial_ids: Iterable[str]) -> str:
        """Changes when any of the records does; "" when one is missing. Reads no file."""
        digest = hashlib.blake2b(digest_size=16)
        for trial_id in sorted(trial_ids):
            try:
                for suffix in (".json", ".npz"):
                    state = (self.trials / f"{trial_id}{suffix}").stat()
                    digest.update(f"{trial_id}{suffix} {state.st_size} {state.st_mtime_ns}\n".encode())
            except OSError:
                return ""
            digest.update(str((self.trials / f"{trial_id}.safetensors").exists()).encode())
        return digest.hexdigest()


def _of_state(trial_id: str, state: bytes) -> bytes:
    """The digest in front of a saved state, which binds it to its trial."""
    return digest_of(trial_id.encode(), state).encode()


def read_bytes(path: Path) -> bytes | None:
    """The file's content, None when there is none; raises `StoreError`, and `CorruptRecordError` for no file."""
    try:
        if path.exists() and not path.is_file():
            raise CorruptRecordError("it is not a file")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise CorruptRecordError("it is a link to itself") from None
        raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error


_TRIAL = re.compile(rf"([0-9a-f]{{16}})({'|'.join(map(re.escape, SUFFIXES))})")
_ASIDE = re.compile(r"[0-9a-f]{16}\.corrupt-\d+(\.\w+)?")


def whereabouts(trial_id: str, results: Path) -> str:
    """The file of a trial's record, and the command that shows it."""
    command = shlex.join(["ablate", "show", trial_id, *at_results(results)])
    return f"{results / 'store' / 'trials' / trial_id}.json; {command}"


def stored(folder: Path) -> dict[str, list[Path]]:
    """Trial id → its files, the record first; a trial without a record has not finished."""
    found: dict[str, list[Path]] = {}
    matched = [(match, path) for path in _files(folder) if (match := _TRIAL.fullmatch(path.name))]
    for match, path in sorted(matched, key=lambda each: (SUFFIXES.index(each[0][2]), each[0][1])):
        found.setdefault(match[1], []).append(path)
    return found


def set_aside(folder: Path) -> list[Path]:
    """The corrupt files of trials, under the names that nothing looks for."""
    return sorted(path for path in _files(folder) if _ASIDE.fullmatch(path.name))


def _files(folder: Path) -> Iterator[Path]:
    """The files in a folder, without links; none where there is no folder."""
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.is_file() and not path.is_symlink())
