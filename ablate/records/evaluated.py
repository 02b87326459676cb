"""Evaluations of kept weights, in the folder of a study.

evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
attention.npz    attention weights of one seed on a few examples, with an index
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.core.facts import Evidence, frame_of
from ablate.records.folder import StudyFolder
from ablate.records.tables import read_csv, write_csv
from ablate.study.document import read_document

TABLE, MAPS = "evaluation.csv", "attention.npz"
COLUMNS = ("id", "variant", "task", "seed", "weights", "slice", "metric", "value")
# Of attention, a row a layer of a trial, by its path in the model. Weights: (examples, H, T_q, T_k), NaN in the rows
# and columns of padding. Kept: the weights of the trial that were evaluated, `final` or `best`.
MAP_COLUMNS = ("id", "variant", "task", "seed", "path", "weights", "kept")
TEST = "test"  # The slice that is the test split of the study's own task.


@dataclass(frozen=True)
class Evaluated:
    """Numbers, one row each with `COLUMNS`, and maps of attention, with `MAP_COLUMNS`."""

    rows: pd.DataFrame = field(default_factory=lambda: frame_of((), COLUMNS))
    maps: pd.DataFrame = field(default_factory=lambda: frame_of((), MAP_COLUMNS))
    left_out: int = 0  # Trials whose evaluations are not those of the study.

    @classmethod
    def load(cls, folder: StudyFolder) -> Evaluated:
        """All that is in the folder; empty where nothing was evaluated. Raises `AblateError`."""
        path, maps = folder.path / TABLE, frame_of((), MAP_COLUMNS)
        if not path.is_file():
            return cls()
        try:
            rows = pd.DataFrame(read_csv(path), columns=list(COLUMNS)).astype({"seed": int, "value": float})
            if (path := folder.path / MAPS).is_file():
                with np.load(path, allow_pickle=False) as arrays:
                    maps = pd.DataFrame(json.loads(str(arrays["index"])), columns=list(MAP_COLUMNS))
                    maps["weights"] = [arrays[name] for name in maps["weights"]]
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise AblateError(
                f"{path}: cannot be read ({error}); remove it, and evaluate again with `ablate eval {folder.name}`"
            ) from error
        return cls(rows, maps)

    def current(self, ids: Collection[str], kind: str) -> Evaluated:
        """Those of these trials and of a kind of their weights."""
        rows = self.rows[self.rows["id"].isin([*ids]) & (self.rows["weights"] == kind)]
        maps = self.maps[self.maps["id"].isin([*ids]) & (self.maps["kept"] == kind)]
        return Evaluated(rows, maps, self.rows["id"].nunique() - rows["id"].nunique())

    def updated(self, new: Evaluated) -> Evaluated:
        """These evaluations, with those of the same trials and slices replaced by `new`."""
        rows = pd.concat([self.rows, new.rows], ignore_index=True)
        others = self.maps[~self.maps["id"].isin(new.rows["id"])]
        return Evaluated(
            rows.drop_duplicates(["id", "slice", "metric"], keep="last"),
            pd.concat([others, new.maps], ignore_index=True),
        )

    def save(self, folder: StudyFolder) -> None:
        """Writes both files, each whole or not at all."""
        write_csv(folder.path / TABLE, COLUMNS, self.rows.to_dict("records"))
        arrays: Mapping[str, Any] = {f"weights{i}": found for i, found in enumerate(self.maps["weights"])}
        index = self.maps.assign(weights=list(arrays)).to_dict("records")
        with replacing(folder.path / MAPS) as path, path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=np.array(json.dumps(index)), **arrays)


def reported_evaluations(folder: StudyFolder, evidence: Evidence) -> Evaluated:
    """Returns the evaluations of the trials that are reported, of the weights that the study keeps."""
    found = Evaluated.load(folder)
    if found.rows.empty:
        return found
    document = read_document(folder.study_file).data if folder.study_file.is_file() else {}
    return found.current(evidence.trials["id"], str(document.get("checkpoint", "none")))
