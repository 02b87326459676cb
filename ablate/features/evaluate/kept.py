"""Evaluations of kept weights, in a study's folder.

evaluation.csv   id, variant, task, seed, weights (final or best), slice, metric, value
attention.npz    attention weights of one seed on a few examples, with an index
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.core.facts import Evidence, no_rows
from ablate.records.folder import StudyFolder
from ablate.records.tables import read_csv, write_csv
from ablate.study.document import read_document

TABLE, MAPS = "evaluation.csv", "attention.npz"
COLUMNS = ("id", "variant", "task", "seed", "weights", "slice", "metric", "value")
TEST = "test"
"""The slice that is the test split of the study's own task."""


@dataclass(frozen=True)
class AttentionMap:
    """Attention weights of one layer of one trial."""

    id: str
    variant: str
    task: str
    seed: int
    path: str
    "Of the layer, in the model."
    weights: NDArray[np.float32]
    "(examples, H, T_q, T_k); NaN in the rows and columns of padding."
    kept: str = ""
    "The weights of the trial that were evaluated: `final` or `best`; empty where that is not known."


@dataclass(frozen=True)
class Evaluated:
    """Numbers, one row each with the columns of `COLUMNS`, and maps."""

    rows: pd.DataFrame = field(default_factory=lambda: no_rows(COLUMNS))
    maps: Sequence[AttentionMap] = ()
    left_out: int = 0
    "Trials whose evaluations are not those of the study."

    @classmethod
    def load(cls, folder: StudyFolder) -> Evaluated:
        """All that is in the folder; empty where nothing was evaluated. Raises `AblateError`."""
        path, maps_file = folder.path / TABLE, folder.path / MAPS
        if not path.is_file():
            return cls()
        maps = []
        try:
            rows = pd.DataFrame(read_csv(path), columns=list(COLUMNS)).fillna({"weights": ""})
            rows = rows.astype({"seed": int, "value": float})
            if maps_file.is_file():
                path = maps_file
                with np.load(path, allow_pickle=False) as arrays:
                    index = json.loads(str(arrays["index"]))
                    maps = [AttentionMap(**{**entry, "weights": arrays[entry["weights"]]}) for entry in index]
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            hint = f"remove it, and evaluate again with `ablate eval {folder.name}`"
            raise AblateError(f"{path}: cannot be read ({error}); {hint}") from error
        return cls(rows, maps)

    def current(self, ids: Collection[str], kind: str) -> Evaluated:
        """Those of these trials and of a kind of their weights; with the kind `none`, of any."""
        kinds = {"", kind} if kind != "none" else {"", "final", "best"}
        rows = self.rows[self.rows["id"].isin([*ids]) & self.rows["weights"].isin([*kinds])]
        maps = [found for found in self.maps if found.id in ids and found.kept in kinds]
        return Evaluated(rows, maps, self.rows["id"].nunique() - rows["id"].nunique())

    def updated(self, new: Evaluated) -> Evaluated:
        """These evaluations, with those of the same trials and slices replaced by `new`."""
        rows = pd.concat([self.rows, new.rows], ignore_index=True)
        again = {*new.rows["id"]}
        return Evaluated(
            rows.drop_duplicates(["id", "slice", "metric"], keep="last"),
            [*(found for found in self.maps if found.id not in again), *new.maps],
        )

    def save(self, folder: StudyFolder) -> None:
        """Writes both files, each whole or not at all."""
        write_csv(folder.path / TABLE, COLUMNS, self.rows.to_dict("records"))
        index = [{**vars(found), "weights": f"weights{i}"} for i, found in enumerate(self.maps)]
        arrays: Mapping[str, Any] = {f"weights{i}": found.weights for i, found in enumerate(self.maps)}
        with replacing(folder.path / MAPS) as path, path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=np.array(json.dumps(index)), **arrays)


def of_report(folder: StudyFolder, evidence: Evidence) -> Evaluated:
    """The evaluations of the trials that are reported, of the weights that the study keeps."""
    found = Evaluated.load(folder)
    if found.rows.empty:
        return found
    document = read_document(folder.study_file).data if folder.study_file.is_file() else {}
    return found.current({*evidence.trials["id"]}, str(document.get("checkpoint", "none")))
