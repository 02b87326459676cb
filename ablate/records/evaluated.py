"""Evaluations of kept weights, in the folder of a study.

evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
attention.npz    attention weights of one seed on a few examples, with an index
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.core.facts import Evidence, frame_of
from ablate.records.folder import StudyFolder
from ablate.records.tables import read_csv, write_csv
from ablate.study.document import read_document

TABLE = "evaluation.csv"
MAPS = "attention.npz"
COLUMNS = ("id", "variant", "task", "seed", "weights", "slice", "metric", "value")
# Of attention, a row a layer of a trial, by its path in the model. Weights: (examples, H, T_q, T_k), NaN in the rows
# and columns of padding. Kept: the weights of the trial that were evaluated, `final` or `best`.
MAP_COLUMNS = ("id", "variant", "task", "seed", "path", "weights", "kept")
# What zip, JSON and numpy raise for files that were changed.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    RecursionError,
    zipfile.BadZipFile,
    zlib.error,
)
TEST = "test"  # The slice that is the test split of the study's own task.


@dataclass(frozen=True)
class Evaluated:
    """Numbers, one row each with `COLUMNS`, and maps of attention, with `MAP_COLUMNS`."""

    rows: pd.DataFrame = field(default_factory=lambda: frame_of((), COLUMNS))
    maps: pd.DataFrame = field(default_factory=lambda: frame_of((), MAP_COLUMNS))
    left_out: int = 0  # Trials whose evaluations are not those of the study.

    @classmethod
    def load(cls, folder: StudyFolder) -> Evaluated:
        """Returns all evaluations in the folder; empty where nothing was evaluated. Raises `AblateError`."""
        table = folder.path / TABLE
        archive = folder.path / MAPS
        if not table.is_file():
            return cls()
        with _readable(table, folder.name):
            rows = pd.DataFrame(read_csv(table, COLUMNS), columns=list(COLUMNS))
            rows = rows.astype({"seed": int, "value": float})
            if rows.isna().drop(columns="value").any(axis=None):
                raise ValueError("a cell is missing")
        if not archive.is_file():
            return cls(rows)
        with _readable(archive, folder.name):
            return cls(rows, _load_maps(archive))

    def current(self, ids: Collection[str], kind: str) -> Evaluated:
        """Returns the evaluations of these trials and of a kind of their weights, `final` or `best`."""
        rows = self.rows[self.rows["id"].isin([*ids]) & (self.rows["weights"] == kind)]
        maps = self.maps[self.maps["id"].isin([*ids]) & (self.maps["kept"] == kind)]
        left_out = self.rows["id"].nunique() - rows["id"].nunique()
        return Evaluated(rows, maps, left_out)

    def updated(self, new: Evaluated) -> Evaluated:
        """Returns these evaluations, with those of the same trials and slices replaced by `new`."""
        rows = pd.concat([self.rows, new.rows], ignore_index=True)
        rows = rows.drop_duplicates(["id", "slice", "metric"], keep="last")
        others = self.maps[~self.maps["id"].isin(new.rows["id"])]
        maps = pd.concat([others, new.maps], ignore_index=True)
        return Evaluated(rows, maps)

    def save(self, folder: StudyFolder) -> None:
        """Writes both files, each whole or not at all."""
        write_csv(folder.path / TABLE, COLUMNS, self.rows.to_dict("records"))
        arrays: dict[str, Any] = {f"weights{i}": weights for i, weights in enumerate(self.maps["weights"])}
        rows = self.maps.assign(weights=list(arrays)).to_dict("records")
        index = np.array(json.dumps(rows))
        with replacing(folder.path / MAPS) as path, path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=index, **arrays)


def _load_maps(archive: Path) -> pd.DataFrame:
    """Returns the attention maps of an archive: a row each, with its weights as an array.

    The index of the archive has the other columns, and names the array. Raises `ValueError` where it has others.
    """
    with archive.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        index = json.loads(str(arrays["index"]))
        maps = pd.DataFrame(index, columns=list(MAP_COLUMNS))
        if not all(row.keys() == set(MAP_COLUMNS) for row in index):
            raise ValueError("its index has other columns")
        maps["weights"] = [arrays[name] for name in maps["weights"]]
    return maps


@contextmanager
def _readable(path: Path, study: str) -> Iterator[None]:
    """Raises `AblateError` where the file cannot be read inside."""
    try:
        yield
    except _UNREADABLE as error:
        raise AblateError(
            f"{path}: cannot be read ({error}); remove it, and evaluate again with `ablate eval {study}`"
        ) from error


def reported_evaluations(folder: StudyFolder, evidence: Evidence) -> Evaluated:
    """Returns the evaluations of the trials that are reported, of the weights that the study keeps."""
    evaluated = Evaluated.load(folder)
    if evaluated.rows.empty:
        return evaluated
    kept = "none"
    if folder.study_file.is_file():
        document = read_document(folder.study_file).data
        kept = str(document.get("checkpoint", "none"))
    return evaluated.current(evidence.trials["id"], kept)
