"""Folders in which recordings are made."""

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness import TOY_CLAIMED, ablate_here, with_database

ROOT = Path(__file__).parents[2]
TOY_STUDY = TOY_CLAIMED.replace("name: toy", "name: frozen", 1).replace("seeds: 3", "seeds: 4")
TOY_STUDY += "question: Which part of the toy matters?\n"
TOY_STUDY += "variants: {wild: {training.fault: diverge, training.fault_seed: 1}}\n"
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
# The width of a terminal, on which messages depend.
os.environ.setdefault("COLUMNS", "100")


def temporary() -> Path:
    """Returns a new folder, which is removed when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="ablate-freeze-")
    _FOLDERS.append(folder)
    return Path(folder.name)


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files, each character as one byte, so that a case can hold bytes that are no UTF-8."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("latin-1"))


@functools.cache
def toy_folder() -> Path:
    """Returns a folder with the toy study and its results; the study runs once a process."""
    folder = temporary()
    (folder / "study.yaml").write_text(TOY_STUDY)
    with_database(folder / "results" / "store")
    done = ablate_here("run", "study.yaml", "--jobs", "0", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder
