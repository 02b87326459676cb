"""The store: finished trials, each written whole or not at all. Everything else can be rebuilt from it.

    trials/<id>.json          the record, with digests of the other files
    trials/<id>.npz           curves and arrays
    trials/<id>.safetensors   the kept weights, where a study keeps them
    trials/<id>.state         the state from which an interrupted trial resumes

The JSON file is written last: where it exists, the trial is finished.
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
"""The endings of the files of one trial, the record first."""
_DIGEST_SIZE = 16


class CorruptRecordError(Exception):
    """A file of the store does not hold what was written."""


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

    def load(self, trial_id: str) -> Record | None:
        """The record, or None when there is none that can be read."""
        path = self.trials / f"{trial_id}.json"
        content = _read(path)
        if content is None:
            return None
        try:
            return _decode(content, path.with_suffix(".npz"))
        except (CorruptRecordError, ValueError, KeyError, TypeError) as error:
            self._spoilt(
                path, error, [path.with_suffix(s) for s in SUFFIXES[:3]], ", the trial will be trained again"
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
        content = _read(path)
        if content is None or _digest(content) == record.weights_digest:
            return content
        self._spoilt(path, CorruptRecordError("another digest"), [path])
        return None

    def load_state(self, trial_id: str) -> bytes | None:
        """The state from which an interrupted trial resumes, or None."""
        path = self.trials / f"{trial_id}.state"
        content = _read(path)
        if content is None:
            return None
        digest, state = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if digest.hex() == _digest(state):
            return state
        self.warn(f"{path} is corrupt; the trial starts again from its first step")
        return None

    def save_state(self, trial_id: str, state: bytes) -> None:
        """Keeps the state of a running trial until its record is saved. Raises `StoreError`."""
        with replacing(self.trials / f"{trial_id}.state") as temporary:
            temporary.write_bytes(bytes.fromhex(_digest(state)) + state)

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
        # A record has weights of its own training beside it, or none.
        weights = path.with_suffix(".safetensors")
        if record.weights is None:
            record.kept, record.weights_digest = [], ""
            weights.unlink(missing_ok=True)
        else:
            record.weights_digest = _digest(record.weights)
            with replacing(weights) as temporary:
                temporary.write_bytes(record.weights)
        with replacing(path) as temporary:
            temporary.write_text(_encode(record, content), encoding="utf-8")
        if record.status not in ("failed", "pruned"):
            # The next attempt at a failed or pruned trial resumes from its state.
            path.with_suffix(".state").unlink(missing_ok=True)

    def _spoilt(self, path: Path, reason: Exception, files: Sequence[Path], then: str = "") -> None:
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
    content = _read(arrays_path)
    if content is None:
        raise CorruptRecordError("its arrays are missing")
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
