"""`results/store/inbox/`: what trials have left that were trained alone, until a driver takes it into the store.

    inbox/<id>.zip     one trial: the files that the store keeps of it, in one archive without compression
    inbox/<id>.state   the state from which an interrupted one resumes

Each is written whole or not at all, so that a job that is killed leaves nothing half, and of two jobs with the same
trial the last one counts.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ablate.base.errors import StoreError
from ablate.base.files import digest_of, write_whole
from ablate.core.record import Record
from ablate.records.record_file import decoded, files_of
from ablate.records.store import Store

FOLDER = "inbox"
_ENDING = ".zip"
_STATE = ".state"


class Damaged(Exception):
    """A file that does not hold what a trial has left; its message says why."""


class Inbox:
    """The inbox of the store in a folder."""

    def __init__(self, root: Path, warn: Callable[[str], None] = lambda message: None) -> None:
        self.folder = root / FOLDER
        self.states = Store(root, warn, folder=FOLDER)

    def files(self) -> list[Path]:
        """Returns all files but states and those that are being written."""
        paths = sorted(self.folder.glob("[!.]*"))
        return [path for path in paths if path.suffix != _STATE]

    def file(self, trial_id: str) -> Path:
        """Returns the file of a trial."""
        return self.folder / f"{trial_id}{_ENDING}"

    def save(self, record: Record) -> Path:
        """Writes the file of a trial, and removes the state from which it would have resumed. Raises `StoreError`."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, content in files_of(record).items():
                if content is not None:
                    archive.writestr(name, content)
        path = self.file(record.id)
        write_whole(path, buffer.getvalue())
        if record.status != "failed":
            path.with_suffix(_STATE).unlink(missing_ok=True)
        return path

    def load(self, trial_id: str) -> Record | None:
        """Returns the record of a trial; None where there is none, or its file is damaged."""
        try:
            return self.read(self.file(trial_id))
        except (Damaged, FileNotFoundError):
            return None

    def read(self, path: Path) -> Record:
        """Returns the record in a file, with its weights. Raises `Damaged`, `FileNotFoundError` and `StoreError`."""
        try:
            return _read(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror}; choose another --results") from error
        except Exception as error:
            # Archive, JSON and numpy each raise errors of several kinds, and all of them mean the same here.
            raise Damaged(str(error) or type(error).__name__) from error

    def remove(self, trial_id: str) -> None:
        """Removes the file of a trial."""
        self.file(trial_id).unlink(missing_ok=True)


def _read(path: Path) -> Record:
    """Returns the record in a file. Raises errors of several kinds where it was changed."""
    if path.suffix != _ENDING or not path.is_file():
        if not path.exists():
            raise FileNotFoundError(path)
        raise ValueError("it is not the file of a trial")
    trial_id = path.stem
    with zipfile.ZipFile(path) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("it is compressed")  # And could be larger than any memory.
        record = decoded(archive.read(f"{trial_id}.json"), archive.read(f"{trial_id}.npz"))
        weights = archive.read(f"{trial_id}.safetensors") if record.kept else None
    if record.id != trial_id:
        raise ValueError(f"it holds the record of {record.id}")
    if weights is not None and digest_of(weights) != record.weights_digest:
        raise ValueError("its weights have another digest")
    return replace(record, weights=weights)
