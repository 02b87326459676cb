"""Evaluations of kept weights, in a study's folder: a table of numbers, and attention weights."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ablate.base.errors import AblateError
from ablate.base.files import replacing
from ablate.base.wording import counted
from ablate.records.tables import read_csv, write_csv

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

    rows: list[dict[str, Any]] = field(default_factory=list)
    maps: list[AttentionMap] = field(default_factory=list)

    def of(self, ids: Collection[str]) -> Evaluated:
        """The evaluations of these trials."""
        return Evaluated(
            [row for row in self.rows if row["id"] in ids], [found for found in self.maps if found.id in ids]
        )

    def made_by(self, kind: str) -> Evaluated:
        """The evaluations of the `final` or the `best` weights, and those that do not say of which."""
        return Evaluated(
            [row for row in self.rows if row["weights"] in ("", kind)],
            [found for found in self.maps if found.kept in ("", kind)],
        )

    def current(self, ids: Collection[str], kind: str) -> tuple[Evaluated, str]:
        """The evaluations of a study that keeps weights of a `kind`, and a sentence on those left out.

        With the kind `none`, weights of either kind count: they were kept by an earlier run.
        """
        here = self.of(ids)
        current = here if kind == "none" else here.made_by(kind)
        reasons = []
        if gone := _trials(self.rows) - _trials(here.rows):
            trials = "trial that is" if len(gone) == 1 else "trials that are"
            reasons.append(f"{len(gone)} {trials} no longer in the study")
        if other := _trials(here.rows) - _trials(current.rows):
            kinds = " and ".join(sorted({row["weights"] for row in here.rows} - {kind, ""}))
            trials = counted(len(other), "trial")
            reasons.append(f"the {kinds} weights of {trials}; the study keeps the {kind} ones")
        return current, f"Left out: {'; '.join(reasons)}." if reasons else ""

    def updated(self, new: Evaluated) -> Evaluated:
        """These evaluations, with those of the same trials and slices replaced by `new`.

        Where the numbers of a trial on `TEST` have changed, its weights have: all its earlier numbers go.
        """
        known = {(row["id"], row["slice"]) for row in new.rows}
        again = {row["id"] for row in new.rows}
        numbers = _own_slice(new.rows)
        other = {i for i, values in _own_slice(self.rows).items() if numbers.get(i, values) != values}
        left = [row for row in self.rows if (row["id"], row["slice"]) not in known and row["id"] not in other]
        return Evaluated(
            [*left, *new.rows],
            [*(found for found in self.maps if found.id not in again), *new.maps],
        )

    def save(self, table: Path, maps: Path) -> None:
        """Writes both files, each whole or not at all."""
        write_csv(table, COLUMNS, self.rows)
        index = [{**vars(found), "weights": f"weights{i}"} for i, found in enumerate(self.maps)]
        arrays = {f"weights{i}": found.weights for i, found in enumerate(self.maps)}
        with replacing(maps) as path, path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=np.array(json.dumps(index)), **arrays)

    @classmethod
    def load(cls, table: Path, maps_file: Path) -> Evaluated:
        """Reads both files; empty where nothing was evaluated. Raises `AblateError`."""
        if not table.is_file():
            return cls()
        path = table
        try:
            rows = [
                {"weights": "", **row, "seed": int(row["seed"]), "value": float(row["value"])}
                for row in read_csv(table)
            ]
            path = maps_file
            if not path.is_file():
                return cls(rows)
            with np.load(path, allow_pickle=False) as arrays:
                index = json.loads(str(arrays["index"]))
                maps = [AttentionMap(**{**entry, "weights": arrays[entry["weights"]]}) for entry in index]
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            hint = f"remove it, and evaluate again with `ablate eval {table.parent.name}`"
            raise AblateError(f"{path}: cannot be read ({error}); {hint}") from error
        return cls(rows, maps)


def _trials(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    return {row["id"] for row in rows}


def _own_slice(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The numbers on `TEST` by trial and metric, as text, so that NaN equals NaN."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["slice"] == TEST:
            found.setdefault(row["id"], {})[row["metric"]] = repr(float(row["value"]))
    return found
