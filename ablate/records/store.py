"""The store: one file a finished trial, written whole or not at all. It is the truth; all else can be rebuilt.

    trials/<id>.json          the record, with digests of the other files
    trials/<id>.npz           curves and arrays
    trials/<id>.safetensors   the kept weights, where a study keeps them
    trials/<id>.state         what a trial that was cut short goes on from

The JSON file is written last: where it stands, the trial is finished.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ablate.base.errors import StoreError
from ablate.base.files import replacing
from ablate.core.record import Curve, Record
from ablate.core.trial import Checkpoint

FORMAT = 1
SUFFIXES = (".json", ".npz", ".safetensors", ".state")
"""Of the files of one trial, the record first."""
_DIGEST_SIZE = 16


class CorruptRecordError(Exception):
    """A file of the store does not hold what was written."""


class Store:
    """Records by trial id, under `root/trials`.

    A corrupt file is set aside with a warning, or, where the store is only looked at, passed over.
    """

    def __init__(
        self, root: Path, warn: Callable[[str], None] = lambda message: None, *, read_only: bool = False
    ) -> None:
        self.root = root
        self.read_only = read_only
        self.trials = root / "trials"
        self.warn = warn

    def load(self, trial_id: str) -> Record | None:
        """The record, or None when there is none that can be read."""
        path = self.trials / f"{trial_id}.json"
        try:
            return _decode(path.read_bytes(), path.with_suffix(".npz"))
        except FileNotFoundError:
            return None
        except (CorruptRecordError, ValueError, KeyError, TypeError) as error:
            fate = "" if self.read_only else f"; set aside as {_set_aside(path, error).name}"
            self.warn(f"{path} is corrupt ({error}){fate}, the trial will be trained again")
            return None
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error

    def is_finished(
        self, record: Record | None, checkpoint: Checkpoint = "none", *, pruned: bool = False
    ) -> bool:
        """Whether nothing is left to train of a trial whose weights shall be kept so.

        A failed trial is no outcome. One that was pruned is one only where `pruned` says so: for a search that
        would end it at the same step. One that diverged has no weights worth keeping.
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
        content = _read(path)
        if content is None or _digest(content) == record.weights_digest:
            return content
        reason = CorruptRecordError("another digest")
        fate = "" if self.read_only else f"; set aside as {_set_aside(path, reason, [path]).name}"
        self.warn(f"{path} is corrupt ({reason}){fate}")
        return None

    def load_state(self, trial_id: str) -> bytes | None:
        """What a trial that was cut short goes on from, or None."""
        path = self.trials / f"{trial_id}.state"
        content = _read(path)
        if content is None:
            return None
        digest, state = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if hashlib.blake2b(state, digest_size=_DIGEST_SIZE).digest() == digest:
            return state
        self.warn(f"{path} is corrupt; the trial begins anew")
        return None

    def save_state(self, trial_id: str, state: bytes) -> None:
        """Keeps the state of a trial that is under way, until its record is saved. Raises `StoreError`."""
        digest = hashlib.blake2b(state, digest_size=_DIGEST_SIZE).digest()
        with replacing(self.trials / f"{trial_id}.state") as temporary:
            temporary.write_bytes(digest + state)

    def has(self, trial_id: str) -> bool:
        """Whether there is a record, which may be corrupt."""
        return (self.trials / f"{trial_id}.json").is_file()

    def save(self, record: Record) -> None:
        """Writes the record and its weights; they replace those of the same id. Raises `StoreError`."""
        arrays = {f"array/{name}": array for name, array in record.arrays.items()}
        for name, curve in record.curves.items():
            arrays[f"steps/{name}"], arrays[f"values/{name}"] = curve.steps, curve.values
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        content = buffer.getvalue()
        path = self.trials / f"{record.id}.json"
        with replacing(path.with_suffix(".npz")) as temporary:
            temporary.write_bytes(content)
        self._save_weights(record, path.with_suffix(".safetensors"))
        with replacing(path) as temporary:
            temporary.write_text(_encode(record, content), encoding="utf-8")
        if record.status not in ("failed", "pruned"):
            # What such a trial has reached is where its next attempt begins.
            path.with_suffix(".state").unlink(missing_ok=True)

    def _save_weights(self, record: Record, path: Path) -> None:
        """A record stands beside weights of its own training, or beside none."""
        if record.weights is None:
            record.kept, record.weights_digest = [], ""
            path.unlink(missing_ok=True)
            return
        record.weights_digest = _digest(record.weights)
        with replacing(path) as temporary:
            temporary.write_bytes(record.weights)

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


def _encode(record: Record, arrays: bytes) -> str:
    data: dict[str, Any] = {"format": FORMAT}
    for item in dataclasses.fields(record):
        if item.name not in ("curves", "arrays", "weights"):
            data[item.name] = getattr(record, item.name)
    data["metrics"] = {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in record.metrics.items()
    }
    data["arrays_digest"] = _digest(arrays)
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _decode(text: bytes, arrays_path: Path) -> Record:
    data = json.loads(text)
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise CorruptRecordError(f"not a record of format {FORMAT}")
    try:
        content = arrays_path.read_bytes()
    except FileNotFoundError:
        raise CorruptRecordError("its arrays are missing") from None
    if _digest(content) != data.pop("arrays_digest"):
        raise CorruptRecordError("its arrays have another digest")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except zipfile.BadZipFile as error:
        raise CorruptRecordError(str(error)) from None
    curves = {
        name.removeprefix("steps/"): Curve(steps, arrays[f"values/{name.removeprefix('steps/')}"])
        for name, steps in arrays.items()
        if name.startswith("steps/")
    }
    kept = {name.removeprefix("array/"): array for name, array in arrays.items() if name.startswith("array/")}
    return Record(**data, curves=curves, arrays=kept)


def _read(path: Path) -> bytes | None:
    """The file's content, None when there is none; raises `StoreError`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_SIZE).hexdigest()


def _set_aside(path: Path, reason: Exception, files: Sequence[Path] = ()) -> Path:
    """Renames what is corrupt, a record with all that belongs to it unless told otherwise, to names that nothing
    looks for; the new name of `path`. Raises `StoreError`.
    """
    number = 1
    while any(path.parent.glob(f"{path.stem}.corrupt-{number}*")):
        number += 1
    name = f"{path.stem}.corrupt-{number}"
    aside = path.with_name(name if path.suffix == ".json" else name + path.suffix)
    try:
        path.replace(aside)
        for other in files or [path.with_suffix(suffix) for suffix in (".npz", ".safetensors")]:
            if other.exists():
                other.replace(path.with_name(name + other.suffix))
    except OSError as error:
        raise StoreError(
            f"{path}: is corrupt ({reason}) and cannot be set aside: {error.strerror}; choose another --results"
        ) from error
    return aside
